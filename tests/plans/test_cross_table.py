import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.tables import cramer, fitted, independence, known_margins, merging, noncentral_below
from discreet.plans.base import Answered
from discreet.plans.groups.design import subset_law
from discreet.plans.registry import read_plan

REFERENCE = json.loads((Path(__file__).parent.parent / "groups_reference.json").read_text())
FOUR = dc.Categories(["a", "b", "c", "d"]), dc.Categories(["w", "x", "y", "z"])
TABLE = np.full((4, 4), 0.0375) + 0.1 * np.eye(4)


def keys(section):
    return [key for key in REFERENCE[section] if key not in ("_", "tables")]


def covariance_of(law):
    """Return the covariance of one person's decoded report of an ideal k-subset."""
    p, q, own, other = (float(part[0]) for part in law)

    def covariance(f):
        hit = q + (p - q) * f
        both = own * (f[:, None] + f) + other * (1 - f[:, None] - f)
        np.fill_diagonal(both, hit)
        return (both - np.outer(hit, hit)) / (p - q) ** 2

    return covariance


def table_answer(plan, table, n, random):
    """Return an answer whose tallies are drawn from their exact law."""
    asked, tallies = plan.round([]), {}
    parts = np.diff(np.rint(np.linspace(0, n, len(asked.channels) + 1)).astype(int))
    laws = {"both": table.ravel(), "first": table.sum(axis=1), "second": table.sum(axis=0)}
    for channel, size in zip(asked.channels, parts.tolist(), strict=True):
        law = laws[channel.key]
        tallies[channel.key] = channel.mechanism.draw_tally(np.arange(law.size), law, size, random)
    return plan.estimate([Answered(asked, tallies)])


# -- arithmetic ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", keys("cramer"))
def test_association_is_the_reference(name):
    known = REFERENCE["cramer"][name]
    shape, _, epsilon, _, n = name.split()
    rows, columns = map(int, shape.split("x"))
    table = np.array(known["raw"]).reshape(rows, columns)
    covariance = covariance_of(subset_law(float(epsilon), rows * columns, known["k"]))
    value, interval = cramer(table, int(n), covariance, 0.95)
    test = independence(table, int(n), covariance)
    assert np.abs(np.array([value, *interval]) - [known["V"], *known["interval"]]).max() < 1e-7
    assert math.isclose(test.statistic, known["T"], rel_tol=1e-6)
    assert test.degrees == known["df"]
    assert math.isclose(test.p_value, known["p"], rel_tol=1e-4)


@pytest.mark.parametrize("name", keys("independence"))
def test_noncentralities_are_the_reference(name):
    shape, _, epsilon = name.split()
    table = np.array(REFERENCE["independence"]["tables"][shape])
    size = table.size
    oracle = dc.mechanism("subset-selection", float(epsilon), size=size)
    covariance = covariance_of(subset_law(float(epsilon), size, oracle.k))
    # At the true table the statistic of n people is n times the noncentrality of one.
    found = independence(table, 1, covariance).statistic
    assert math.isclose(found, REFERENCE["independence"][name]["product"], rel_tol=1e-6)


@pytest.mark.needs("scipy")
def test_the_noncentral_chi_square_is_scipys():
    from scipy.stats import ncx2

    for x, degrees, noncentrality in ((10.0, 3.0, 4.0), (2.0, 0.7, 0.3), (500.0, 9.0, 400.0), (50.0, 2.0, 200.0)):
        exact = ncx2.cdf(x, degrees, noncentrality)
        assert math.isclose(noncentral_below(x, degrees, noncentrality), exact, rel_tol=1e-8, abs_tol=1e-15)
    assert noncentral_below(3.0, 2.0, 0.0) == pytest.approx(1 - math.exp(-1.5))


def test_margins_are_met_exactly():
    rng = np.random.default_rng(1)
    rows, columns = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    raw = rng.dirichlet(np.ones(12)).reshape(3, 4) - 0.02
    covariance = covariance_of(subset_law(1.0, 12, 3))
    moved, spread = known_margins(raw + 0.02, 1000, covariance, rows, columns)
    for table in (moved, fitted(moved, rows, columns)):
        assert np.abs(table.sum(axis=1) - rows).max() < 1e-9
        assert np.abs(table.sum(axis=0) - columns).max() < 1e-9
    assert np.linalg.eigvalsh(spread).min() > -1e-12
    assert np.trace(spread) < np.trace(covariance(np.full(12, 1 / 12)) / 1000)
    with pytest.raises(dc.DiscreetError, match="rows or columns"):
        known_margins(raw, 1000, covariance, None, None)


def test_merging_keeps_the_sum():
    merged = merging(np.array([True, False, True, False, False]))
    assert merged.shape == (3, 5)
    assert (merged.sum(axis=0) == 1).all()
    assert merging(np.array([True, True])).tolist() == [[1, 0], [0, 1]]


# -- levels and coverage -----------------------------------------------------------------------------------------


def levels(plan, table, n, runs, seed):
    random = np.random.default_rng(seed)
    return np.mean([table_answer(plan, table, n, random).independence().p_value < 0.05 for _ in range(runs)])


def test_the_level_of_the_test_of_independence():
    plan = dc.CrossTable(dc.Categories(["a", "b", "c"]), dc.Categories(["x", "y"]), 1.0)
    table = np.outer([0.6, 0.3, 0.1], [0.7, 0.3])
    assert 0.03 <= levels(plan, table, 4000, 2000, 1) <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("margins", [False, True])
def test_the_level_with_more_cells_and_rare_categories(margins):
    plan = dc.CrossTable(*FOUR, 1.0, margins=margins)
    table = np.outer([0.55, 0.3, 0.12, 0.03], [0.4, 0.3, 0.2, 0.1])
    assert 0.03 <= levels(plan, table, 30_000, 2000, 2) <= 0.07


def test_power_is_that_of_the_noncentral_chi_square():
    plan, n = dc.CrossTable(dc.Categories(["a", "b"]), dc.Categories(["x", "y"]), 2.0), 130
    table = np.array(REFERENCE["independence"]["tables"]["2x2"])
    exact = 1 - noncentral_below(3.841459, 1.0, n * REFERENCE["independence"]["2x2 eps 2"]["product"])
    assert 0.7 < exact < 0.9
    assert abs(levels(plan, table, n, 1000, 3) - exact) < 0.06


ADULT = {
    "sex × income": ([[0.2946, 0.0362], [0.4646, 0.2046]], 3363),
    "race × sex": (
        [[0.0037, 0.0059], [0.0106, 0.0213], [0.0478, 0.0482], [0.0033, 0.0050], [0.2654, 0.5889]], 65_743,
    ),
}  # fmt: skip
"""Shares in the Adult data, rounded, and the people with whom the note sees the association in 80 of 100 cases."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ADULT)
def test_people_of_the_note_see_an_association_in_80_of_100_cases(name):
    shares, n = ADULT[name]
    found = np.array(shares) / np.sum(shares)
    plan = dc.CrossTable(dc.Categories(range(found.shape[0])), dc.Categories(range(found.shape[1])), 1.0)
    assert abs(levels(plan, found, n, 2000, 5) - 0.8) < 0.03
    independent = np.outer(found.sum(axis=1), found.sum(axis=0))
    assert 0.03 <= levels(plan, independent, n, 2000, 6) <= 0.07


@pytest.mark.parametrize("strength", [0.0, 0.1])
def test_the_interval_of_the_association_covers(strength):
    table = np.outer([0.5, 0.3, 0.2], [0.6, 0.4]) + strength * np.array([[1, -1], [-0.5, 0.5], [-0.5, 0.5]])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    truth = math.sqrt(((table - expected) ** 2 / expected).sum())
    plan, random = (
        dc.CrossTable(dc.Categories(["a", "b", "c"]), dc.Categories(["x", "y"]), 1.0),
        np.random.default_rng(4),
    )
    found = [table_answer(plan, table, 20_000, random).cramer() for _ in range(150)]
    assert np.mean([one.interval[0] <= truth <= one.interval[1] for one in found]) >= 0.93
    assert abs(np.mean([one.value for one in found]) - truth) < 0.05


def test_cells_and_margins_have_the_stated_errors():
    for margins, cell, margin in ((False, 3.25, 10.4), (True, 6.49, 5.19)):  # the margins help the cells too
        plan = dc.CrossTable(*FOUR, 1.0, margins=margins)
        random = np.random.default_rng(5)
        flat = np.full((4, 4), 1 / 16)
        answers = [table_answer(plan, flat, 9000, random) for _ in range(120)]
        cells = np.array([answer.raw for answer in answers])
        sums = np.array([answer.rows.raw for answer in answers])
        assert answers[0].cells.standard_errors.mean() ** 2 * 9000 == pytest.approx(cell, rel=0.05)
        assert answers[0].rows.standard_errors.mean() ** 2 * 9000 == pytest.approx(margin, rel=0.05)
        assert cells.var(axis=0).mean() * 9000 == pytest.approx(cell, rel=0.1)
        assert sums.var(axis=0).mean() * 9000 == pytest.approx(margin, rel=0.2)


# -- the plan ----------------------------------------------------------------------------------------------------


def people(n=20_000, seed=1):
    cells = np.random.default_rng(seed).choice(16, n, p=TABLE.ravel())
    return [(FOUR[0].labels[i // 4], FOUR[1].labels[i % 4]) for i in cells.tolist()]


@pytest.mark.parametrize("method", ["product", "three-channels"])
def test_a_table_its_margins_and_its_association(method):
    plan = dc.CrossTable(*FOUR, 2.0, method=method, names=("drink", "cake"))
    answer = dc.simulate(plan, people(), seed=1)
    assert np.abs(answer.value - TABLE).max() < 0.06
    assert answer.n == 20_000
    assert answer.frequencies.sum() == pytest.approx(1)
    assert answer["a", "w"]["frequency"] == answer.value[0, 0]
    assert answer.rows["a"]["frequency"] == pytest.approx(answer.value[0].sum())
    assert answer.columns["z"]["raw"] == pytest.approx(answer.raw[:, 3].sum())
    assert answer.rows()[5]["drink"] == "b"
    assert len(answer.cells()) == 16
    assert answer.interval.shape == (4, 4, 2)
    assert answer.independence().p_value < 1e-9
    assert answer.cramer().interval[0] < 0.4 < answer.cramer().interval[1]
    assert json.loads(json.dumps(answer.to_dict()))["independence"]["degrees"] == 9
    assert "a/w" in answer._repr_html_()
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()
    assert len(plan.round([]).channels) == (1 if method == "product" else 3)
    other = dc.simulate(plan, people(seed=2), seed=2)
    assert dc.compare(answer.rows, other.rows).p_value > 1e-4


def test_known_margins_are_closer():
    plan, random = dc.CrossTable(*FOUR, 1.0), np.random.default_rng(6)
    raw, near = [], []
    for _ in range(20):
        answer = table_answer(plan, TABLE, 20_000, random)
        known = answer.known_margins(rows=[0.25] * 4, columns=dict.fromkeys("wxyz", 0.25))
        raw.append(np.square(answer.frequencies - TABLE).sum())
        near.append(np.square(known.frequencies - TABLE).sum())
    assert np.mean(near) < 0.8 * np.mean(raw)
    assert known.rows.standard_errors.max() < 1e-9
    assert known.cells.standard_errors.mean() < answer.cells.standard_errors.mean()
    assert known.independence().p_value < 0.05
    with pytest.raises(dc.DiscreetError, match="rows must be 4 positive frequencies"):
        answer.known_margins(rows=[0.5, 0.5])
    with pytest.raises(dc.DiscreetError, match="columns must have a frequency for each"):
        answer.known_margins(columns={"w": 1.0})


def test_rare_categories_are_merged_by_the_plans_rule_before_an_association_is_measured():
    table = np.outer([0.6, 0.3993, 0.0004, 0.0003], [0.5, 0.3, 0.1, 0.1])
    table[0, 0] += 0.05
    table[1, 0] -= 0.05
    found = table_answer(dc.CrossTable(*FOUR, 1.0), table, 30_000, np.random.default_rng(1)).cramer()
    assert found.details["merged"] >= 1
    assert not math.isnan(found.value)
    assert "merged by the rule of the plan" in found.assumed[-1]
    never = table_answer(dc.CrossTable(*FOUR, 1.0, merge=0), table, 200, np.random.default_rng(1))
    weak = never.cramer()
    assert math.isnan(weak.value) or weak.details["merged"] >= 0


def test_numbers_count_as_buckets_of_equal_width():
    plan = dc.CrossTable(dc.Interval(0, 100), FOUR[1], 3.0, bins=2)
    rows = [(10.0, "w")] * 4000 + [(90.0, "z")] * 4000 + [(1e9, "z")] * 100
    answer = dc.simulate(plan, rows, seed=1)
    assert answer.labels[0] == ("0 to 50", "50 to 100")
    assert answer.details["clipped_in_simulation"] == 100
    assert answer["0 to 50", "w"]["frequency"] > 0.4
    law = dc.simulate(plan, rows, seed=1, people=10**6)
    assert law.details["clipped_in_simulation"] == round(10**6 * 100 / 8100)


def test_margins_need_channels_of_their_own_only_in_wide_tables():
    few = dc.Categories(["x", "y", "z"])
    assert dc.CrossTable(*FOUR, 1.0).method == "product"
    assert dc.CrossTable(*FOUR, 1.0, margins=True).method == "three-channels"
    assert dc.CrossTable(FOUR[0], few, 1.0, margins=True).method == "product"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": ["a", "b"]}, "first must be Categories"),
        ({"second": dc.Categories(range(60_000))}, "at most 65536 cells"),
        ({"method": "pearson"}, "method must be one of"),
        ({"merge": -1}, "merge must be"),
        ({"names": ("x", "x")}, "names must be two different"),
        ({"bins": 1}, "bins must be"),
    ],
)
def test_what_cannot_be_crossed_is_refused(change, message):
    with pytest.raises(dc.DiscreetError, match=message):
        dc.CrossTable(**{"first": FOUR[0], "second": FOUR[1], "epsilon": 1.0} | change)


def test_a_row_that_cannot_be_read_is_named():
    with pytest.raises(dc.DomainError, match="value 1 must be one of the 4 categories"):
        dc.simulate(dc.CrossTable(*FOUR, 1.0), [("a", "w"), ("a", "nobody")], seed=1)
    with pytest.raises(dc.DomainError, match="row 0 must have at least 2 entries"):
        dc.simulate(dc.CrossTable(*FOUR, 1.0), [("a",), ("b",)], seed=1)


@pytest.mark.needs("pyarrow")
def test_frames_with_two_secret_columns():
    import pandas as pd

    rows = people(20_000)
    frame = pd.DataFrame(rows, columns=["drink", "cake"])
    frame.loc[0, "cake"] = None
    plan = dc.CrossTable(*FOUR, 2.0, names=("drink", "cake"), method="three-channels")
    reports = dc.privatize_frame(frame, {"both": plan}, entropy=dc.Entropy.seeded(1))
    answer = dc.estimate_frame(reports)["both"]
    assert answer.n == 19_999
    assert np.abs(answer.value - TABLE).max() < 0.08


@pytest.mark.needs("matplotlib")
def test_a_table_is_drawn_as_a_heat_map():
    answer = dc.simulate(dc.CrossTable(*FOUR, 2.0, names=("drink", "cake")), people(2000), seed=1)
    axes = answer.plot().axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b", "c", "d"]
    assert axes.get_xlabel() == "cake"
    with pytest.raises(dc.DiscreetError, match="heat map"):
        answer.plot(truth=1)
