"""One report per call: the same law as a batch, word by word, and no draw twice: not by threads, forks or copies."""

import copy
import ctypes
import os
import pickle
import threading

import numpy as np
import pytest

import discreet as dc
from discreet.checks import CheckFailed
from discreet.checks.paths import check_paths_agree, edge_rows
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import entries
from discreet.mechanisms.shapes.window import RandomizedResponse
from discreet.mechanisms.stock import SINGLES

GIVEN = {"size": 70, "sizes": [2, 2, 5], "options": 5, "most": 2, "prior": [1.0, 2.0, 1.0]}


def built(name: str, **options: object) -> Mechanism:
    entry = entries()[name]
    return entry.build(1.0, **{need: GIVEN[need] for need in entry.needs} | options)


def stocked(m: Mechanism, words: np.ndarray) -> None:
    """Give a mechanism a stock of draws from these words, the first on top."""
    m._stock.left[:] = m._prepare(words)[::-1]


SIZED = [name for name, entry in entries().items() if entry.needs == ("size",)]
CASES = [(name, {}) for name in entries()] + [(name, {"size": size}) for name in SIZED for size in (2, 7, 64, 129)]


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(("name", "options"), [*CASES, ("count-mean-sketch", {"size": 50, "hashes": 8, "width": 128})])
def test_the_same_words_give_the_same_report(name, options):
    m = built(name, **options)
    inputs, words = edge_rows(m, 3)
    inputs = np.resize(inputs, 400)
    more = dc.Entropy.seeded(4).words(400 * m.words_per_report)
    for drawn in (np.resize(words, more.size), more):
        stocked(m, drawn)
        each = drawn.reshape(400, -1).tolist()
        for x, row in zip(inputs.tolist(), each, strict=True):
            report, expected = m.one(x), m._one(m._check_one(x), row)
            assert type(report) is type(expected)
            assert np.array_equal(report, expected)
            assert getattr(report, "dtype", None) == getattr(expected, "dtype", None)
        assert not m._drawn


def test_it_needs_no_entropy_and_refuses_what_privatize_refuses():
    m = dc.mechanism("randomized-response", epsilon=20, size=5)  # a report is its value but for one in 10^8
    assert [m.one(3) for _ in range(100)].count(3) >= 98
    assert [m.privatize(np.int8(4)) for _ in range(100)].count(4) >= 98
    number = dc.mechanism("duchi", epsilon=1)
    assert {number.one(x) for x in [0, 0.5, np.float32(-1), True] for _ in range(200)} == {0, 1}
    for source, bad in ((m, 5), (m, -1), (m, True), (m, 1.0), (number, 1.5), (number, float("nan")), (number, "x")):
        for _ in range(2 * SINGLES):
            with pytest.raises(dc.DiscreetError, match="must be a"):
                source.one(bad)


class Twisted(RandomizedResponse):
    """Negative control: with a stock, the cell beside the true one is a little likelier."""

    def one(self, x):
        report = super().one(x)
        return (report + 1) % self.size if report == 3 else report


class Wasteful(RandomizedResponse):
    """Negative control: throws a draw away whenever it does not like the report."""

    def one(self, x):
        report = super().one(x)
        return super().one(x) if report != x else report


@pytest.mark.parametrize("broken", [Twisted, Wasteful])
def test_a_wrong_one_is_refused(broken):
    right = dc.mechanism("randomized-response", epsilon=1, size=8)
    m = broken("broken", 1.0, right.positions, right.profile, right.low)
    with pytest.raises(CheckFailed, match=r"from stock|exactly one draw"):
        check_paths_agree(m, 1)


def rows(m: Mechanism, count: int) -> list[bytes]:
    return [m.one(3).tobytes() for _ in range(count)]


def used() -> Mechanism:
    """Return a mechanism of 256 random bits per report whose stock is in use: no two reports are ever equal."""
    m = dc.mechanism("basic-rappor", epsilon=0.1, size=256)
    rows(m, 5 * SINGLES)
    assert m._drawn
    return m


@pytest.mark.parametrize("copier", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy])
def test_copies_have_draws_of_their_own(copier):
    m = used()
    twin = copier(m)
    assert twin == m
    reports = [*rows(m, 100), *rows(twin, 100), *rows(copier(twin), 100)]
    assert len(set(reports)) == 300
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        copier(m._stock)


@pytest.mark.parametrize("fork", [os.fork, ctypes.PyDLL(None).fork])
def test_forked_processes_have_draws_of_their_own(fork):
    m = used()
    read, write = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.write(write, b"".join(rows(m, 100)))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    assert len(data) == 100 * 32
    reports = [data[i : i + 32] for i in range(0, len(data), 32)] + rows(m, 100)
    assert len(set(reports)) == 200


def test_threads_share_a_stock_and_no_draw():
    m, found = used(), []
    at_once = threading.Barrier(4)

    def work():
        at_once.wait()
        found.extend(rows(m, 500))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 2000


def test_a_report_does_not_show_the_draws_of_others():
    for name in ("basic-rappor", "subset-selection", "count-mean-sketch"):
        m = dc.mechanism(name, epsilon=1, size=100)
        for _ in range(3 * SINGLES):
            report = m.one(5)
            held = report.nbytes if report.base is None else memoryview(report.base).nbytes
            assert held == report.nbytes
            assert report.flags.writeable
