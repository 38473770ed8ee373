"""Secret groups whose shares are known: signed rows, or the oracle with known sizes."""

import json

import numpy as np
import pytest

import discreet as dc
from discreet.plans.base import Answered
from discreet.plans.encoders import SignedValue
from discreet.plans.groups import KnownSharesAnswer
from discreet.plans.groups.design import best_design, subset_law
from discreet.plans.groups.known import fixed_cost, signed_cost, signed_sums
from discreet.plans.registry import read_plan

WAGE = dc.Interval(0, 100)
LABELS = ["a", "b", "c", "d", "e"]
SHARES = dict(zip(LABELS, [0.05, 0.1, 0.2, 0.3, 0.35], strict=True))
MEANS = dict(zip(LABELS, [10.0, 70.0, 50.0, 85.0, 35.0], strict=True))


def plan_of(epsilon, **options):
    return dc.Groups(dc.Mean(WAGE, epsilon), by=dc.Categories(LABELS), private=True, shares=SHARES, **options)


def people(n):
    return [(label, MEANS[label]) for label in LABELS for _ in range(round(n * SHARES[label]))]


@pytest.mark.parametrize(
    ("groups", "epsilon", "ratio"),
    [
        (2, 0.5, 0.59),
        (2, 1, 0.76),
        (5, 1, 0.56),
        (10, 1, 0.52),
        (51, 0.5, 0.43),
        (51, 1, 0.49),
        (51, 2, 0.74),
        (250, 1, 0.48),
    ],
)
def test_signed_rows_cost_what_the_note_says(groups, epsilon, ratio):
    assert signed_cost(epsilon, groups) / best_design(epsilon, groups).cost == pytest.approx(ratio, abs=0.012)


def test_with_more_epsilon_the_oracle_is_cheaper_and_sizes_are_taken_as_known():
    design = best_design(3.0, 51)
    fixed = fixed_cost(3.0, 51, design) / design.cost
    assert fixed == pytest.approx(0.83, abs=0.01)
    assert signed_cost(3.0, 51) / design.cost == pytest.approx(1.41, abs=0.02)
    many = dc.Categories(range(51))
    assert not dc.Groups(dc.Mean(WAGE, 3.0), many, True, shares=[1 / 51] * 51).is_signed
    assert dc.Groups(dc.Mean(WAGE, 1.0), many, True, shares=[1 / 51] * 51).is_signed


def test_the_variance_of_a_sum_is_that_of_the_listed_reports():
    """E[H v] and E[v^2] over all rows, people and reports, against the closed forms."""
    plan = plan_of(1.0)
    asked = plan.round([])
    source = asked.channels[0].mechanism
    points = np.array([-0.8, 0.3])  # what the members of each group hold, half of them each
    shares = np.array(list(SHARES.values()))
    mean, second = np.zeros(5), np.zeros(5)
    for channel in asked.channels:
        signs = channel.encoder.signs
        for group, share in enumerate(shares):
            for x in points:
                inputs = (
                    SignedValue(plan.by, dc.Interval(-1, 1), channel.encoder.row).encode([(LABELS[group], x)]).inputs
                )
                law = np.array([np.interp(inputs[0], source.inputs, column) for column in source.matrix().T])
                weight = share / 2 / len(asked.channels)
                mean += weight * signs * (law @ source.values)
                second += weight * (law @ np.square(source.values))
    np.testing.assert_allclose(mean, shares * points.mean(), atol=1e-12)
    expected = np.mean([(source.variance(s * x) + x**2) for x in points for s in (1, -1)])
    exact = sum(
        share / 2 / len(asked.channels) * float(source.variance(np.array([c.encoder.signs[g] * x]))[0] + x**2)
        for c in asked.channels for g, share in enumerate(shares) for x in points
    )  # fmt: skip
    np.testing.assert_allclose(second, exact, atol=1e-12)
    assert exact == pytest.approx(expected, rel=0.2)  # the first group has the same sign in all rows


@pytest.mark.parametrize(("centre", "levels"), [(0.0, 2), (0.0, 3)])
def test_the_second_moment_of_a_sum_is_that_of_the_listed_subsets(centre, levels):
    from itertools import combinations

    from discreet.plans.groups.design import cost

    epsilon, groups, k = 1.0, 2, 2
    size = groups * levels
    p, q, _, _ = (float(part[0]) for part in subset_law(epsilon, size, k))
    law, share = np.full(levels, 1 / levels), 0.5
    knots = np.linspace(-1, 1, levels)
    total = 0.0
    for group in range(groups):
        for knot in range(levels):
            own = group * levels + knot
            weights = {s: np.exp(epsilon) if own in s else 1.0 for s in combinations(range(size), k)}
            whole = sum(weights.values())
            for s, weight in weights.items():
                seen = sum(((i in s) - q) / (p - q) * knots[i] for i in range(levels))
                total += (1 / groups) * law[knot] * weight / whole * seen**2
    assert cost(epsilon, groups, law, k, share, centre=centre)[0] == pytest.approx(total, abs=1e-12)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(("epsilon", "signed"), [(1.0, True), (4.0, False)])
def test_means_differences_and_tests(epsilon, signed):
    plan = plan_of(epsilon, name="state")
    assert plan.is_signed is signed
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()
    answer = dc.simulate(plan, people(40_000), seed=1)
    assert isinstance(answer, KnownSharesAnswer)
    assert answer.n == 40_000
    for label in LABELS:
        assert abs(answer[label].value - MEANS[label]) < 5 * answer[label].details["standard_error"]
    assert [row["share"] for row in answer.rows()] == pytest.approx(list(SHARES.values()))
    assert answer.differ().p_value < 1e-6
    gap = answer.compare("d", "a")
    assert gap.interval[0] < 75 < gap.interval[1] + gap.margin
    truth = sum(SHARES[label] * MEANS[label] for label in LABELS)
    assert abs(answer.overall.value - truth) < 5 * answer.overall.details["standard_error"]
    even = dc.weighted(answer, shares=dict.fromkeys(LABELS, 0.2))
    assert abs(even.value - 50) < 5 * even.details["standard_error"]
    assert json.loads(json.dumps(answer.to_dict()))["n"] == 40_000
    assert len(answer.compare().differences) == 10
    assert all(0 <= one.interval[0] <= one.value <= one.interval[1] <= 100 for one in answer.pooled.values())


@pytest.mark.needs("scipy")
def test_intervals_cover_and_the_test_keeps_its_level():
    plan = plan_of(1.0)
    asked, random = plan.round([]), np.random.default_rng(3)
    held = [(label, value) for label in LABELS for value in (30.0, 60.0)]
    mass = np.repeat(list(SHARES.values()), 2) / 2
    covered, rejected = [], []
    for _ in range(600):
        sizes = random.multinomial(20_000, [1 / len(asked.channels)] * len(asked.channels))
        tallies = {
            c.key: c.mechanism.draw_tally(c.encoder.encode(held).inputs, mass, int(n), random)
            for c, n in zip(asked.channels, sizes, strict=True)
        }
        answer = plan.estimate([Answered(asked, tallies)])
        covered += [one.interval[0] <= 45 <= one.interval[1] for one in answer.groups.values()]
        rejected.append(answer.differ().p_value < 0.05)
    assert 0.935 <= np.mean(covered) <= 0.965
    assert 0.03 <= np.mean(rejected) <= 0.07


def test_wrong_shares_are_refused():
    for shares, message in (
        ([0.5, 0.5], "shares must be 5 positive numbers"),
        ([0.5, 0.5, 0.5, 0.5, 0.5], "sum 1, not 2.5"),
        ([1.2, -0.2, 0.2, -0.1, -0.1], "positive"),
        ({"a": 1.0}, "a share for each of the 5 groups"),
    ):
        with pytest.raises(dc.DiscreetError, match=message):
            dc.Groups(dc.Mean(WAGE, 1.0), by=dc.Categories(LABELS), private=True, shares=shares)
    with pytest.raises(dc.DiscreetError, match="has no option 'shares'"):
        dc.Groups(dc.Mean(WAGE, 1.0), by=dc.Categories(LABELS), shares=SHARES)
    asked = plan_of(1.0).round([])
    empty = {c.key: c.mechanism.tally([]) for c in asked.channels}
    with pytest.raises(dc.DiscreetError, match="at least 2 reports"):
        signed_sums(Answered(asked, empty), 5)
