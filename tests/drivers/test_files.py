"""Files and frames: every format both ways, budgets, missing and clipped values, and nothing half-written."""

import json
import os
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.drivers.files import estimate_file, formats, privatize_file, tally_file
from discreet.drivers.frames import estimate_frame, privatize_frame
from discreet.drivers.tables import Collection, Reports, merge
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.plans.base import Channel, Plan, Round
from discreet.plans.registry import QUESTIONS
from discreet.tallies import Tally

N = 20_000
WAGE = dc.Interval(0, 100)
DRINK = dc.Categories(["tea", "coffee", "NA"])
RNG = np.random.default_rng(1)


def table(n=N):
    wage = np.clip(RNG.normal(45, 25, n), -40, 140)
    wage[::50] = np.nan
    drink = RNG.choice(["tea", "coffee", "NA"], n, p=[0.5, 0.3, 0.2]).astype(object)
    drink[7] = None
    return pa.table(
        {
            "wage": pa.array(wage, from_pandas=True),
            "drink": pa.array(drink.tolist()),
            "room": pa.array(RNG.integers(0, 70, n)),
            "other": pa.array([f"secret {i}" for i in range(n)]),
        }
    )


PEOPLE = table()
PRESENT = int(PEOPLE.column("wage").is_valid().to_numpy().sum())
QUESTION = {"wage": dc.Mean(WAGE, epsilon=4, method="duchi")}
THREE = {
    "wage": dc.Mean(WAGE, epsilon=4, method="duchi"),
    "drink": dc.Frequency(DRINK, epsilon=4),
    "room": dc.Frequency(dc.Categories(range(70)), epsilon=4, method="optimized-unary"),
}


def seeded(seed=1):
    return dc.Entropy.seeded(seed)


def write(path, data=PEOPLE):
    if path.suffix == ".csv":
        pa.csv.write_csv(data, path)
    elif path.suffix == ".parquet":
        pq.write_table(data, path, row_group_size=3000)
    else:
        pa.feather.write_feather(data, path, compression="uncompressed")
    return path


def check_answers(answers, epsilon=4):
    truth = np.clip(PEOPLE.column("wage").drop_null().to_numpy(), 0, 100).mean()
    assert answers["wage"].value == pytest.approx(truth, abs=6 * answers["wage"].details["standard_error"])
    assert answers["wage"].epsilon == epsilon
    assert answers["drink"]["tea"]["raw"] == pytest.approx(0.5, abs=0.05)
    assert answers["room"].raw == pytest.approx(np.full(70, 1 / 70), abs=0.04)


@pytest.mark.parametrize("made", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("read", [".csv", ".parquet", ".feather"])
def test_every_format_both_ways(tmp_path, read, made, monkeypatch):
    monkeypatch.setattr(formats, "ROWS", 4096)  # several batches
    source, out = write(tmp_path / f"people{read}"), tmp_path / f"reports{made}"
    summary = privatize_file(source, out, THREE, epsilon=12, entropy=seeded())
    counted = summary.counted
    assert (counted.rows, counted.written) == (N, N)
    assert counted.missing == {"wage": N - PRESENT, "drink": 1, "room": 0}
    assert counted.clipped_low["wage"] > 0
    assert counted.clipped_high["wage"] > 0
    assert counted.reports == {"wage": PRESENT, "drink": N - 1, "room": N}
    answers = estimate_file(out)
    assert {column: answer.n for column, answer in answers.items()} == counted.reports
    check_answers(answers)
    left = {"reports" + made, "reports.csv.json", source.name} if made == ".csv" else {"reports" + made, source.name}
    assert set(os.listdir(tmp_path)) == left


def test_formats_agree_to_the_last_report(tmp_path):
    source = write(tmp_path / "people.parquet")
    tallies = []
    for made in ("csv", "parquet", "arrow"):
        out = tmp_path / f"r.{made}"
        privatize_file(source, out, THREE, epsilon=12, entropy=seeded(5))
        tallies.append(tally_file(out)[1])
    assert tallies[0] == tallies[1] == tallies[2]


@pytest.mark.parametrize("convert", [lambda t: t.to_pandas(), pl.from_arrow, lambda t: t, lambda t: t.to_batches()[0]])
@pytest.mark.parametrize("budget", ["split", "sample"])
def test_frames_round_trip(convert, budget):
    frame = convert(PEOPLE)
    reports = privatize_frame(frame, THREE, budget=budget, epsilon=12 if budget == "split" else 4, entropy=seeded())
    assert type(reports) is type(frame)
    assert "other" not in (reports.schema.names if isinstance(reports, (pa.Table, pa.RecordBatch)) else reports.columns)
    answers = estimate_frame(reports)
    check_answers(answers)
    asked = sum(answer.n for answer in answers.values())
    if budget == "split":
        assert asked == PRESENT + N - 1 + N
    else:
        assert N - 300 < asked < N  # one question each; a few drew a value that they lack
        assert all(abs(answer.n - N / 3) < 500 for answer in answers.values())


def test_every_person_answers_once_when_sampled():
    reports = privatize_frame(PEOPLE, THREE, budget="sample", epsilon=4)
    answered = sum(reports.column(name).is_valid().to_numpy().astype(int) for name in reports.column_names)
    assert answered.max() == answered.min() == 1


def test_pandas_survives_filtering_and_its_own_parquet(tmp_path):
    reports = privatize_frame(PEOPLE.to_pandas(), QUESTION)
    assert estimate_frame(reports[:5000])["wage"].n == reports[:5000]["wage"].notna().sum()
    reports.to_parquet(tmp_path / "r.parquet")
    assert estimate_frame(pd.read_parquet(tmp_path / "r.parquet"))["wage"].n == PRESENT


def test_polars_survives_filtering_and_its_own_parquet(tmp_path):
    reports = privatize_frame(pl.from_arrow(PEOPLE), QUESTION)
    reports.head(1000).write_parquet(tmp_path / "r.parquet")
    assert estimate_frame(pl.read_parquet(tmp_path / "r.parquet"))["wage"].n == 1000
    assert estimate_frame(pl.concat([reports, reports]))["wage"].n == 2 * PRESENT
    other = privatize_frame(pl.from_arrow(PEOPLE), {"wage": dc.Mean(WAGE, epsilon=2, method="duchi")})
    with pytest.raises(pl.exceptions.PolarsError):
        pl.concat([reports, other])


def test_frame_and_file_reports_are_the_same(tmp_path):
    write(tmp_path / "p.parquet")
    privatize_file(tmp_path / "p.parquet", tmp_path / "r.parquet", QUESTION, entropy=seeded(3))
    from_frame = privatize_frame(PEOPLE, QUESTION, entropy=seeded(3))
    assert pq.read_table(tmp_path / "r.parquet").equals(from_frame)
    assert estimate_frame(pq.read_table(tmp_path / "r.parquet"))["wage"].to_dict() == (
        estimate_file(tmp_path / "r.parquet")["wage"].to_dict()
    )


def test_parts_are_counted_together(tmp_path):
    for i in range(2):
        write(tmp_path / f"p{i}.parquet", PEOPLE.slice(i * 10_000, 10_000))
        privatize_file(tmp_path / f"p{i}.parquet", tmp_path / f"r{i}.arrow", QUESTION)
    assert estimate_file(tmp_path / "r0.arrow", tmp_path / "r1.arrow")["wage"].n == PRESENT
    privatize_file(tmp_path / "p0.parquet", tmp_path / "x.arrow", {"wage": dc.Mean(WAGE, epsilon=1, method="duchi")})
    with pytest.raises(DiscreetError, match="other questions"):
        estimate_file(tmp_path / "r0.arrow", tmp_path / "x.arrow")


def test_the_document_holds_no_count_of_the_values(tmp_path):
    write(tmp_path / "p.parquet")
    privatize_file(tmp_path / "p.parquet", tmp_path / "r.csv", QUESTION)
    document = json.loads((tmp_path / "r.csv.json").read_text())
    assert set(document) == {"discreet-reports", "budget", "epsilon", "questions", "rounds", "rows"}
    assert document["rows"] == PRESENT
    assert "clipped" not in json.dumps(document)
    first = Reports.from_json(json.dumps(document))
    assert Reports.from_json(first.to_json()).to_json() == first.to_json()


# -- budgets ----------------------------------------------------------------------------------------------


def test_budgets_are_added_exactly():
    tenth = dc.Mean(WAGE, epsilon=0.1, method="duchi")
    ten = {f"c{i}": tenth for i in range(10)}
    assert Collection(ten, epsilon=1).epsilon == 1
    assert Collection(ten, "sample", epsilon=0.1).epsilon == Fraction(1, 10)
    with pytest.raises(DiscreetError, match="need a budget"):
        Collection(ten)
    with pytest.raises(DiscreetError, match=r"cost epsilon 1 together; the budget is 0\.9"):
        Collection(ten, epsilon=0.9)


@pytest.mark.parametrize(
    ("questions", "options", "word"),
    [
        ({}, {}, "and not empty"),
        ({"a": 3}, {}, "must be a plan"),
        ({"": QUESTION["wage"]}, {}, "name of a column"),
        (QUESTION, {"budget": "all"}, "budget must be split or sample"),
        (QUESTION, {"epsilon": "x"}, "not 'x'"),
        (
            {"a": dc.Means([WAGE, WAGE], epsilon=1, names=["b", "c"]), "b": dc.Frequency(DRINK, 1)},
            {},
            "both as a number and as a category",
        ),
        (
            {"a": type("Odd", (dc.Mean,), {"question": "odd"})(WAGE, epsilon=1, method="duchi")},
            {},
            "cannot be read back",
        ),
    ],
)
def test_refuses_collections_without_meaning(questions, options, word):
    with pytest.raises(DiscreetError, match=word):
        Collection(questions, **options)


# -- what can go wrong ------------------------------------------------------------------------------------


def asked(column="wage", plan=None, missing="drop", data=PEOPLE):
    return privatize_frame(data, {column: plan or QUESTION["wage"]}, missing=missing)


def test_missing_values_can_be_an_error():
    with pytest.raises(DomainError, match="column 'wage', row 0: the value is missing"):
        asked(missing="error")
    with pytest.raises(DiscreetError, match="missing must be drop or error"):
        asked(missing="keep")


def test_nan_and_null_are_both_missing():
    data = pa.table({"wage": pa.array([1.0, None, float("nan"), 2.0] * 10)})
    assert privatize_frame(data, QUESTION).num_rows == 20


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"column": "wages"}, "no column 'wages'; the columns are wage, drink"),
        ({"column": "other"}, "must hold numbers for mean, not values of type string"),
        (
            {"column": "drink", "plan": dc.Frequency(dc.Categories(["tea", "milk"]), 1)},
            r"row \d+: .*is not one of the 2",
        ),
        ({"column": "room", "plan": dc.Frequency(dc.Categories(["0", "1"]), 1)}, r"\(of type int64\) is not one of"),
        ({"data": pa.table({"wage": [1.0, float("inf")]})}, "row 1: not a finite number"),
        ({"data": [1, 2]}, "not a list"),
    ],
)
def test_says_what_is_wrong_with_a_column(arguments, word):
    with pytest.raises(DiscreetError, match=word):
        asked(**arguments)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.float32(), pa.decimal128(30, 2), pa.bool_(), pa.uint16(), pa.null()]
)
def test_numbers_of_every_type(kind):
    values = [None] * 8 if kind == pa.null() else [1, 0, None, 1] * 2
    reports = privatize_frame(pa.table({"wage": pa.array(values).cast(kind)}), QUESTION)
    assert reports.num_rows == (0 if kind == pa.null() else 6)


@pytest.mark.parametrize("labels", [[False, True], [0, 1], [0.0, 1.0]])
def test_labels_of_every_type(tmp_path, labels):
    data = pa.table({"x": pa.array(labels * 50)})
    plan = dc.Frequency(dc.Categories(labels), epsilon=8)
    assert estimate_frame(privatize_frame(data, {"x": plan}))["x"].n == 100
    dictionary = pa.table({"x": data.column("x").dictionary_encode()})
    assert estimate_frame(privatize_frame(dictionary, {"x": plan}))["x"].n == 100
    pa.csv.write_csv(data, tmp_path / "p.csv")
    privatize_file(tmp_path / "p.csv", tmp_path / "r.csv", {"x": plan})
    assert estimate_file(tmp_path / "r.csv")["x"].n == 100


def test_out_is_never_the_source_and_never_replaced_by_accident(tmp_path):
    source = write(tmp_path / "p.parquet")
    with pytest.raises(DiscreetError, match="another file than the values"):
        privatize_file(source, source, QUESTION, overwrite=True)
    privatize_file(source, tmp_path / "r.parquet", QUESTION)
    before = (tmp_path / "r.parquet").read_bytes()
    with pytest.raises(DiscreetError, match="exists; new reports"):
        privatize_file(source, tmp_path / "r.parquet", QUESTION)
    assert (tmp_path / "r.parquet").read_bytes() == before
    privatize_file(source, tmp_path / "r.parquet", QUESTION, overwrite=True)
    assert (tmp_path / "r.parquet").read_bytes() != before


@pytest.mark.parametrize("made", ["csv", "parquet", "arrow"])
def test_an_error_half_way_leaves_nothing(tmp_path, made, monkeypatch):
    monkeypatch.setattr(formats, "ROWS", 1000)
    values = np.full(5000, 10.0)
    values[4500] = np.inf
    write(tmp_path / "p.parquet", pa.table({"wage": values}))
    out = tmp_path / f"r.{made}"
    with pytest.raises(DomainError, match="row 4500"):
        privatize_file(tmp_path / "p.parquet", out, QUESTION)
    assert os.listdir(tmp_path) == ["p.parquet"]

    def stop(done, total):
        assert total == 5000
        if done >= 2000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        privatize_file(tmp_path / "p.parquet", out, QUESTION, progress=stop)
    assert os.listdir(tmp_path) == ["p.parquet"]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("part", [0.3, 0.9, 0.999])
def test_truncated_files_are_refused(tmp_path, kind, part):
    source, out = write(tmp_path / f"p.{kind}"), tmp_path / f"r.{kind}"
    privatize_file(source, out, QUESTION)
    for path, use in ((out, estimate_file), (source, lambda p: privatize_file(p, tmp_path / "x.csv", QUESTION))):
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * part)])
        with pytest.raises(DiscreetError, match="cut short"):
            use(path)
    assert not (tmp_path / "x.csv").exists()


def test_truncated_and_orphaned_csv_are_refused(tmp_path):
    source, out = write(tmp_path / "p.csv"), tmp_path / "r.csv"
    privatize_file(source, out, QUESTION)
    text = out.read_text()
    out.write_text("\n".join(text.splitlines()[:100]) + "\n")
    with pytest.raises(WireError, match=f"has 99 rows; its document says {PRESENT}"):
        estimate_file(out)
    out.write_text(text)
    assert estimate_file(out)["wage"].n == PRESENT
    (tmp_path / "r.csv.json").unlink()
    with pytest.raises(WireError, match="no document beside it"):
        estimate_file(out)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda t: t.set_column(0, "wage", pa.array([9] * t.num_rows)), "must be between 0 and 1"),
        (lambda t: t.set_column(0, "wage", pa.array([0.5] * t.num_rows)), "whole numbers"),
        (lambda t: t.rename_columns(["pay"]).replace_schema_metadata(t.schema.metadata), "lacks? the column 'wage'"),
        (lambda t: t.replace_schema_metadata(None), "no document"),
        (lambda t: t.replace_schema_metadata({b"discreet": b"{"}), "cannot be read"),
        (lambda t: t.replace_schema_metadata({b"discreet": b'{"discreet-reports": 3}'}), "version 3"),
    ],
)
def test_false_reports_are_refused(tmp_path, change, word):
    reports = change(privatize_frame(PEOPLE, QUESTION))
    with pytest.raises(WireError, match=word):
        estimate_frame(reports)
    pq.write_table(reports, tmp_path / "r.parquet")
    with pytest.raises(WireError, match=word):
        estimate_file(tmp_path / "r.parquet")


def test_a_document_whose_mechanism_exceeds_the_plan_is_refused():
    document = json.loads(privatize_frame(PEOPLE, QUESTION).schema.metadata[b"discreet"])
    other = dc.mechanism("duchi", 5)
    document["rounds"][0]["round"]["channels"][0] |= {"mechanism": other.to_document(), "mechanism_id": other.id}
    with pytest.raises(WireError, match="its plan allows"):
        Reports.from_json(json.dumps(document))


def test_the_mechanism_of_the_document_decodes_the_reports():
    # As if another version had chosen other weights for the same plan: those of the document are right.
    document = json.loads(privatize_frame(PEOPLE, QUESTION).schema.metadata[b"discreet"])
    other = dc.mechanism("duchi", 3.9)
    document["rounds"][0]["round"]["channels"][0] |= {"mechanism": other.to_document(), "mechanism_id": other.id}
    reports = Reports.from_json(json.dumps(document))
    assert reports.histories({})["wage"][0].round.channels[0].mechanism == other
    answers = reports.estimate({"wage": other.tally([0, 1] * 50)})
    assert answers["wage"].value == pytest.approx(50)


def test_other_endings_and_absent_files(tmp_path):
    for call in (lambda: estimate_file(tmp_path / "x.parquet"), lambda: estimate_file()):
        with pytest.raises(DiscreetError, match=r"does not exist|at least one file"):
            call()
    write(tmp_path / "p.parquet")
    with pytest.raises(DiscreetError, match="must end in"):
        privatize_file(tmp_path / "p.parquet", tmp_path / "r.xlsx", QUESTION)
    (tmp_path / "bad.csv").write_text("wage\n1\n2,3\n")
    with pytest.raises(DiscreetError, match=r"bad\.csv, line 3: 2 values where the header has 1 columns"):
        privatize_file(tmp_path / "bad.csv", tmp_path / "r.csv", QUESTION)
    (tmp_path / "text.csv").write_text("wage\n1\nmuch\n")
    with pytest.raises(DiscreetError, match="column 'wage', line 3: not a number"):
        privatize_file(tmp_path / "text.csv", tmp_path / "r.csv", QUESTION)


# -- several channels and rounds --------------------------------------------------------------------------


class TwoRounds(Plan):
    """A made-up plan: a quarter tells which of two mechanisms the rest uses, in two groups."""

    question = "two-rounds"
    method = "test"

    def __init__(self, domain, epsilon, level=0.95):
        super().__init__(epsilon, level)
        self.domain = domain

    def arguments(self):
        return {"domain": self.domain.to_dict(), "epsilon": self.epsilon, "level": self.level}

    def round(self, history):
        if not history:
            return Round(1, (Channel("pilot", dc.mechanism("duchi", self.epsilon), self.domain),), share=0.25)
        if len(history) == 1:
            assert history[0].tally("pilot").n > 0
            wide, fine = dc.mechanism("piecewise", self.epsilon), dc.mechanism("duchi", self.epsilon)
            return Round(2, (Channel("a", wide, self.domain, share=1), Channel("b", fine, self.domain, share=3)))
        return None

    def estimate(self, history):
        return [{key: tally.n for key, tally in part.tallies.items()} for part in history]


def test_rounds_and_channels(tmp_path, monkeypatch):
    monkeypatch.setitem(QUESTIONS, "two-rounds", TwoRounds)
    monkeypatch.setattr(formats, "ROWS", 3000)
    source = write(tmp_path / "p.parquet")
    plan = TwoRounds(WAGE, 4.0)
    for made in ("parquet", "csv", "arrow"):
        out = tmp_path / f"r.{made}"
        summary = privatize_file(source, out, {"wage": plan, "drink": THREE["drink"]}, epsilon=8)
        counted = summary.counted
        assert counted.rows == N
        assert counted.reports == {"wage": PRESENT, "drink": N - 1}
        assert counted.missing == {"wage": N - PRESENT, "drink": 1}
        first, second = estimate_file(out)["wage"]
        assert sum(first.values()) + sum(second.values()) == PRESENT  # everybody is asked in exactly one round
        assert first["pilot"] == pytest.approx(PRESENT / 4, abs=6 * np.sqrt(PRESENT))
        assert second["a"] == pytest.approx(PRESENT * 3 / 16, abs=6 * np.sqrt(PRESENT))
    assert [cell.name for cell in summary.reports.cells] == ["wage/1/pilot", "drink", "wage/2/a", "wage/2/b"]
    frame = privatize_frame(PEOPLE, {"wage": plan})
    assert sum(sum(part.values()) for part in estimate_frame(frame)["wage"]) == PRESENT


@pytest.mark.parametrize(
    "make",
    [
        lambda: dc.Distribution(WAGE, epsilon=2, bins=32, method="hh"),
        pytest.param(lambda: dc.Distribution(WAGE, epsilon=2, bins=32, method="auto"), marks=pytest.mark.slow),
        pytest.param(lambda: dc.Mean(WAGE, epsilon=2, method="aaa"), marks=pytest.mark.slow),
    ],
)
def test_plans_of_several_channels_and_rounds(make):
    plan = make()
    answer = estimate_frame(privatize_frame(PEOPLE, {"wage": plan}))["wage"]
    mean = answer.value if plan.question == "mean" else answer.mean.value
    assert answer.n == PRESENT
    assert mean == pytest.approx(np.clip(PEOPLE.column("wage").drop_null().to_numpy(), 0, 100).mean(), abs=8)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("budget", ["split", "sample"])
def test_a_plan_of_two_rounds_means_the_same_on_every_driver(tmp_path, budget):
    """Simulation, frames and files divide the same people in the same way: by how many there are."""
    people = PEOPLE.slice(0, 600)
    plan = dc.Mean(WAGE, epsilon=2, rounds=2)
    questions = {"wage": plan} | ({"drink": THREE["drink"]} if budget == "sample" else {})
    asked = plan.expecting(600 // len(questions)).round([])
    assert asked.share != plan.round([]).share
    simulated = dc.simulate(plan, np.full(600 // len(questions), 20.0), seed=1)
    assert simulated.details["pilot_reports"] == round(asked.share * (600 // len(questions)))
    frame = privatize_frame(people, questions, budget=budget, epsilon=4)
    pa.csv.write_csv(people, tmp_path / "p.csv")
    privatize_file(tmp_path / "p.csv", tmp_path / "r.parquet", questions, budget=budget, epsilon=4)
    for table in (frame, pq.read_table(tmp_path / "r.parquet")):
        reports = Reports.of_schema(table.schema)
        first = reports.rounds["wage"][0]
        assert first.share == asked.share
        assert first.channels[0].mechanism == asked.channels[0].mechanism
        assert reports.collection.questions["wage"].to_dict() == plan.expecting(600 // len(questions)).to_dict()


# -- the two functions that other engines reuse ----------------------------------------------------------


def test_map_and_merge_in_any_order():
    stage = Collection(THREE, "split", 12).stage()
    parts = list(stage.map_batches(PEOPLE.to_batches(max_chunksize=1500)))
    assert len(parts) == 14
    tallies = [stage.reports.tally_batch(part) for part in parts]
    forward, backward = {}, {}
    for tally in tallies:
        forward = merge(forward, tally)
    for tally in reversed(tallies):
        backward = merge(tally, backward)
    assert forward == backward
    assert forward["wage"].n == PRESENT
    assert isinstance(forward["room"], Tally)
    check_answers(stage.reports.estimate(forward))


def test_a_stage_can_be_sent_to_workers():
    stage = Collection(THREE, "sample", 4).stage()
    sent = pickle.loads(pickle.dumps(stage))
    (reports,) = sent.map_batches(PEOPLE.to_batches())
    assert sum(tally.n for tally in stage.reports.tally_batch(reports).values()) == reports.num_rows
    other = pickle.loads(pickle.dumps(stage))
    assert not next(iter(other.map_batches(PEOPLE.to_batches()))).equals(reports)  # its noise is its own


def test_wider_types_are_read_as_well():
    # Spark widens unsigned integers and makes fixed binaries variable.
    stage = Collection(THREE, "split", 12).stage()
    (batch,) = stage.map_batches(PEOPLE.to_batches())
    wide = pa.record_batch(
        [
            batch.column("wage").cast(pa.int16()),
            batch.column("drink").cast(pa.int64()),
            batch.column("room").cast(pa.binary()),
        ],
        names=batch.schema.names,
    )
    assert stage.reports.tally_batch(wide) == stage.reports.tally_batch(batch)
    short = pa.record_batch([*wide.columns[:2], pa.array([b"x"] * N)], names=batch.schema.names)
    with pytest.raises(WireError, match="9 bytes each"):
        stage.reports.tally_batch(short)


def test_an_empty_file_has_no_answer(tmp_path):
    write(tmp_path / "p.parquet", pa.table({"wage": pa.array([], type=pa.float64())}))
    privatize_file(tmp_path / "p.parquet", tmp_path / "r.parquet", QUESTION)
    with pytest.raises(DiscreetError, match="column 'wage': a mean with its interval needs at least 2 reports"):
        estimate_file(tmp_path / "r.parquet")


# -- several numbers of one person ------------------------------------------------------------------------

ROWS = pa.table(
    {"wage": np.tile([20.0, 60.0], 10_000), "age": np.tile([30.0, 50.0], 10_000), "rate": np.full(20_000, 0.3)}
)
SEVERAL = [dc.Interval(0, 100), dc.Interval(0, 120), dc.Interval(0, 1)]
NAMES = ["wage", "age", "rate"]


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_several_answers_per_person(tmp_path, answers):
    plan = dc.Means(SEVERAL, epsilon=6, answers=answers, names=NAMES, method="duchi")
    pq.write_table(ROWS, tmp_path / "p.parquet")
    summary = privatize_file(tmp_path / "p.parquet", tmp_path / "r.csv", {"person": plan}, entropy=seeded())
    table = pyarrow.csv.read_csv(tmp_path / "r.csv")
    assert table.column_names == [f"person/1/{name}" for name in NAMES]
    each = sum(table.column(name).is_valid().to_numpy().astype(int) for name in table.column_names)
    assert each.min() == each.max() == answers
    answer = estimate_file(tmp_path / "r.csv")["person"]
    assert (answer.n, summary.counted.reports["person"]) == (20_000, 20_000)
    for name, truth, scale in zip(NAMES, (40, 40, 0.3), (100, 120, 1), strict=True):
        assert abs(answer[name].value - truth) < 0.05 * scale
    assert (
        answer[NAMES[0]].value
        == estimate_frame(privatize_frame(ROWS, {"person": plan}, entropy=seeded()))["person"][NAMES[0]].value
    )


def test_several_answers_leave_out_what_is_missing():
    wage = np.where(np.arange(1000) % 10 == 0, np.nan, 20.0)
    data = pa.table({"wage": pa.array(wage, from_pandas=True), "age": np.full(1000, 30.0)})
    plan = dc.Means(SEVERAL[:2], epsilon=2, answers=2, names=NAMES[:2], method="duchi")
    reports = privatize_frame(data, {"person": plan})
    assert reports.num_rows == 1000  # everybody has an age
    assert [reports.column(i).null_count for i in range(2)] == [100, 0]
    with pytest.raises(DomainError, match="column 'wage', row 0: the value is missing"):
        privatize_frame(data, {"person": plan}, missing="error")
    with pytest.raises(DomainError, match="column 'age', row 3: not a finite number"):
        privatize_frame(data.set_column(1, "age", pa.array([1.0, 2, 3, np.inf] * 250)), {"person": plan})
    with pytest.raises(DiscreetError, match="no column 'age'"):
        privatize_frame(data.select(["wage"]), {"person": plan})


def test_a_question_of_several_numbers_beside_others():
    plan = dc.Means(SEVERAL[:2], epsilon=2, answers=1, names=NAMES[:2], method="duchi")
    questions = {
        "person": plan,
        "wage": dc.Mean(WAGE, 2, method="duchi"),
        "rate": dc.Mean(SEVERAL[2], 2, method="duchi"),
    }
    answers = estimate_frame(privatize_frame(ROWS, questions, budget="sample", epsilon=2, entropy=seeded(2)))
    assert abs(sum(answer.n for answer in answers.values()) - 20_000) == 0
    assert abs(answers["wage"].value - 40) < 5
    assert abs(answers["person"]["age"].value - 40) < 6


def test_answers_that_exceed_the_plan_together_are_refused():
    plan = dc.Means(SEVERAL[:2], epsilon=2, answers=2, names=NAMES[:2], method="duchi")
    reports = privatize_frame(ROWS, {"person": plan})
    document = json.loads(reports.schema.metadata[b"discreet"])
    other = dc.mechanism("duchi", 1.5)
    for channel in document["rounds"][0]["round"]["channels"]:
        channel |= {"mechanism": other.to_document(), "mechanism_id": other.id}
    with pytest.raises(WireError, match="epsilon 3 together; its plan allows 2"):
        Reports.from_json(json.dumps(document))


# -- other versions ---------------------------------------------------------------------------------------


def test_a_file_of_version_0_1_is_read(tmp_path):
    old = Path(__file__).parent / "written_by_0_1" / "reports.csv"
    answers = estimate_file(old)
    found = {column: (round(float(a.value), 2), a.n) for column, a in answers.items() if column != "drink"}
    # As 0.1 answered, but for the variance (454.17): it is read off a distribution, which 0.2 estimates better.
    assert found == {"wage": (35.34, 600), "age": (456.49, 600), "range": (42.72, 600)}
    assert answers["drink"].n == 600
    reports, _ = tally_file(old)
    assert Reports.from_json(reports.to_json()).to_json() == reports.to_json()


def test_plans_that_choose_their_mechanism_are_answered_from_the_file(tmp_path):
    # Fresh plans, whose own tables may differ, must not be asked: RangeMean and the adaptive mean among them.
    pq.write_table(ROWS, tmp_path / "p.parquet")
    questions = {
        "wage": dc.RangeMean(WAGE, 10, 50, epsilon=2, mechanism="duchi"),
        "age": dc.Mean(SEVERAL[1], epsilon=2, method="aaa"),
        "rate": dc.RangeMeans(SEVERAL[2], [(0, 0.5), (0.5, 1)], epsilon=2, method="divide", mechanism="duchi"),
    }
    privatize_file(tmp_path / "p.parquet", tmp_path / "r.arrow", questions, epsilon=6, entropy=seeded())
    answers = estimate_file(tmp_path / "r.arrow")
    assert abs(answers["wage"].value - 20) < 3
    assert abs(answers["age"].value - 40) < 5


def test_a_quantile_takes_four_rounds_of_thresholds(tmp_path):
    values = np.arange(20_000) % 1000
    pq.write_table(pa.table({"wage": values, "age": values / 10}), tmp_path / "p.parquet")
    questions = {
        "wage": dc.Quantile(dc.Interval(0, 1000), 0.5, epsilon=2),
        "age": dc.Quantiles(dc.Interval(0, 100), [0.25, 0.75], epsilon=2, step=0.1),
    }
    privatize_file(tmp_path / "p.parquet", tmp_path / "r.parquet", questions, epsilon=4, entropy=seeded())
    answers = estimate_file(tmp_path / "r.parquet")
    assert answers["wage"].details["rounds"] == 4
    assert answers["wage"].n == answers["age"].n == 20_000
    assert abs(answers["wage"].value - 500) < 40
    assert (np.abs(answers["age"].value - [25, 75]) < 6).all()


def test_errors_never_quote_a_value(tmp_path):
    (tmp_path / "p.csv").write_text('name,wage\nann,"58,216"\nbob,7\n')
    with pytest.raises(DomainError, match=r"column 'wage', line 2: not a number .*thousands") as caught:
        privatize_file(tmp_path / "p.csv", tmp_path / "r.csv", QUESTION)
    assert "58" not in str(caught.value)
    (tmp_path / "p.csv").write_text("name,wage\nann,5\nbob,secret\n")
    with pytest.raises(DomainError, match=r"column 'wage', line 3: not a number \(it is text\)$"):
        privatize_file(tmp_path / "p.csv", tmp_path / "r.csv", QUESTION)
    with pytest.raises(DomainError, match="row 1: the value") as caught:
        asked("drink", dc.Frequency(DRINK, 1), data=pa.table({"drink": ["tea", "secret"]}))
    assert "secret" not in str(caught.value)
