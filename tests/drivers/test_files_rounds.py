"""Files and frames of plans with several channels and rounds, and of several numbers of one person."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.drivers.people import (
    NAMES,
    PEOPLE,
    PRESENT,
    ROWS,
    SEVERAL,
    THREE,
    WAGE,
    N,
    seeded,
    write,
)

import discreet as dc
from discreet.drivers.files import estimate_file, formats, privatize_file
from discreet.drivers.frames import estimate_frame, privatize_frame
from discreet.drivers.tables import Reports
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.plans.base import Channel, Plan, Round
from discreet.plans.registry import QUESTIONS


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


# -- several numbers of one person ------------------------------------------------------------------------


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
