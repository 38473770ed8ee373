"""Spark on this machine: everything that files do, and what only a cluster does: retries, partitions, workers."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import discreet as dc
from discreet.drivers.files import estimate_file
from discreet.drivers.frames import privatize_frame as privatize_table
from discreet.drivers.spark import estimate_frame, privatize_frame, reports_of, tally_frame
from discreet.drivers.tables import Cell, Collection
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.plans.base import Channel, Plan, Round
from discreet.plans.registry import QUESTIONS
from discreet.tallies import Tally

pytestmark = pytest.mark.xdist_group("spark")  # one Java for all of them

N = 6000
WAGE = dc.Interval(0, 100)
EXACT = 20.0
"""So large an epsilon that reports are the values (one in 10^8 is not): whatever is lost or counted twice is seen."""
MEAN = {"wage": dc.Mean(WAGE, epsilon=4, method="duchi")}
THREE = {
    "wage": dc.Mean(WAGE, epsilon=4, method="piecewise"),
    "drink": dc.Frequency(dc.Categories(["tea", "coffee"]), epsilon=4, method="randomized-response"),
    "room": dc.Frequency(dc.Categories(range(70)), epsilon=4, method="optimized-unary"),
}
TWO_ROUNDS = {"wage": dc.Variance(WAGE, epsilon=4, method="two-round")}
CELL = {"cell": dc.Frequency(dc.Categories(range(4)), epsilon=EXACT, method="randomized-response")}


@pytest.fixture(scope="session")
def people(spark):
    """Wages with nulls and NaN, a category, an integer; and a cell, of which each of four values comes as often."""
    wage = F.when(F.col("id") % 50 == 0, None).when(F.col("id") % 50 == 1, float("nan"))
    return spark.range(0, N, 1, 4).select(
        "id",
        wage.otherwise((F.col("id") % 100).cast("double")).alias("wage"),
        F.when(F.col("id") % 3 == 0, "tea").otherwise("coffee").alias("drink"),
        (F.col("id") % 70).cast("int").alias("room"),
        (F.col("id") % 4).cast("int").alias("cell"),
        F.lit("secret").alias("name"),
    )


PRESENT = N - 2 * N // 50


def assert_everybody_once(tally):
    assert tally.n == N
    assert tally.counts == pytest.approx([N / 4] * 4, abs=1)


def fails_once(batches):
    """Let the first attempt of every task fail after its rows have been handed on."""
    from pyspark import TaskContext

    yield from batches
    if TaskContext.get().attemptNumber() == 0:
        raise OSError("a machine was lost")


def test_values_in_reports_out_and_back(people, tmp_path):
    out = str(tmp_path / "reports")
    reports = privatize_frame(people, THREE, out, epsilon=12)
    assert [(f.name, f.dataType.simpleString()) for f in reports.schema.fields] == [
        ("wage", "smallint"),
        ("drink", "tinyint"),
        ("room", "binary"),
    ]
    answers = estimate_frame(reports)
    assert {column: answer.n for column, answer in answers.items()} == {"wage": PRESENT, "drink": N, "room": N}
    assert answers["wage"].value == pytest.approx(50.5, abs=6 * answers["wage"].details["standard_error"])
    assert answers["drink"]["tea"]["raw"] == pytest.approx(1 / 3, abs=0.05)
    # The same reports, whoever counts them: nothing is drawn again.
    assert estimate_frame(reports)["wage"].value == answers["wage"].value
    assert estimate_file(out)["wage"].to_dict() == answers["wage"].to_dict()
    assert estimate_file(out)["room"].to_dict() == answers["room"].to_dict()


def test_groups_public_and_secret(people, tmp_path):
    drinks, cells = dc.Categories(["tea", "coffee", "water"]), dc.Categories(range(4))
    wages = dc.Mean(dc.Interval(0, 100), epsilon=4, method="duchi")
    plans = {
        "public": dc.Groups(wages, by=drinks, name="drink"),
        "secret": dc.Groups(dc.Mean(dc.Interval(0, 100), epsilon=4), by=drinks, private=True, name="drink"),
    }
    for kind, plan in plans.items():
        reports = privatize_frame(people, {"wage": plan}, str(tmp_path / kind))
        answer = estimate_frame(reports)["wage"]
        if kind == "public":
            tea = sum(i % 3 == 0 and i % 50 > 1 for i in range(N))
            assert {label: one.n for label, one in answer.groups.items()} == {"tea": tea, "coffee": PRESENT - tea}
            assert list(answer.too_few) == ["water"]
        for label in ("tea", "coffee"):
            error = answer[label].details["standard_error"]
            assert answer[label].value == pytest.approx(50.5, abs=7 * error)
        assert estimate_file(str(tmp_path / kind))["wage"].to_dict() == answer.to_dict()
    table = dc.CrossTable(drinks, cells, epsilon=4, names=("drink", "cell"))
    found = estimate_frame(privatize_frame(people, {"table": table}, str(tmp_path / "table")))["table"]
    assert found.n == N
    assert abs(found.rows["tea"]["raw"] - 1 / 3) < 7 * found.rows["tea"]["standard_error"]


def test_what_the_document_survives(spark, people, tmp_path):
    made = privatize_frame(people, MEAN, str(tmp_path / "a"))
    tally = tally_frame(made)["wage"]
    read = spark.read.parquet(str(tmp_path / "a"))
    assert tally_frame(read)["wage"] == tally
    made.repartition(3).write.parquet(str(tmp_path / "b"))
    assert tally_frame(spark.read.parquet(str(tmp_path / "b")))["wage"] == tally
    assert estimate_file(tmp_path / "b")["wage"].n == tally.n
    assert tally_frame(read.union(read).filter("wage >= 0"))["wage"] == tally + tally
    lost = read.select((F.col("wage") + 0).alias("wage"))  # an expression is a new column
    with pytest.raises(WireError, match="no column's metadata has a document"):
        estimate_frame(lost)
    assert tally_frame(lost, reports_of(read).to_json())["wage"] == tally
    orc = privatize_frame(people, MEAN, str(tmp_path / "orc"), format="orc")  # keeps no metadata, the frame does
    assert estimate_frame(orc)["wage"].n == tally.n
    plain = spark.read.orc(str(tmp_path / "orc"))
    assert estimate_frame(plain, reports_of(orc))["wage"].n == tally.n
    with pytest.raises(WireError, match="metadata"):
        reports_of(plain)


def test_each_person_answers_one_of_three(people, tmp_path):
    reports = privatize_frame(people, THREE, str(tmp_path / "r"), budget="sample", epsilon=4)
    answered = sum(F.col(name).isNotNull().cast("int") for name in reports.columns)
    assert [row[0] for row in reports.select(answered.alias("n")).distinct().collect()] == [1]
    assert all(abs(tally.n - N / 3) < 6 * (N * 2 / 9) ** 0.5 for tally in tally_frame(reports).values())


def test_reports_of_devices_are_counted_by_mechanism(spark):
    mechanism = dc.mechanism("piecewise", 1)
    reports = mechanism.privatize([0.1] * 500)
    numbers = spark.createDataFrame(pa.table({"report": pa.array(reports.astype("int64"))}))
    assert tally_frame(numbers, {"report": mechanism})["report"] == mechanism.tally(reports)
    unary = dc.mechanism("optimized-unary", 1, size=20)
    bits = unary.privatize([3] * 200)
    packed, width = unary.pack(bits), unary.report_bytes
    rows = pa.array([packed[i : i + width] for i in range(0, len(packed), width)])
    assert tally_frame(spark.createDataFrame(pa.table({"report": rows})), {"report": unary})["report"] == unary.tally(
        bits
    )


def test_files_that_spark_did_not_write(spark, tmp_path):
    stage = Collection(THREE, epsilon=12).stage()
    rows = {"wage": [50.0] * 300, "drink": ["tea"] * 300, "room": [7] * 300}
    reports = privatize_table(pa.table(rows), THREE, epsilon=12)
    pq.write_table(reports, tmp_path / "r.parquet")
    frame = spark.read.parquet(str(tmp_path / "r.parquet"))  # unsigned integers come wider, and signed
    assert tally_frame(frame, stage.reports) == stage.reports.tally_batch(reports.combine_chunks().to_batches()[0])


def test_the_page_about_scale(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    at_home = code.replace('"people-*', f'"{tmp_path}/people-*').replace('"reports")', f'"{tmp_path}/reports")')
    exec(compile(at_home, "scale.md", "exec"), {})  # Java does not follow us into the folder


def test_several_answers_per_person(people, tmp_path):
    names = ["wage", "room", "cell"]
    domains = [WAGE, dc.Interval(0, 70), dc.Interval(0, 4)]
    plan = dc.Means(domains, epsilon=16, answers=2, names=names, method="duchi")
    reports = privatize_frame(people, {"person": plan}, str(tmp_path / "r"))
    assert reports.columns == [f"person/1/{name}" for name in names]
    answer = estimate_frame(reports)["person"]
    assert abs(answer["cell"].value - 1.5) < 0.2
    assert abs(answer["room"].value - 34.4) < 3
    assert estimate_file(tmp_path / "r")["person"]["room"].value == answer["room"].value


# -- retries ----------------------------------------------------------------------------------------------


def test_a_partition_that_is_tried_again_is_written_once(people, tmp_path):
    frame = people.mapInArrow(fails_once, people.schema)
    reports = privatize_frame(frame, CELL, str(tmp_path / "r"))
    assert_everybody_once(tally_frame(reports)["cell"])


def test_a_partition_that_is_tried_again_is_counted_once(people, tmp_path):
    reports = privatize_frame(people, CELL, str(tmp_path / "r"))
    again = reports.mapInArrow(fails_once, reports.schema)
    assert_everybody_once(tally_frame(again, reports_of(reports))["cell"])


def test_large_states_are_merged_by_workers(people, tmp_path, monkeypatch):
    reports = privatize_frame(people, CELL, str(tmp_path / "r")).repartition(40)
    plain = tally_frame(reports)["cell"]
    monkeypatch.setattr("discreet.drivers.spark._LARGE_STATE", 0)
    assert tally_frame(reports)["cell"] == plain


# -- several rounds ---------------------------------------------------------------------------------------


class Halves(Plan):
    """Made up: a quarter of the people answer first, the others in two groups; all reports are the values."""

    question = "halves"
    method = "test"

    def __init__(self, domain, epsilon, level=0.95):
        super().__init__(epsilon, level)
        self.domain = domain

    def arguments(self):
        return {"domain": self.domain.to_dict(), "epsilon": self.epsilon, "level": self.level}

    def round(self, history):
        exact = dc.mechanism("randomized-response", self.epsilon, size=self.domain.size)
        if not history:
            return Round(1, (Channel("pilot", exact, self.domain),), share=0.25)
        if len(history) == 1:
            assert history[0].tally("pilot").n > 0
            return Round(2, (Channel("a", exact, self.domain, share=1), Channel("b", exact, self.domain, share=3)))
        return None

    def estimate(self, history):
        return [dict(part.tallies) for part in history]


@pytest.mark.parametrize("person", ["id", None])
def test_everybody_answers_in_exactly_one_round(people, tmp_path, monkeypatch, person):
    monkeypatch.setitem(QUESTIONS, "halves", Halves)
    plan = Halves(CELL["cell"].domain, EXACT)
    # Rows in another order at every pass, and each task fails once.
    frame = people.orderBy(F.rand()).mapInArrow(fails_once, people.schema)
    reports = privatize_frame(frame, {"cell": plan}, str(tmp_path / "r"), person=person)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]  # no spool is left
    assert reports.columns == ["cell/1/pilot", "cell/2/a", "cell/2/b"]
    first, second = estimate_frame(reports)["cell"]
    parts = [tally.counts for tally in (first["pilot"], second["a"], second["b"])]
    assert_everybody_once(Tally("all", sum(int(part.sum()) for part in parts), sum(parts)))
    for counts, share in zip(parts, (1 / 4, 3 / 16, 9 / 16), strict=True):
        assert abs(counts.sum() - share * N) < 6 * (N * share * (1 - share)) ** 0.5
    assert estimate_file(tmp_path / "r")["cell"] == [first, second]


def test_two_rounds_of_a_real_plan(people, tmp_path):
    answer = estimate_frame(privatize_frame(people, TWO_ROUNDS, str(tmp_path / "r")))["wage"]
    assert answer.n == PRESENT
    assert answer.value == pytest.approx(833, rel=0.3)


@pytest.mark.slow
def test_a_quantile_in_two_rounds(people, tmp_path):
    plan = dc.Quantile(WAGE, 0.5, epsilon=4, rounds=2)
    answer = estimate_frame(privatize_frame(people, {"wage": plan}, str(tmp_path / "r")))["wage"]
    held = np.array([row["wage"] for row in people.select("wage").collect() if row["wage"] is not None])
    assert answer.n == PRESENT
    assert answer.details["rounds"] == 2
    assert np.mean(held <= answer.value) == pytest.approx(0.5, abs=0.12)


@pytest.mark.slow
def test_a_mean_in_two_rounds_divides_people_as_every_driver_does(people, tmp_path):
    plan = dc.Mean(WAGE, epsilon=2, rounds=2)
    made = privatize_frame(people, {"wage": plan}, str(tmp_path / "r"))
    assert reports_of(made).collection.questions["wage"].to_dict() == plan.expecting(people.count()).to_dict()
    assert estimate_frame(made)["wage"].n == PRESENT


def test_a_cluster_must_be_able_to_tell_people_apart(people, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.drivers.spark.is_local", lambda context: False)
    with pytest.raises(DiscreetError, match="name the column that tells people apart, or call setCheckpointDir"):
        privatize_frame(people, TWO_ROUNDS, str(tmp_path / "r"))


# -- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "questions", "options", "kind", "sentence"),
    [
        (lambda f: f, {"wages": MEAN["wage"]}, {}, DiscreetError, "no column 'wages'; the columns are id, wage, drink"),
        (
            lambda f: f,
            {"name": MEAN["wage"]},
            {},
            DomainError,
            "column 'name' must hold numbers for mean",
        ),
        (lambda f: f.withColumn("wage", F.array("wage")), MEAN, {}, DomainError, "type array<double>"),
        (lambda f: f.select("*", "wage"), MEAN, {}, DiscreetError, "column 'wage' is there 2 times"),
        (
            lambda f: f.withColumn("wage", F.lit(float("inf"))),
            MEAN,
            {},
            DomainError,
            r"partition \d+, column 'wage'.*not a finite number",
        ),
        (lambda f: f, MEAN, {"missing": "error"}, DomainError, r"partition \d+, column 'wage', row \d+: the value is"),
        (lambda f: f, MEAN, {"missing": "keep"}, DiscreetError, "missing must be drop or error"),
        (
            lambda f: f,
            {"drink": dc.Frequency(dc.Categories(["tea", "milk"]), 1)},
            {},
            DomainError,
            r"row \d+: the value .*is not one",
        ),
        (
            lambda f: f.withColumn("who", F.lit(None).cast("string")),
            MEAN,
            {"person": "whom"},
            DiscreetError,
            "no column 'whom'",
        ),
        (
            lambda f: f.withColumn("who", F.lit(None).cast("string")),
            TWO_ROUNDS,
            {"person": "who"},
            DomainError,
            "person is null",
        ),
        (lambda f: [1], MEAN, {}, DiscreetError, "not a list"),
    ],
)
def test_bad_input_is_one_sentence_on_the_driver(people, tmp_path, change, questions, options, kind, sentence):
    with pytest.raises(kind, match=sentence) as caught:
        privatize_frame(
            change(people if "finite" in sentence else people.coalesce(1)), questions, str(tmp_path / "r"), **options
        )
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []  # and nothing is left


def test_reports_are_never_written_twice(people, tmp_path):
    for questions in (MEAN, TWO_ROUNDS):
        (tmp_path / "r").mkdir(exist_ok=True)
        with pytest.raises(DiscreetError, match="exists; new reports would spend the budget again"):
            privatize_frame(people, questions, str(tmp_path / "r"))
    with pytest.raises(DiscreetError, match="nope"):
        privatize_frame(people, MEAN, str(tmp_path / "r"), format="nope")
    assert (tmp_path / "r").exists()  # what was there before stays, whatever fails
    with pytest.raises(DiscreetError, match=r"(?i)ambiguous"):
        privatize_frame(people.select("*", F.lit(2.0).alias("WAGE")), MEAN, str(tmp_path / "s"))
    with pytest.raises(DiscreetError, match="out must be a folder"):
        privatize_frame(people, MEAN, "")


def test_false_reports_are_refused(spark, people, tmp_path):
    reports = privatize_frame(people.coalesce(1), MEAN, str(tmp_path / "r"))
    document = reports_of(reports)
    for change in (F.lit(-1), F.lit(2), F.lit(1 << 40)):
        with pytest.raises(WireError, match=r"column 'wage': report 0 must be between 0 and 1"):
            estimate_frame(reports.withColumn("wage", change), document)
    with pytest.raises(WireError, match=r"of type string|whole numbers"):
        estimate_frame(reports.withColumn("wage", F.lit("1")), document)
    with pytest.raises(WireError, match="lack the column 'wage'"):
        estimate_frame(reports.drop("wage"), document)
    with pytest.raises(DiscreetError, match="column 'wage': a mean with its interval needs at least 2 reports"):
        estimate_frame(reports.filter("wage > 5"))


def test_alphabets_that_no_signed_integer_holds_are_refused():
    huge = SimpleNamespace(name="huge", alphabet=(1 << 63) + 1, _empty=dc.mechanism("duchi", 1)._empty)
    with pytest.raises(DiscreetError, match=r"column 'x': signed integers hold at most 9223372036854775808"):
        _ = Cell("x", "x", 1, "all", huge).signed_type
    for alphabet, kind in ((128, "int8"), (129, "int16"), (1 << 31, "int32"), (1 << 63, "int64")):
        huge.alphabet = alphabet
        assert str(Cell("x", "x", 1, "all", huge).signed_type) == kind


def test_without_pyspark_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("discreet.extras.has", lambda module: False)
    with pytest.raises(DiscreetError, match=r"discreet\[spark\]"):
        tally_frame(object())


# -- randomness -------------------------------------------------------------------------------------------


def test_no_two_workers_share_a_stream(spark):
    def keystream(batches):
        import os

        import pyarrow as pa

        from discreet.privacy.entropy import system_entropy

        for batch in batches:
            words = system_entropy().words(2 * batch.num_rows)
            blocks = [words[i : i + 2].tobytes() for i in range(0, len(words), 2)]
            yield pa.record_batch([pa.array([os.getpid()] * batch.num_rows), pa.array(blocks)], names=["pid", "block"])

    rows = spark.range(0, 20_000, 1, 40).mapInArrow(keystream, "pid long, block binary").collect()
    assert len({row.pid for row in rows}) > 1
    assert len({bytes(row.block) for row in rows}) == 20_000


def test_ten_thousand_states_are_merged_exactly():
    from discreet.drivers.spark.workers import merge_states, merged, state

    mechanism = dc.mechanism("randomized-response", 1, size=5)
    odd = (1 << 53) - 1  # beyond what floating-point numbers add
    one = Tally(mechanism.id, 15, mechanism.tally([0] * 5 + [1] * 4 + [2] * 3 + [3] * 2 + [4]).counts)
    large = Tally(mechanism.id, odd, mechanism.tally([0]).counts * odd)
    states = [state({"a": one, "b": large if i < 500 else one}) for i in range(10_000)]
    (one_state,) = merge_states(states)
    found = merged(zip(*one_state.to_pydict().values(), strict=True))
    assert found["a"].counts.tolist() == [50_000, 40_000, 30_000, 20_000, 10_000]
    assert found["b"].counts.tolist() == [500 * odd + 47_500, 38_000, 28_500, 19_000, 9_500]
    assert found["b"].n == 500 * odd + 9_500 * 15


PLANTED = """
from pyspark.sql import SparkSession
import discreet as dc
from discreet.drivers.spark import privatize_frame

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("WARN")
people = session.createDataFrame([("flu",), ("HIV-41873",)], ["illness"])
try:
    privatize_frame(people, {"illness": dc.Frequency(dc.Categories(["flu", "cold"]), 1)}, OUT)
except dc.DiscreetError as error:
    print("refused:", error)
"""


def test_the_log_of_a_failed_job_repeats_no_value(spark, tmp_path):
    """A log with everything that Spark says of its tasks; ``spark`` is only here to skip where there is none."""
    script = f"OUT = {str(tmp_path / 'reports')!r}\n" + PLANTED
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240)
    assert "refused: " in done.stdout
    assert "Traceback" in done.stderr  # the log is really there
    assert "HIV" not in done.stdout + done.stderr
    assert "41873" not in done.stdout + done.stderr
