"""`discreet bench`: the JSON that it promises, ratios, floors, pages, and what it says when something is wrong."""

import json
import re
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet import compiling
from discreet.cli import app
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import entries, mechanism
from discreet.privacy.entropy import KEPT_WORDS
from discreet_benchmarks import PARTS, accuracy, chosen, mechanisms, merged, numeric_accuracy, page, run, threads
from discreet_benchmarks.peers import Peers, interpreter
from discreet_benchmarks.rows import MEANING, PER_REPORT, Missing, Row, Settings
from discreet_benchmarks.scaling import slope
from discreet_benchmarks.timing import clock, interleaved

ROOT = Path(__file__).parents[2]
FIELDS = {"name", "ours", "best_peer", "floor", "ratio_to_best_peer", "ratio_to_floor", "unit", "kind", "part", "meets"}
ENVIRONMENT = interpreter(ROOT / ".venv-peers")


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["bench", *arguments])


def check_schema(found: dict) -> None:
    assert {"date", "version", "machine", "rows", "notes", "misses", "meaning"} <= set(found)
    assert {"cores", "load_before", "load_after"} <= set(found["machine"])
    assert found["meaning"] == MEANING
    for row in found["rows"]:
        assert set(row) >= FIELDS
        assert row["part"] in PARTS
        assert row["ours"] > 0
        for value, ratio, expected in (
            (row["best_peer"], row["ratio_to_best_peer"], lambda r: r["best_peer"] / r["ours"]),
            (row["floor"], row["ratio_to_floor"], lambda r: r["ours"] / r["floor"]),
        ):
            assert (ratio is None) == (value is None)
            if ratio is not None:
                assert ratio == pytest.approx(expected(row))
    assert found["misses"] == [row["name"] for row in found["rows"] if row["meets"] is False]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run of two quick tasks without peers, and where it was written."""
    out = tmp_path_factory.mktemp("bench")
    done = invoke("--quick", "--json", "--no-peers", "--only", "mechanisms:duchi,accuracy:means", "--out", str(out))
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), done, out


def test_the_json_is_what_was_promised(small):
    found, done, out = small
    check_schema(found)
    assert [row["name"] for row in found["rows"]][:3] == ["client duchi", "server duchi", "one report duchi"]
    assert json.loads((out / "bench.json").read_text("utf-8")) == found
    assert "mechanisms: duchi" in done.stderr  # progress is on stderr, where it does not disturb a pipe
    assert all(row["best_peer"] is None for row in found["rows"] if row["part"] == "mechanisms")
    assert "No peers: not asked for" in found["notes"]


def test_it_names_no_host_and_no_path(small):
    text = json.dumps(small[0])
    assert str(Path.home()) not in text
    assert not re.search(r"/(tmp|home|root|work)/", text)


def test_means_stand_beside_closed_forms(small):
    rows = {row["name"]: row for row in small[0]["rows"]}
    assert rows["mean epsilon=1"]["best_peer"] == pytest.approx(4.2890, abs=1e-4)  # FACTS: HM at epsilon 1
    assert rows["mean epsilon=4"]["ratio_to_best_peer"] > 1.5
    assert rows["mean epsilon=2"]["ratio_to_floor"] is None  # our own mechanism would be no floor


def test_means_by_default_beat_the_usual_ones(small):
    rows = [row for row in small[0]["rows"] if row["name"].startswith("mean ")]
    assert len(rows) == 8
    assert all(row["peer_target"] == 1 and row["meets"] for row in rows)
    assert numeric_accuracy.usual_variances(2.0)["Duchi"] == pytest.approx(mechanism("duchi", 2.0).worst_case_variance)
    x = np.linspace(-1, 1, 5)
    for name, ours in {"Duchi": "duchi", "piecewise": "piecewise", "hybrid": "hybrid"}.items():
        exact = float(np.mean(mechanism(ours, 2.0).variance(x)))
        assert numeric_accuracy.usual_variances(2.0, x)[name] == pytest.approx(exact, rel=2e-3)


def test_a_part_can_be_measured_again_without_losing_the_others(small):
    found = small[0]
    row = found["rows"][0]
    before = found | {"rows": [row | {"ours": 1.0}, row | {"name": "client old"}, row | {"part": "files"}]}
    shown = merged(before, found | {"only": ["mechanisms:duchi"]})
    names = [(row["part"], row["name"]) for row in shown["rows"]]
    assert names[0] == ("mechanisms", "client old")
    assert ("files", "client duchi") in names
    assert names.count(("mechanisms", "client duchi")) == 1
    assert next(r for r in shown["rows"] if r["name"] == "client duchi") == row
    assert shown["notes"][-1].endswith("mechanisms:duchi")
    assert merged(shown, found | {"only": ["mechanisms:duchi"]})["notes"] == shown["notes"]
    assert ("mechanisms", "client old") not in {
        (row["part"], row["name"]) for row in merged(before, found | {"only": ["mechanisms"]})["rows"]
    }


def test_the_report_is_one_file_that_fetches_nothing(small):
    text = (small[2] / "report.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "://" not in text
    for words in ("Clients", "Servers", "duchi", "mean epsilon=1"):
        assert words in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "mechanism"], "only must be mechanisms, accuracy"),
        (["--only", "mechanisms:duchy"], "only must name a task of mechanisms (adaptive-additive"),
        (["--peers", "nowhere/python"], "peers must be an environment's interpreter or folder, not nowhere/python"),
        (["--peers", "x", "--no-peers"], "exclude each other"),
        (["--publish", "--no-peers"], "no folder docs/ here"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_peers_that_cannot_be_made_are_said_and_done_without(tmp_path, monkeypatch):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nmkdir -p $3/bin\necho 'ERROR: no such version' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", str(broken))
    done = invoke("--quick", "--json", "--only", "accuracy:means")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["peers"] is False
    assert "No peers: the peers' environment cannot be made: ERROR: no such version" in found["notes"]
    assert "Making the peers' environment once" in done.stderr
    assert not list((tmp_path / "cache" / "discreet").iterdir())  # nothing is left of the failure


def test_an_environment_without_the_peers_is_refused():
    with pytest.raises(DiscreetError, match=r"no peer runs in this environment: .*No module named"):
        Peers(Path(sys.executable))


def test_ratios_and_targets():
    row = Row("mechanisms", "x", "speed", PER_REPORT, 2.0, 50.0, "peer", 1.0, "floor", 20.0, 3.0)
    assert (row.ratio_to_best_peer, row.ratio_to_floor, row.meets) == (25.0, 2.0, True)
    assert Row("mechanisms", "x", "speed", PER_REPORT, 2.0, 30.0, "peer", 1.0, "floor", 20.0, 3.0).meets is False
    assert Row("mechanisms", "x", "speed", PER_REPORT, 4.0, None, None, 1.0, "floor", 20.0, 3.0).meets is False
    assert Row("mechanisms", "x", "speed", PER_REPORT, 4.0).meets is None


def test_every_mechanism_that_can_be_built_is_measured():
    assert set(mechanisms.tasks(Settings())) == set(entries())


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("duchi", {}, 1 + 8),
        ("hadamard-response", {"size": 1024}, 2 + 8),
        ("optimized-unary", {"size": 1024}, 128),
        ("local-hashing", {"size": 1024}, 8 + 2048),
        ("count-mean-sketch", {"size": 1024, "hashes": 4, "width": 64}, 16),
    ],
)
def test_bytes_that_a_server_must_read(name, options, expected):
    assert mechanisms.bytes_read(mechanism(name, 1.0, **options))[0] == expected


class Pretend:
    """Peers that answer what they are told: the same law as ours, or another; fixed times."""

    names: ClassVar = {"randomized-response": ["quick", "slow", "wrong"]}
    missing: ClassVar = {"broken": "ImportError: no"}

    def ask(self, **request):
        source = mechanism("randomized-response", 1.0, size=request["size"])
        if request["do"] == "law":
            far = 0.3 if request["peer"] == "wrong" else 0.0
            return {"p": source.p + far, "q": source.q, "reports": 2000}
        return {"seconds": {"quick": 1e-3, "slow": 2e-3, "wrong": 1e-9}[request["peer"]], "reports": 10}


def test_the_better_peer_of_the_same_law_counts():
    found = run(["mechanisms:randomized-response"], Settings(True, Pretend()))
    check_schema(found)
    rows = {row["name"]: row for row in found["rows"]}
    assert set(rows) == {
        f"{side} randomized-response d={d}" for side in ("client", "server", "one report") for d in (16, 1024)
    }
    for row in rows.values():
        assert (row["best_peer"], row["peer"]) == (1e-3, "quick")
        assert row["ratio_to_best_peer"] > 20
    assert "wrong is another mechanism" in rows["client randomized-response d=16"]["note"]
    assert "broken does not run: ImportError: no" in found["notes"]


def test_a_part_that_lacks_something_is_left_out_with_a_note(monkeypatch):
    def fails():
        raise Missing("a thing is not installed")

    monkeypatch.setattr(accuracy, "tasks", lambda settings: {"means": fails})
    found = run(["accuracy"], Settings(quick=True))
    assert found["rows"] == []
    assert found["notes"] == ["accuracy:means is skipped: a thing is not installed"]


def test_what_fails_is_said_and_the_rest_is_measured(monkeypatch, tmp_path):
    def fails():
        raise DiscreetError("a process ended")

    monkeypatch.setattr(accuracy, "tasks", lambda settings: {"frequencies": fails, "means": numeric_accuracy.means})
    done = invoke("--quick", "--json", "--no-peers", "--only", "accuracy", "--out", str(tmp_path))
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["failed"] == ["accuracy:frequencies"]
    assert "accuracy:frequencies failed: DiscreetError: a process ended" in found["notes"]
    assert found["rows"][0]["name"] == "mean epsilon=0.5"


def test_an_interrupted_run_is_resumed(monkeypatch, tmp_path):
    calls = []

    def measured(name, fails=()):
        def task():
            calls.append(name)
            if name in fails:
                raise KeyboardInterrupt if fails == ("b",) else DiscreetError("a process ended")
            return [Row("accuracy", name, "accuracy", "error", 1.0)]

        return task

    def with_fails(*fails):
        tasks = {name: measured(name, fails) for name in "abc"}
        monkeypatch.setattr(accuracy, "tasks", lambda settings: tasks)

    options = ("--quick", "--json", "--no-peers", "--only", "accuracy", "--out", str(tmp_path))
    assert "there is no unfinished run in" in invoke(*options, "--resume").stderr
    with_fails("b")
    assert invoke(*options).exit_code != 0  # interrupted in b
    with_fails("c", "x")
    done = invoke(*options, "--resume")
    assert done.exit_code == 1  # c failed, and is tried again
    assert json.loads(done.stdout)["failed"] == ["accuracy:c"]
    assert "was started with other options" in invoke("--no-peers", "--out", str(tmp_path), "--resume").stderr
    with_fails()
    done = invoke(*options, "--resume")
    assert done.exit_code == 0, done.output
    assert [row["name"] for row in json.loads(done.stdout)["rows"]] == ["a", "b", "c"]
    assert "".join(calls) == "ab" + "bc" + "c"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.json", "report.html"]


@pytest.mark.parametrize("name", ["minimax", "optimized-unary"])
def test_threads_are_measured_beside_one(name, monkeypatch):
    best = {"1 of 2": 2.0, "1 of 8": 2.0, "2": 2.1, "8": 2.2, "chunk": 1.0, "part": 0.0}
    monkeypatch.setattr(threads, "interleaved", lambda clocks, repeats: best | {k: best[k] for k in clocks})
    rows = threads.mechanism(Settings(quick=True), name, threads.MECHANISMS[name])
    serial, two, eight = rows
    words = mechanism(name, 1.0, **threads.MECHANISMS[name]).words_per_report
    assert serial.ours == pytest.approx(1 / (KEPT_WORDS // words) / 2)
    assert two.floor == eight.floor == 2.0
    assert two.ours >= 2.1
    assert eight.meets is False  # 10 % more CPU time than one thread


def test_the_clocks_of_threads_run():
    source = mechanism("duchi", 1.0)
    x = np.linspace(-1, 1, 1000)
    for run_once in threads.turns(source, x).values():
        assert run_once() > 0
    seen = []
    assert threads.together(lambda: seen.append(source.privatize_and_tally(x).n), 1000, 3, 2) > 0
    assert seen == [1000] * 6


def test_a_quick_run_leaves_spark_out_unless_it_is_named():
    assert "spark" not in chosen([], Settings(quick=True))
    assert "spark" in chosen([], Settings())
    assert list(chosen(["spark"], Settings(quick=True))) == ["spark"]


def test_clocks_take_turns_and_keep_the_best():
    order = []
    times = {"a": iter([9.0, 3.0, 2.0, 5.0]), "b": iter([9.0, 1.0, 4.0, 0.5])}

    def run_one(name):
        order.append(name)
        return next(times[name])

    assert interleaved({name: lambda name=name: run_one(name) for name in times}, 3) == {"a": 2.0, "b": 0.5}
    assert order == ["a", "b"] * 4
    assert clock(lambda: sum(range(100_000)), 10)() > 0


def test_slopes_are_those_of_power_laws():
    assert slope({x: 5 * x**1.5 for x in (10, 100, 1000)}) == pytest.approx(1.5)
    assert slope({1: 8.0, 2: 4.0, 4: 2.0}) == pytest.approx(-1)


def test_dense_and_structured_em_agree():
    with compiling.using(compiled=True):
        (row,) = chosen(["distributions:em-256"], Settings(quick=True))["distributions"]["em-256"]()
    assert row.details["largest_difference"] < 1e-12
    assert row.ratio_to_best_peer > 2


def test_zipf_people_are_as_many_as_asked():
    people = accuracy.zipf(64, 5000)
    assert people.sum() == 5000
    assert np.all(np.diff(people) <= 1)  # rounding aside, fewer and fewer


def test_defaults_stand_beside_defaults_and_the_best_beside_the_best():
    theirs = {("a", "raw"): 4.0, ("b", "clipped"): 3.0, ("b", "EM"): 1.5}
    rows = accuracy._compared("d=8", 2.0, "auto", {"auto": 2.0, "bayes": 1.0, "raw": 9.0}, theirs, {})
    assert [(row.name, row.ours, row.best_peer, row.peer, row.meets) for row in rows] == [
        ("frequencies by default d=8", 2.0, 3.0, "b, clipped", True),
        ("frequencies at best d=8", 1.0, 1.5, "b, EM", None),
        ("frequencies, their best d=8", 2.0, 1.5, "b, EM", None),
    ]
    assert ["hindsight" in row.note for row in rows] == [False, True, True]


def test_the_page_of_the_documentation_is_made_from_the_committed_results():
    found = json.loads((ROOT / "docs/results/bench.json").read_text("utf-8"))
    check_schema(found)
    assert found["peers"] is True
    assert (ROOT / "docs/benchmarks.md").read_text("utf-8") == page.markdown(found)


@pytest.fixture(scope="module")
def peers():
    if not ENVIRONMENT.exists():
        pytest.skip("there is no .venv-peers: 'make setup-peers' makes it")
    running = Peers(ENVIRONMENT)
    yield running
    running.close()


def test_real_peers_have_our_laws(peers):
    assert peers.missing == {}
    for name, listed in peers.names.items():
        options = mechanisms.SKETCH if name == "count-mean-sketch" else {}
        ours = mechanism(name, 1.0, size=16, **options)
        for peer in listed:
            law = peers.ask(do="law", peer=peer, size=16, epsilon=1.0, reports=4000)
            for side, exact in (("p", ours.p), ("q", ours.q)):
                assert law[side] == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 4000) ** 0.5), peer
            assert 0 < peers.ask(do="client", peer=peer, size=16, epsilon=1.0, budget=0.01)["seconds"] < 1e-3


def test_real_peers_say_what_they_do_not_understand(peers):
    with pytest.raises(DiscreetError, match="pure-ldp DE failed: ValueError: do is 'dance'"):
        peers.ask(do="dance", peer="pure-ldp DE", size=16, epsilon=1.0)
