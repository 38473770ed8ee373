import json
import os

import numpy as np
import pytest

from discreet.drivers.solved import cache_folder
from discreet.optimize import memory, tables
from discreet.optimize.minimax import worst_case_variance
from discreet.optimize.repair import verify
from discreet.optimize.tables import minimax_table, shipped

LIMIT = {0.5: 16.00, 1.0: 3.991, 2.0: 0.8657, 3.0: 0.3042, 4.0: 0.1272, 5.0: 0.0575}
THREE_BITS = {1.0: 4.037, 2.0: 0.8772, 3.0: 0.3150, 4.0: 0.1401, 5.0: 0.0680}


def worst(table):
    return worst_case_variance(table.knots, table.values, table.probabilities)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "discreet"


@pytest.mark.parametrize("outputs", [None, 8])
def test_every_shipped_table_is_exact(outputs):
    last = np.inf
    for epsilon in tables.GRID:
        table = shipped(epsilon, outputs)
        assert table is not None
        report = verify(table.knots, table.values, table.weights, epsilon)
        assert report.sound
        assert report.bias == 0
        assert table.values.size <= (outputs or 128)
        assert worst(table) < last
        last = worst(table)


@pytest.mark.parametrize("epsilon", LIMIT)
def test_shipped_tables_are_near_the_limit(epsilon):
    assert worst(shipped(epsilon)) <= 1.01 * LIMIT[epsilon]


@pytest.mark.parametrize("epsilon", THREE_BITS)
def test_three_bits_are_enough(epsilon):
    assert worst(shipped(epsilon, 8)) <= 1.02 * THREE_BITS[epsilon]


def test_only_the_very_epsilon_hits():
    assert shipped(1.0) is not None
    assert shipped(1.0 + 1e-13) is not None
    assert shipped(1.0 - 1e-13) is None  # a table for more than was allowed is never given
    assert shipped(1.05) is None
    assert shipped(1.0, 5) is None
    assert shipped(0.05) is None


def test_solved_once_then_remembered(home, monkeypatch):
    first = minimax_table(2.05, 3)
    assert len(list(home.glob("*.json"))) == 1
    monkeypatch.setattr(tables, "solve_table", lambda *_: pytest.fail("solved again"))
    second = minimax_table(2.05, 3)
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.values, second.values)


def test_without_a_folder_tables_are_kept_for_the_process(home, monkeypatch):
    store = memory.ProcessStore()
    monkeypatch.setattr(memory, "_open_store", lambda: store)
    first = minimax_table(2.05, 3)
    monkeypatch.setattr(tables, "solve_table", lambda *_: pytest.fail("solved again"))
    assert np.array_equal(minimax_table(2.05, 3).weights, first.weights)
    assert not home.exists()


def test_shipped_needs_neither_solver_nor_cache(home, monkeypatch):
    monkeypatch.setattr(tables, "solve_table", lambda *_: pytest.fail("solved"))
    assert minimax_table(2, 8).epsilon == 2.0
    assert not home.exists()


def corruptions():
    def less_private(document):
        row = document["weights"][0]
        row[0] += row[-1] - 1
        row[-1] = 1

    def biased(document):
        document["values"][0] *= 1.001

    def another_question(document):
        document["question"] = document["question"].replace("3", "5")

    def ragged(document):
        document["weights"][0].pop()

    return [less_private, biased, another_question, ragged]


@pytest.mark.parametrize("change", corruptions(), ids=lambda change: change.__name__)
def test_a_corrupt_file_is_ignored_and_rewritten(home, change):
    good = minimax_table(2.05, 3)
    (path,) = home.glob("*.json")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    assert np.array_equal(minimax_table(2.05, 3).weights, good.weights)
    assert json.loads(path.read_text())["weights"] == good.weights.tolist()


@pytest.mark.parametrize("text", ["", "{", "null", "[1, 2]", '{"question": 3}', "\x00\xff"])
def test_rubbish_is_ignored(home, text):
    good = minimax_table(2.05, 3)
    (path,) = home.glob("*.json")
    path.write_bytes(text.encode("latin-1"))
    assert np.array_equal(minimax_table(2.05, 3).weights, good.weights)


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert minimax_table(2.05, 3).epsilon == 2.05
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert str(cache_folder()) == os.path.join(str(tmp_path), ".cache", "discreet")
