"""Streams: counted exactly once, killed at any moment; states that are refused."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.drivers.streams import Message, StreamTally, consume, merge_states
from discreet.drivers.tables import Collection
from discreet.errors import DiscreetError, WireError
from discreet.tallies import Tally

MECHANISM = dc.mechanism("randomized-response", 1, size=8)
EXAMPLE = Path(__file__).parents[2] / "examples" / "count_stream.py"
REPORTS = {"report": MECHANISM}


def batch(*reports):
    return pa.record_batch({"report": pa.array(reports, type=pa.uint8())})


def test_counted_once_however_often_it_is_read(tmp_path):
    with StreamTally(REPORTS, tmp_path / "state") as stream:
        assert stream.update(batch(1, 1, 2), "0", 0)
        assert stream.update(batch(3), "1", 40)
        assert not stream.update(batch(1, 1, 2), "0", 0)
        assert not stream.update(batch(7), "1", 39)
        assert stream.update(batch(5, 5), "1", 41, last=45)
        assert stream.offsets == {"0": 1, "1": 46}
        assert stream.tallies["report"] == MECHANISM.tally([1, 1, 2, 3, 5, 5])
        stream.save()
        stream.update(batch(6), "0", 1)  # never saved: as if it had not been read
    with StreamTally(REPORTS, tmp_path / "state") as again:
        assert again.offsets == {"0": 1, "1": 46}
        assert again.tallies["report"].n == 6
        with pytest.raises(
            DiscreetError, match=r"messages 44\.\.50 of partition '1' were counted in part; read from 46"
        ):
            again.update(batch(1), "1", 44, last=50)


def test_false_messages_change_nothing_and_can_be_passed_over(tmp_path):
    good, bad = batch(1), batch(8)
    with StreamTally(REPORTS, tmp_path / "state") as stream:
        with pytest.raises(WireError, match="report 0 must be"):
            stream.update(bad, "0", 0)
        with pytest.raises(WireError, match="lack the column"):
            stream.update(pa.record_batch({"x": [1]}), "0", 0)
        assert stream.offsets == {}
        messages = [Message("0", 0, good), Message("0", 1, bad), Message("0", 2, good), Message("0", 2, good)]
        assert consume(messages, stream, every=1) == 2
    with StreamTally(REPORTS, tmp_path / "state") as stream:
        assert (stream.refused, stream.offsets, stream.tallies["report"].n) == (1, {"0": 3}, 2)
        assert consume(messages, stream) == 0
        assert stream.refused == 1


def test_several_answers_per_person_are_counted(tmp_path):
    names = ["wage", "age"]
    plan = dc.Means([dc.Interval(0, 100), dc.Interval(0, 10)], epsilon=8, answers=2, names=names, method="duchi")
    stage = Collection({"person": plan}).stage()
    values = pa.record_batch({"wage": np.full(3000, 25.0), "age": np.full(3000, 8.0)})
    with StreamTally(stage.reports, tmp_path / "s") as stream:
        for offset in range(2):
            stream.update(stage.map_batch(values)[0], "0", offset)
        stream.save()
        answer = stream.estimate()["person"]
    assert answer.n == 6000
    assert abs(answer["wage"].value - 25) < 4
    assert abs(answer["age"].value - 8) < 0.4


@pytest.mark.parametrize(
    ("partition", "offset", "last"), [(0, 0, None), ("0", -1, None), ("0", True, None), ("0", 5, 4)]
)
def test_places_without_meaning_are_refused(tmp_path, partition, offset, last):
    with StreamTally(REPORTS, tmp_path / "s") as stream, pytest.raises(DiscreetError, match="must be"):
        stream.update(batch(1), partition, offset, last)


def test_answers_from_a_stream(tmp_path):
    stage = Collection({"wage": dc.Mean(dc.Interval(0, 100), epsilon=4, method="duchi")}).stage()
    (made,) = stage.map_batches([pa.record_batch({"wage": [20.0, 60.0] * 500})])
    with StreamTally(stage.reports, tmp_path / "s") as stream:
        stream.update(made, "0", 0)
        assert stream.estimate()["wage"].n == 1000
    with StreamTally(REPORTS, tmp_path / "t") as stream, pytest.raises(DiscreetError, match="document of a collection"):
        stream.estimate()


@pytest.mark.parametrize("private", [False, True])
def test_groups_from_a_stream(tmp_path, private):
    by = dc.Categories(["Ohio", "Utah", "Iowa"])
    mean = dc.Mean(dc.Interval(0, 100), epsilon=4, method="duchi")
    plan = dc.Groups(mean, by=by, private=private, name="state")
    stage = Collection({"wage": plan}).stage()
    values = pa.record_batch({"wage": np.full(500, 40.0), "state": ["Ohio"] * 300 + ["Utah"] * 200})
    with StreamTally(stage.reports, tmp_path / "s") as stream:
        for offset in range(2):
            stream.update(stage.map_batch(values, entropy=dc.Entropy.seeded(offset))[0], "0", offset)
        stream.save()
        first = stream.estimate()["wage"]
    with StreamTally(stage.reports, tmp_path / "s") as stream:  # after a crash, with a group that was not there before
        later = pa.record_batch({"wage": np.full(500, 40.0), "state": ["Iowa"] * 500})
        stream.update(stage.map_batch(later, entropy=dc.Entropy.seeded(9))[0], "0", 2)
        answer = stream.estimate()["wage"]
    if private:
        assert (first.n, answer.n) == (1000, 1500)
        assert answer.sizes["Iowa"]["raw"] > first.sizes["Iowa"]["raw"]
    else:
        assert list(first.too_few) == ["Iowa"]
        assert {label: one.n for label, one in answer.groups.items()} == {"Ohio": 600, "Utah": 400, "Iowa": 500}


def test_rounds_of_a_quantile_from_a_stream(tmp_path):
    collection = Collection({"wage": dc.Quantile(dc.Interval(0, 1000), 0.5, epsilon=4, rounds=2)})
    values = pa.record_batch({"wage": np.random.default_rng(1).permutation(np.arange(6000) % 1000).astype(float)})
    words, stage, tallies = dc.Entropy.seeded(3).words(6000), collection.stage(), {}

    class Same:
        def words(self, count):
            return words

    for number in (1, 2):  # the second stage follows from what the stream of the first has counted
        with StreamTally(stage.reports, tmp_path / f"s{number}") as stream:
            stream.update(widened(stage, values, Same()), "0", 0)
            tallies = {
                name: tallies[name] + tally if name in tallies else tally for name, tally in stream.tallies.items()
            }
        reports, stage = stage.reports, collection.stage(stage.reports, tallies)
    assert stage is None
    answer = reports.estimate(tallies)["wage"]
    assert answer.n == 6000
    assert abs(answer.value - 500) < 60


def widened(stage, values, assignment):
    """Return the reports of a later stage with the columns of all stages."""
    made = stage.map_batch(values, assignment=assignment)[0]
    names = [cell.name for cell in stage.reports.cells]
    columns = [
        made.column(cell.name) if cell.name in made.schema.names else pa.nulls(made.num_rows, cell.type)
        for cell in stage.reports.cells
    ]
    return pa.record_batch(columns, names=names)


def test_states_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "s"
    with StreamTally(REPORTS, path) as stream:
        stream.update(batch(1), "0", 0)
        stream.save()
        with pytest.raises(DiscreetError, match="in use by another process"):
            StreamTally(REPORTS, path)
    for other in ({"report": dc.mechanism("duchi", 1)}, {"other": MECHANISM}):
        with pytest.raises(WireError, match="other columns, or reports of other mechanisms"):
            StreamTally(other, path)
    for data in (b"", path.read_bytes()[:-5], b"\x00", msgspec.msgpack.encode({"version": 1})):
        (tmp_path / "t").write_bytes(data)
        with pytest.raises(WireError, match=r"not the state of a stream|bytes"):
            StreamTally(REPORTS, tmp_path / "t")
    state = msgspec.msgpack.decode(path.read_bytes())
    (tmp_path / "t").write_bytes(msgspec.msgpack.encode(state | {"version": 2}))
    with pytest.raises(WireError, match="is of version 2"):
        StreamTally(REPORTS, tmp_path / "t")
    for wrong in ({}, {"report": 3}, "x"):
        with pytest.raises(DiscreetError, match=r"mechanism for each|must have a mechanism"):
            StreamTally(wrong, tmp_path / "u")
    with StreamTally(REPORTS, tmp_path / "v") as stream, pytest.raises(DiscreetError, match="every must be"):
        consume([], stream, every=0)


def test_states_of_partitions_are_added(tmp_path):
    for partition in "01":
        with StreamTally(REPORTS, tmp_path / partition) as stream:
            consume([Message(partition, i, batch(i % 8)) for i in range(16)], stream)
    assert merge_states(REPORTS, tmp_path / "0", tmp_path / "1")["report"].counts.tolist() == [4] * 8
    with pytest.raises(DiscreetError, match="partition '0' is in"):
        merge_states(REPORTS, tmp_path / "0", tmp_path / "0")
    with pytest.raises(DiscreetError, match="does not exist"):
        merge_states(REPORTS, tmp_path / "2")


# -- killed -----------------------------------------------------------------------------------------------


def expected(log):
    lines = [bytes.fromhex(line) for part in sorted(log.iterdir()) for line in part.read_text().splitlines()]
    module = sys.modules["count_stream"]
    return Tally.merge([module.MECHANISM.tally(module.MECHANISM.unpack(line)) for line in lines])


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    return __import__("count_stream")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments_nothing_is_lost_or_counted_twice(example, tmp_path):
    """One-hot truth: any message counted twice, or never, changes a count."""
    log, state = tmp_path / "log", tmp_path / "state"
    example.produce(log, messages=400)
    chance, killed, starts = random.Random(5), 0, set()
    while True:
        child = os.fork()
        if child == 0:  # count, and save after every message: most kills hit a save
            with StreamTally({"report": example.MECHANISM}, state) as stream:
                slowly = (m for m in example.read(log, dict(stream.offsets)) if time.sleep(0.0005) is None)
                consume(slowly, stream, every=1)
            os._exit(0)
        time.sleep(chance.uniform(0, 0.1))
        if killed < 40:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        with StreamTally({"report": example.MECHANISM}, state) as stream:
            starts.add(tuple(sorted(stream.offsets.items())))
            if os.WIFEXITED(status):
                assert os.WEXITSTATUS(status) == 0
                break
    assert killed >= 5
    assert len(starts) >= 5  # the kills came at different places
    assert merge_states({"report": example.MECHANISM}, state)["report"] == expected(log)


def test_the_example_killed_and_started_again(example, tmp_path):
    log, state = tmp_path / "log", tmp_path / "state"
    example.produce(log, messages=300)
    count = [sys.executable, str(EXAMPLE), "count", str(log), str(state), "--every", "3"]
    for _ in range(2):
        with subprocess.Popen(count, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout.readline().startswith("starting at")
            time.sleep(0.05)
            running.kill()
    done = subprocess.run(count, capture_output=True, text=True, check=True)
    assert f"{300 * 3 * example.REPORTS_PER_MESSAGE} reports in total" in done.stdout
    assert merge_states({"report": example.MECHANISM}, state)["report"] == expected(log)


def test_ten_thousand_states_are_merged_exactly():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 1 << 48, (10_000, 8))  # sums beyond what floating-point numbers add
    states = [Tally(MECHANISM.id, int(row.sum()), row).to_bytes() for row in counts]
    merged = Tally.merge(Tally.from_bytes(state) for state in states)
    assert merged.counts.tolist() == [sum(column) for column in zip(*counts.tolist(), strict=True)]
    assert merged.n == sum(merged.counts.tolist())
