"""Folders, patterns and threads; the same two functions under Dask."""

import contextlib
import os
import re
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import threads
from discreet.drivers.files import estimate_file, formats, privatize_file, tally_file
from discreet.drivers.files.formats import Source, parts_of
from discreet.drivers.tables import Collection, merge
from discreet.errors import DiscreetError, WireError

N = 12_000
CELL = {"cell": dc.Frequency(dc.Categories(range(4)), epsilon=20, method="randomized-response")}
"""So large an epsilon that reports are the values: whatever is lost or counted twice is seen."""


@pytest.fixture
def people(tmp_path):
    """Six files in two folders, of several row groups each, with other programs' notes beside them."""
    for i in range(6):
        folder = tmp_path / "people" / f"day={i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        data = pa.table({"cell": pa.array(np.arange(N // 6) % 4), "name": ["secret"] * (N // 6)})
        pq.write_table(data, folder / f"part-{i}.parquet", row_group_size=300)
    (tmp_path / "people" / "_SUCCESS").write_text("")
    (tmp_path / "people" / "_delta_log").mkdir()
    pq.write_table(data, tmp_path / "people" / "_delta_log" / "1.parquet")
    (tmp_path / "people" / ".part.parquet.crc").write_text("x")
    return tmp_path / "people"


def check(tally):
    assert tally.n == N
    assert tally.counts == pytest.approx([N / 4] * 4, abs=1)  # one in 10^8 reports is not its value


@pytest.mark.parametrize("count", [None, 1, 7])
@pytest.mark.parametrize("made", ["parquet", "arrow", "csv"])
def test_a_folder_is_privatised_and_counted(people, tmp_path, monkeypatch, count, made):
    monkeypatch.setattr(formats, "ROWS", 250)
    monkeypatch.setattr(formats, "_PIECE", 500)
    out, told = tmp_path / f"r.{made}", []
    summary = privatize_file(people, out, CELL, threads=count, progress=lambda done, total: told.append((done, total)))
    assert summary.counted.rows == summary.counted.written == N
    assert told[-1] == (N, N)
    told.clear()
    reports, tallies = tally_file(out, threads=count, progress=lambda done, total: told.append(done))
    check(tallies["cell"])
    assert max(told) == N
    assert sorted(told) == told  # told in turn, by whichever thread
    assert reports.estimate(tallies)["cell"].n == N


def test_patterns_and_several_paths(people, tmp_path):
    (tmp_path / "r").mkdir()
    for part in parts_of(people):
        privatize_file(part, tmp_path / "r" / part.name, CELL)
    check(tally_file(tmp_path / "r")[1]["cell"])
    check(tally_file(tmp_path / "r" / "*.parquet")[1]["cell"])
    assert estimate_file(tmp_path / "r" / "*-[012].parquet")["cell"].n == N // 2
    assert estimate_file(tmp_path / "r" / "part-0.parquet", tmp_path / "r" / "*-[345].parquet")["cell"].n == N * 4 // 6


def test_which_files_a_path_means(people, tmp_path):
    names = [part.name for part in parts_of(people)]
    assert names == [f"part-{i}.parquet" for i in (0, 2, 4, 1, 3, 5)]
    assert [part.name for part in parts_of(f"{people}/**/part-[01].parquet")] == ["part-0.parquet", "part-1.parquet"]
    assert parts_of("nothing.csv")[0].name == "nothing.csv"  # whoever opens it says that it does not exist
    odd = tmp_path / "a[1].csv"
    odd.write_text("x")
    assert parts_of(odd) == [odd]
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "*.feather"):
        with pytest.raises(DiscreetError, match="holds no file"):
            parts_of(path)
    privatize_file(people, people / "r.parquet", CELL)
    with pytest.raises(DiscreetError, match="another file than the values"):
        privatize_file(people, people / "r.parquet", CELL, overwrite=True)


def test_parts_of_different_collections_are_not_added(people, tmp_path):
    (tmp_path / "r").mkdir()
    privatize_file(people, tmp_path / "r" / "a.parquet", CELL)
    other = {"cell": dc.Frequency(dc.Categories(range(4)), epsilon=1, method="randomized-response")}
    privatize_file(people, tmp_path / "r" / "b.parquet", other)
    with pytest.raises(DiscreetError, match=r"b\.parquet answers other questions than .*a\.parquet"):
        estimate_file(tmp_path / "r")


def test_a_bad_part_stops_the_others(people, tmp_path):
    bad = people / "day=1" / "part-9.parquet"
    pq.write_table(pa.table({"cell": [7]}), bad)
    with pytest.raises(DiscreetError, match=r"row \d+: the value .*is not one of the 4 categories"):
        privatize_file(people, tmp_path / "r.parquet", CELL)
    assert [path.name for path in tmp_path.iterdir()] == ["people"]
    bad.write_bytes(b"PAR1")
    with pytest.raises(DiscreetError, match="cannot be read as Parquet"):
        privatize_file(people, tmp_path / "r.parquet", CELL)
    with pytest.raises(WireError, match="no document"):
        tally_file(people / "day=0")


@pytest.mark.parametrize("count", [0, True, 1.5])
def test_threads_without_meaning_are_refused(people, tmp_path, count):
    with pytest.raises(DiscreetError, match="threads must be"):
        privatize_file(people, tmp_path / "r.parquet", CELL, threads=count)
    with pytest.raises(DiscreetError, match="threads must be"):
        tally_file(people, threads=count)


def test_a_file_is_cut_at_its_row_groups(people, monkeypatch):
    monkeypatch.setattr(formats, "_PIECE", 700)
    source = Source(parts_of(people)[0], ["cell"])
    pieces = source.pieces()
    assert [list(piece) for piece in pieces] == [[0, 1, 2], [3, 4, 5], [6]]
    assert sum(batch.num_rows for piece in pieces for batch in source.batches(piece)) == N // 6


class Together:
    """Notes how many threads are at work at once; ``with`` it, each works for a while."""

    def __init__(self):
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def __enter__(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.01)

    def __exit__(self, *_):
        with self.lock:
            self.now -= 1


def test_items_are_made_side_by_side_and_come_in_order():
    together, taken = Together(), []

    def work(item):
        with together:
            return item

    def items():
        for i in range(40):
            taken.append(i)
            yield i

    found = threads.in_order(work, items(), 4)
    assert next(found) == 0
    assert len(taken) <= 10  # a few ahead, never all
    assert list(found) == list(range(1, 40))
    assert 1 < together.most <= 4


def test_one_thread_for_each_core_that_we_may_use():
    assert threads.check_threads(None) == len(os.sched_getaffinity(0))
    assert threads.check_threads(3) == 3


def test_no_more_threads_have_a_turn_than_there_are_cores():
    cores, together = len(os.sched_getaffinity(0)), Together()

    def work(_):
        with threads.turn(), together:
            pass

    list(threads.in_order(work, range(8 * cores), 4 * cores))
    assert together.most == cores


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_has_all_turns_even_if_its_parent_had_none_left():
    cores = len(os.sched_getaffinity(0))
    with contextlib.ExitStack() as all_turns:
        for _ in range(cores):
            all_turns.enter_context(threads.turn())
        child = os.fork()
        if not child:  # pragma: no cover: in another process
            had = [threads.turn().acquire(timeout=5) for _ in range(cores)]
            os._exit(0 if all(had) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# -- Dask -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_same_two_functions_under_dask(people):
    dask = pytest.importorskip("dask")
    stage = Collection(CELL).stage()

    def count(path):
        made = stage.map_batches(Source(path, ["cell"]).batches())
        tallies = {}
        for batch in made:
            tallies = merge(tallies, stage.reports.tally_batch(batch))
        return tallies

    parts = [dask.delayed(count)(path) for path in parts_of(people)]
    while len(parts) > 1:  # a tree
        parts = [dask.delayed(merge)(*pair) if len(pair) == 2 else pair[0] for pair in zip_pairs(parts)]
    for scheduler in ("threads", "processes"):
        (tallies,) = dask.compute(parts[0], scheduler=scheduler, num_workers=2)
        check(tallies["cell"])


def test_dask_counts_and_answers(tmp_path):
    pytest.importorskip("dask")
    from discreet.drivers.dask import estimate_files, tally_files

    plan = dc.Mean(dc.Interval(0, 100), epsilon=4, method="duchi")
    for i in range(20):
        pq.write_table(pa.table({"wage": np.full(50, 40.0)}), tmp_path / "p.parquet")
        privatize_file(tmp_path / "p.parquet", tmp_path / f"r{i}.arrow", {"wage": plan})
    _, tallies = tally_files(f"{tmp_path}/r*.arrow", scheduler="threads")
    assert tallies == tally_file(f"{tmp_path}/r*.arrow")[1]
    answer = estimate_files(tmp_path / "r1.arrow", f"{tmp_path}/r1?.arrow", scheduler="threads")["wage"]
    assert answer.n == 11 * 50
    privatize_file(tmp_path / "p.parquet", tmp_path / "x.arrow", {"wage": dc.Mean(dc.Interval(0, 50), 4, "duchi")})
    with pytest.raises(DiscreetError, match="different questions"):
        estimate_files(tmp_path / "r1.arrow", tmp_path / "x.arrow", scheduler="threads")
    with pytest.raises(DiscreetError, match="at least one file"):
        estimate_files()


def test_groups_under_dask(tmp_path):
    pytest.importorskip("dask")
    from discreet.drivers.dask import estimate_files

    by = dc.Categories(["Ohio", "Utah", "Iowa"])
    plan = dc.Groups(dc.Mean(dc.Interval(0, 100), epsilon=4, method="duchi"), by=by, name="state")
    states = ["Ohio"] * 300 + ["Utah"] * 200
    for i in range(3):  # the second file has a group of which the first has none
        own = ["Iowa"] * 500 if i == 1 else states
        pq.write_table(pa.table({"wage": np.full(500, 40.0), "state": own}), tmp_path / "p.parquet")
        privatize_file(tmp_path / "p.parquet", tmp_path / f"r{i}.arrow", {"wage": plan}, entropy=dc.Entropy.seeded(i))
    answer = estimate_files(f"{tmp_path}/r*.arrow", scheduler="threads")["wage"]
    assert {label: one.n for label, one in answer.groups.items()} == {"Ohio": 600, "Utah": 400, "Iowa": 500}
    assert answer.to_dict() == estimate_file(f"{tmp_path}/r*.arrow")["wage"].to_dict()


def zip_pairs(parts):
    return [parts[i : i + 2] for i in range(0, len(parts), 2)]


def test_the_page_about_files_of_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "report-files.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "report-files.md", "exec"), {})
