import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.pooling import pool, posterior
from discreet.messages.rounds import announce, read_announcement, read_round, write_round
from discreet.plans.base import Answered
from discreet.plans.registry import read_plan
from discreet.plans.rows import Labelled

REFERENCE = json.loads((Path(__file__).parent.parent / "groups_reference.json").read_text())
WAGE = dc.Interval(0, 100)
STATES = dc.Categories(["Ohio", "Utah", "Iowa"])
MEAN = dc.Mean(WAGE, epsilon=1, method="duchi")


def rows(sizes, values):
    return [(label, value) for label, n, value in zip(STATES.labels, sizes, values, strict=True) for _ in range(n)]


# -- every kind of question ------------------------------------------------------------------------------------

PLANS = {
    "mean": (MEAN, [20.0, 50.0, 80.0]),
    "frequency": (dc.Frequency(dc.Categories(["x", "y"]), epsilon=2), ["x", "y", "x"]),
    "means": (dc.Means([WAGE, WAGE], epsilon=2, answers=2, method="duchi"), [[20, 50], [50, 50], [80, 10]]),
    "range-mean": (dc.RangeMean(WAGE, 10, 90, epsilon=2), [20.0, 50.0, 80.0]),
    "two-round": (dc.Variance(WAGE, epsilon=2, method="two-round", mechanism="duchi"), [20.0, 50.0, 80.0]),
    "pilot": (dc.Mean(WAGE, epsilon=2, method="aaa", pilot="minimax"), [20.0, 50.0, 80.0]),
}


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("name", PLANS)
def test_every_kind_of_question_is_answered_by_group(name):
    inner, values = PLANS[name]
    plan = dc.Groups(inner, by=STATES)
    again = read_plan(json.loads(json.dumps(plan.to_dict())))
    assert again.to_dict() == plan.to_dict()
    answer = dc.simulate(plan, rows([3000, 2000, 1000], values), seed=1)
    assert list(answer) == ["Ohio", "Utah", "Iowa"]
    assert [one.n for one in answer.groups.values()] == [3000, 2000, 1000]
    assert answer.n == 6000
    assert answer.question.endswith(" by group")
    alone = dc.simulate(inner, [values[1]] * 2000, seed=1)
    assert type(answer["Utah"]) is type(alone)
    assert json.loads(json.dumps(answer.to_dict()))["n"] == 6000
    assert {row["group"] for row in answer.rows()} == set(STATES.labels)
    assert "Ohio" in answer._repr_html_()
    if name in ("mean", "pilot"):
        assert all(
            one.interval[0] - 5 < v < one.interval[1] + 5 for one, v in zip(answer.groups.values(), values, strict=True)
        )
        assert answer.differ().p_value < 1e-6


@pytest.mark.needs("scipy")
def test_distributions_by_group_are_tested_in_four_cells():
    rng = np.random.default_rng(1)
    plan = dc.Groups(dc.Distribution(WAGE, epsilon=2, bins=32, method="square-wave-ems"), by=STATES)
    data = [("Ohio", x) for x in 100 * rng.beta(2, 5, 9000)] + [("Utah", x) for x in 100 * rng.beta(5, 2, 9000)]
    answer = dc.simulate(plan, data, seed=1)
    assert answer.differ().degrees == 3
    assert answer.differ().p_value < 1e-6
    assert list(answer.too_few) == ["Iowa"]


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(
    "name", ["mean", "means", *(pytest.param(one, marks=pytest.mark.slow) for one in ("variance", "distribution"))]
)
def test_a_range_is_learnt_from_all_groups_together(name):
    wide = dc.Interval(0, 1_000_000)
    inner = {
        "mean": dc.Mean(wide, 2.0, method="duchi", range="learn"),
        "means": dc.Means([wide, wide], 4.0, range="learn"),
        "variance": dc.Variance(wide, 4.0, range="learn"),
        "distribution": dc.Distribution(wide, 4.0, bins=16, method="square-wave-ems", range="learn"),
    }[name]
    rng = np.random.default_rng(2)
    numbers = [(label, mean * rng.gamma(4, 0.25)) for label, mean in zip(STATES.labels, (1e3, 2e3, 3e3), strict=True)
               for _ in range(3000)]  # fmt: skip
    rows = [(label, [x, x / 2]) for label, x in numbers] if name == "means" else numbers
    plan = read_plan(json.loads(json.dumps(dc.Groups(inner, by=STATES).to_dict())))
    answer = dc.simulate(plan, rows, seed=1)
    found = answer["Iowa"].named()[0][1] if name == "means" else answer["Iowa"]
    assert found.details["is_range_learnt"]
    assert found.details["range"][1] < 100_000  # a tenth of the limits, at most
    ones = [one.named()[0][1] if name == "means" else one for one in answer.groups.values()]
    assert len({str(one.details["range"]) for one in ones}) == 1  # one range for all, so that groups can be compared
    assert answer.differ().p_value < 1e-6 or name == "variance"


def test_groups_learn_one_range_together():
    mean = dc.Mean(dc.Interval(0, 100_000), epsilon=4, range="learn")
    plan = read_plan(json.loads(json.dumps(dc.Groups(mean, by=STATES).to_dict())))
    spread = -100 * np.log(1 - (np.arange(9000) + 0.5) / 9000)
    values = np.random.default_rng(1).permutation(spread)
    answer = dc.simulate(plan, list(zip(np.tile(["Ohio", "Utah", "Iowa"], 3000), values, strict=True)), seed=1)
    ranges = {tuple(one.details["range"]) for one in answer.groups.values()}
    assert len(ranges) == 1
    assert ranges.pop()[1] < 5000
    for name in ("Ohio", "Utah", "Iowa"):
        assert abs(answer[name].value - 100) < 30


# -- groups and their reports ----------------------------------------------------------------------------------


def test_a_group_gets_what_its_own_reports_say():
    plan = dc.Groups(MEAN, by=STATES)
    asked = plan.round([])
    assert [channel.key for channel in asked.channels] == ["Ohio/all", "Utah/all", "Iowa/all"]
    assert len({channel.mechanism.id for channel in asked.channels}) == 1
    random = np.random.default_rng(3)
    tallies = {
        c.key: c.mechanism.draw_tally([x], [1.0], 5000, random)
        for c, x in zip(asked.channels, (-0.5, 0, 0.5), strict=True)
    }
    answer = plan.estimate([Answered(asked, tallies)])
    single = MEAN.round([])
    for label in STATES.labels:
        alone = MEAN.estimate([Answered(single, {"all": tallies[f"{label}/all"]})])
        assert answer[label].to_dict() == alone.to_dict()
    halves = [
        {k: c.mechanism.draw_tally([0.1], [1], 400, random) for k, c in zip(tallies, asked.channels, strict=True)}
        for _ in range(2)
    ]
    merged = {key: halves[0][key] + halves[1][key] for key in tallies}
    assert plan.estimate([Answered(asked, merged)])["Utah"].n == 800


@pytest.mark.needs("scipy")
def test_later_rounds_are_planned_from_all_groups_and_an_empty_one_stops_nothing():
    plan = dc.Groups(dc.Variance(WAGE, epsilon=2, method="two-round", mechanism="duchi"), by=STATES)
    answer = dc.simulate(plan, rows([4000, 4000, 0], [20.0, 80.0, 0.0]), seed=1)
    assert answer["Ohio"].details["centre"] == answer["Utah"].details["centre"]
    assert 40 < answer["Ohio"].details["centre"] < 60
    assert list(answer.too_few) == ["Iowa"]


def test_empty_groups_and_groups_of_one_are_listed_without_an_answer():
    plan = dc.Groups(MEAN, by=STATES)
    answer = dc.simulate(plan, rows([1000, 1, 0], [20.0, 50.0, 0.0]), seed=1)
    assert list(answer.groups) == ["Ohio"]
    assert list(answer.too_few) == ["Utah", "Iowa"]
    assert [row["n"] for row in answer.rows()] == [1000, 1, 0]
    assert [row["value"] is None for row in answer.rows()] == [False, True, True]
    assert answer.cells()[-1] == ("Iowa", "too few reports", "")
    with pytest.raises(dc.DiscreetError, match=r"group 'Utah' has no answer: .* at least 2 reports, not 1"):
        answer["Utah"]
    with pytest.raises(dc.DiscreetError, match="at least 2"):
        answer.differ()
    with pytest.raises(dc.DiscreetError, match="no group has an answer"):
        dc.simulate(plan, rows([1, 1, 1], [20.0, 50.0, 0.0]), seed=1)


def test_an_unknown_label_is_refused_by_its_row_and_not_repeated():
    with pytest.raises(dc.DomainError, match="row 1: the label must be one of the 3 groups") as caught:
        dc.simulate(dc.Groups(MEAN, by=STATES), [("Ohio", 1.0), ("Atlantis", 2.0)], seed=1)
    assert "Atlantis" not in str(caught.value)
    with pytest.raises(dc.DomainError, match="row 0 must be a pair"):
        dc.simulate(dc.Groups(MEAN, by=STATES), [3.0, 4.0], seed=1)
    answer = dc.simulate(dc.Groups(MEAN, by=STATES), rows([500, 500, 500], [1.0, 2.0, 3.0]), seed=1)
    with pytest.raises(dc.DiscreetError, match="not 'Atlantis'"):
        answer["Atlantis"]


def test_a_group_that_appears_later_has_no_reports_in_earlier_rounds():
    asked = dc.Groups(MEAN, by=dc.Categories(["Ohio", "Utah"])).round([])
    random = np.random.default_rng(1)
    tallies = {c.key: c.mechanism.draw_tally([0.0], [1.0], 500, random) for c in asked.channels}
    answer = dc.Groups(MEAN, by=STATES).estimate([Answered(asked, tallies)])
    assert list(answer.groups) == ["Ohio", "Utah"]
    assert list(answer.too_few) == ["Iowa"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((dc.Groups(MEAN, by=STATES), STATES), "plan must be a question"),
        ((MEAN, "ab"), "by must be of type Categories, or a list"),
        ((MEAN, dc.Categories([1, "1"])), "differ as texts"),
    ],
)
def test_what_cannot_be_grouped_is_refused(arguments, message):
    with pytest.raises(dc.DiscreetError, match=message):
        dc.Groups(*arguments)
    with pytest.raises(dc.DiscreetError, match="name must be"):
        dc.Groups(MEAN, by=STATES, name="")


def test_groups_of_any_size_are_simulated_from_their_laws():
    plan = dc.Groups(MEAN, by=STATES)
    values = [("Ohio", 20.0), ("Ohio", 40.0), ("Utah", 70.0)]
    answer = dc.simulate(plan, values, seed=1, people=10**9, weights=[1, 1, 2])
    assert abs(answer["Ohio"].value - 30) < 0.1
    assert abs(answer["Utah"].value - 70) < 0.1
    assert abs(answer["Ohio"].n - 5 * 10**8) < 10**6
    assert list(answer.too_few) == ["Iowa"]


# -- pooling, comparing, all groups at once --------------------------------------------------------------------


def test_pooling_is_the_reference():
    known = REFERENCE["pooled"]
    means, _, _ = posterior(np.array(known["y"]), np.array(known["v"]))
    assert np.abs(means - known["mean"]).max() < 1e-6


def test_pooled_intervals_cover_and_are_closer():
    rng = np.random.default_rng(2)
    covered, raw, pooled = [], [], []
    for _ in range(200):
        truth = 0.5 * rng.normal(size=51)
        y = truth + rng.normal(size=51)
        means, errors, _ = pool(y, np.ones(51))
        covered.append(np.abs(means - truth) < 1.96 * errors)
        raw.append(np.square(y - truth).mean())
        pooled.append(np.square(means - truth).mean())
    assert np.mean(covered) >= 0.94
    assert np.sqrt(np.mean(pooled) / np.mean(raw)) < 0.55


def test_a_group_far_from_the_others_is_left_alone():
    rng = np.random.default_rng(3)
    y = rng.normal(size=51)
    y[7] = 8.0
    means, errors, alone = pool(y, np.ones(51))
    assert alone.nonzero()[0].tolist() == [7]
    assert (means[7], errors[7]) == (8.0, 1.0)
    few, _, _ = pool([1.0, 5.0, 9.0], [1.0, 1.0, 1.0])
    assert few.tolist() == [1.0, 5.0, 9.0]


def test_raw_and_pooled_values_stand_side_by_side_and_only_raw_ones_are_tested():
    labels = dc.Categories([f"g{i}" for i in range(8)])
    plan = dc.Groups(MEAN, by=labels)
    data = [(label, 40.0 + 2 * i) for i, label in enumerate(labels.labels) for _ in range(400)]
    answer = dc.simulate(plan, data, seed=1)
    row = answer.rows()[0]
    assert row["pooled"] == answer.pooled["g0"].value != row["value"] == answer["g0"].value
    assert np.std([one.value for one in answer.pooled.values()]) < np.std(answer.value)
    with pytest.raises(dc.DiscreetError, match="pooled values"):
        dc.compare(answer.pooled["g0"], answer.pooled["g1"])
    wide = answer.simultaneous()
    assert (np.ptp(wide.interval, axis=1) > np.ptp(answer.interval, axis=1) * 1.3).all()
    pairs = answer.compare()
    assert len(pairs) == 28
    assert pairs.p_value == answer.differ().p_value
    one = answer.compare("g0", "g7")
    assert one.value == answer["g0"].value - answer["g7"].value
    assert pairs["g0 – g7"].margin > one.margin


# -- documents -------------------------------------------------------------------------------------------------


def test_a_round_by_groups_lists_the_channels_of_one_group():
    asked = dc.Groups(dc.Means([WAGE, WAGE], epsilon=1, answers=2, method="duchi"), by=STATES).round([])
    document = json.loads(json.dumps(write_round(asked)))
    assert len(document["channels"]) == len(document["thresholds"]) == 2  # all groups are asked alike
    assert document["width"] == 4  # two bytes for the group, one for each answer
    again = read_round(document)
    assert again.by == STATES
    assert [c.key for c in again.channels] == [c.key for c in asked.channels]
    assert [c.key for c in again.answered(3)] == ["Utah/1", "Utah/0"]
    announced = read_announcement(json.dumps(announce(document, b"x" * 16, "open", 1.0)))
    assert announced.round.by == STATES
    for by, message in [
        ({"labels": ["a"]}, "by must hold the labels"),
        ({"low": 0, "high": 1}, "at most 4096 public groups"),
        ({"labels": list(range(5000))}, "at most 4096 public groups"),
        ({"labels": ["1", 1]}, "differ as texts"),
    ]:
        with pytest.raises(dc.WireError, match=message):
            read_round(document | {"by": by})
    with pytest.raises(dc.WireError, match="answers must be a whole number from 1 to 2"):
        read_round(document | {"answers": 3})
    with pytest.raises(dc.WireError, match="width must be 4"):
        read_round(document | {"width": 2})


def test_rows_are_cut_with_their_labels():
    held = Labelled(np.array([0, 1, 2]), np.array([1.0, 2.0, 3.0]))
    assert len(held[np.array([True, False, True])]) == 2
    assert held[1:].values.tolist() == [2.0, 3.0]


# -- files and frames ------------------------------------------------------------------------------------------


@pytest.mark.needs("pyarrow")
def test_files_and_frames_keep_the_public_group_and_nothing_else(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "wage": np.concatenate([np.full(3000, 20.0), np.full(3000, 60.0)]),
            "state": ["Ohio"] * 3000 + ["Utah"] * 2999 + [None],
            "name": "secret",
        }
    ).iloc[rng.permutation(6000)]
    plan = dc.Groups(MEAN, by=STATES, name="state")
    reports = dc.privatize_frame(people, {"wage": plan}, entropy=dc.Entropy.seeded(1))
    assert list(reports.columns) == ["wage/1/Ohio/all", "wage/1/Utah/all", "wage/1/Iowa/all"]
    assert reports.notna().sum(axis=1).eq(1).all()
    answer = dc.estimate_frame(reports)["wage"]
    assert (answer["Ohio"].n, answer["Utah"].n) == (3000, 2999)
    assert abs(answer["Utah"].value - 60) < 6
    assert list(answer.too_few) == ["Iowa"]
    for ending in ("csv", "parquet"):
        source, out = tmp_path / f"people.{ending}", tmp_path / f"reports.{ending}"
        people.to_csv(source, index=False) if ending == "csv" else people.to_parquet(source)
        summary = dc.privatize_file(source, out, {"wage": plan}, entropy=dc.Entropy.seeded(1))
        assert summary.counted.missing == {"wage": 1}
        assert dc.estimate_file(out)["wage"]["Ohio"].n == 3000
    with pytest.raises(dc.DomainError, match=r"row .* is missing"):
        dc.privatize_frame(people, {"wage": plan}, missing="error")
    with pytest.raises(dc.DomainError, match="not one of the 3 categories"):
        dc.privatize_frame(people.assign(state="Atlantis"), {"wage": plan})
    with pytest.raises(dc.DiscreetError, match="which holds the values"):
        dc.privatize_frame(people, {"wage": dc.Groups(MEAN, by=STATES, name="wage")})


@pytest.mark.needs("pyarrow", "scipy")
def test_frames_with_several_channels_per_group_and_two_rounds():
    import pandas as pd

    people = pd.DataFrame({"a": 20.0, "b": 70.0, "wage": 40.0, "state": ["Ohio", "Utah"] * 3000})
    means = dc.Groups(dc.Means([WAGE, WAGE], epsilon=2, method="duchi", names=["a", "b"]), by=STATES, name="state")
    answer = dc.estimate_frame(dc.privatize_frame(people, {"both": means}, entropy=dc.Entropy.seeded(2)))["both"]
    assert abs(answer["Utah"]["b"].value - 70) < 6
    assert answer["Utah"]["a"].n + answer["Utah"]["b"].n == 3000
    rounds = dc.Groups(dc.Variance(WAGE, epsilon=3, method="two-round", mechanism="duchi"), by=STATES, name="state")
    answer = dc.estimate_frame(dc.privatize_frame(people, {"wage": rounds}, entropy=dc.Entropy.seeded(3)))["wage"]
    assert answer["Ohio"].n == 3000


@pytest.mark.needs("matplotlib")
def test_groups_and_differences_are_plotted():
    answer = dc.simulate(dc.Groups(MEAN, by=STATES), rows([900, 900, 900], [20.0, 50.0, 80.0]), seed=1)
    axes = answer.plot(truth={"Ohio": 20.0}).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["Iowa", "Utah", "Ohio"]
    labels = [tick.get_text() for tick in answer.compare().plot().axes[0].get_yticklabels()]
    assert labels == ["Ohio – Utah", "Ohio – Iowa", "Utah – Iowa"]


@pytest.mark.needs("matplotlib", "scipy")
def test_distributions_and_frequencies_by_group_are_small_charts():
    held = rows([900, 900, 900], ["x", "y", "x"])
    table = dc.simulate(dc.Groups(dc.Frequency(dc.Categories(["x", "y"]), 2.0), by=STATES), held, seed=1)
    assert [axes.get_title(loc="left") for axes in table.plot().axes] == list(STATES.labels)
    many = dc.Categories(range(30))
    wide = dc.simulate(dc.Groups(dc.Frequency(many, 4.0), by=STATES), rows([900, 900, 900], [3, 4, 3]), seed=1)
    assert len(wide.plot().axes[0].get_yticklabels()) == 8
    plan = dc.Groups(dc.Distribution(WAGE, epsilon=4, bins=16, method="hh"), by=STATES)
    shapes = dc.simulate(plan, rows([900, 900, 900], [20.0, 50.0, 80.0]), seed=1)
    figure = shapes.plot()
    assert len({axes.get_ylim() for axes in figure.axes}) == 1  # all on the same axes
    with pytest.raises(dc.DiscreetError, match="one number each"):
        shapes.plot(truth={"Ohio": 20.0})
