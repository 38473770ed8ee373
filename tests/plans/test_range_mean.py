"""Range means: predicted variance against reference and simulation, coverage, choice, ends."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.domains import OUTSIDE
from discreet.errors import DiscreetError, DomainError
from discreet.mechanisms.numeric.privrm import METHODS, range_mechanism
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.plans.base import Answered
from discreet.plans.encoders import RangeEncoder
from discreet.plans.range_mean import RangeMean, estimators
from discreet.plans.range_mean.designs import Belief, predicted_variance, ranked
from discreet.plans.range_mean.several import RangeMeans
from discreet.tallies import Tally

REFERENCE = json.loads((Path(__file__).parents[1] / "mechanisms" / "ranged_reference.json").read_text())
INNERS = ("duchi", "piecewise", "hybrid", "square-wave")
DRAWS = {"privrm-i": "random", "privrm-o": "uniform", "privrm-star": "uniform", "outside-symbol": "best"}
DOMAIN = dc.Interval(0, 100)


def two_points(share, mean, square):
    """Return a belief with these moments."""
    deviation = math.sqrt(square - mean**2)
    if mean - deviation >= -1:
        return Belief(share, np.array([mean - deviation, mean + deviation]), np.array([0.5, 0.5]))
    upper = mean + (square - mean**2) / (mean + 1)
    weight = (mean + 1) / (upper + 1)
    return Belief(share, np.array([-1.0, upper]), np.array([1 - weight, weight]))


@pytest.mark.parametrize("inner", INNERS)
@pytest.mark.parametrize("method", METHODS)
def test_predicted_variance_is_the_reference(method, inner):
    rows = [row for row in REFERENCE["variance"] if row[:2] == [method, inner]]
    assert rows
    for _, _, epsilon, share, mean, square, expected in rows:
        source = range_mechanism(method, inner, epsilon, draw=DRAWS[method], calibrated=False)
        found = predicted_variance(source, two_points(share, mean, square), weighted=False)
        assert found == pytest.approx(expected, rel=1e-9 if inner == "duchi" else 3e-4)


def tallies(source: Ranged, points, share, n, repeats, rng):
    """Draw tallies from their exact law, given people: a fixed number at each point, the rest outside."""
    inside = round(share * n / len(points))
    rows = source.matrix()
    laws = [
        np.array([np.interp(t, source.inner.inputs, column) for column in rows[:-1].T]) if len(rows) < 200
        else rows[round((t + 1) / 2 * (len(rows) - 2))]
        for t in points
    ]  # fmt: skip
    counts = rng.multinomial(n - inside * len(points), rows[-1] / rows[-1].sum(), size=repeats)
    for law in laws:
        counts = counts + rng.multinomial(inside, law / law.sum(), size=repeats)
    return [Tally(source.id, n, c) for c in counts], inside * len(points) / n


def simulated(method, inner, epsilon, share, points, *, n=40_000, repeats=3000, draw=None):
    source = range_mechanism(method, inner, epsilon, draw=draw, positions=24)
    drawn, exact = tallies(source, points, share, n, repeats, np.random.default_rng(7))
    belief = Belief(exact, np.array(points), np.full(len(points), 1 / len(points)))
    found = [estimators.ratio([(source, tally)]) for tally in drawn]
    means = np.array([r.mean for r in found])
    truth = belief.mean
    covered = np.mean([r.interval[0] <= truth <= r.interval[1] for r in found])
    predicted = predicted_variance(source, belief) / n
    return means.var() / predicted, (means.mean() - truth) / math.sqrt(predicted / repeats), covered


FAST = [("duchi", 1.0, 0.6, (-0.7, -0.3)), ("hybrid", 3.0, 0.3, (0.3, 0.9))]
SLOW = [
    (inner, epsilon, share, points)
    for inner in (*INNERS, "laplace", "truncated-laplace", "hybrid-np")
    for epsilon in (1.0, 2.0, 4.0)
    for share, points in ((0.2, (-0.2, 0.2)), (0.5, (-0.7, -0.3)), (0.9, (0.7, 1.0)))
]


@pytest.mark.parametrize(("inner", "epsilon", "share", "points"), FAST)
@pytest.mark.parametrize("method", METHODS)
def test_simulated_variance_is_the_predicted_one(method, inner, epsilon, share, points):
    variance, bias, covered = simulated(method, inner, epsilon, share, points)
    assert 0.9 < variance < 1.1
    assert abs(bias) < 5
    assert covered > 0.935


@pytest.mark.slow
@pytest.mark.parametrize(("inner", "epsilon", "share", "points"), SLOW)
@pytest.mark.parametrize("method", METHODS)
def test_simulated_variance_everywhere(method, inner, epsilon, share, points):
    variance, bias, covered = simulated(method, inner, epsilon, share, points, n=100_000, repeats=4000)
    assert 0.9 < variance < 1.1
    assert abs(bias) < 6  # the ratio's own bias is of order 1/n
    assert covered > 0.94


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize(("share", "points"), [(0.2, (-0.2, 0.2)), (0.5, (-0.7, -0.3)), (0.9, (0.7, 1.0))])
def test_simulated_variance_with_minimax_inside(method, epsilon, share, points):
    variance, _, covered = simulated(method, "minimax", epsilon, share, points, n=100_000, repeats=4000)
    assert 0.9 < variance < 1.1
    assert covered > 0.94


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [0.01, 0.02, 0.05])
def test_intervals_hold_when_the_count_is_weak(method, share):
    _, _, covered = simulated(method, "duchi", 1.0, share, (0.2, 0.6), n=20_000, repeats=4000)
    assert 0.94 <= covered <= 0.98


@pytest.mark.parametrize("method", METHODS)
def test_few_people_in_range_still_tell_something(method):
    """Of 25 people in the range one cannot say surely that they are there; some means are excluded all the same."""
    source = range_mechanism(method, "duchi", 1.0, positions=24)
    drawn, _ = tallies(source, (0.9,), 0.05, 500, 2000, np.random.default_rng(3))
    found = [estimators.ratio([(source, tally)]) for tally in drawn]
    weak = [one for one in found if not one.enough]
    assert len(weak) > 1000
    assert np.mean([one.interval != (-1.0, 1.0) for one in weak]) > 0.03
    assert 0.94 < np.mean([one.interval[0] <= 0.9 <= one.interval[1] for one in found]) < 0.985
    assert all(one.interval[0] <= one.mean <= one.interval[1] for one in weak)


def test_tag_weights_are_a_free_gain():
    source = range_mechanism("privrm-star", "duchi", 3.0)
    belief = Belief.guess(0.165, 0.3)
    gain = predicted_variance(source, belief, weighted=False) / predicted_variance(source, belief)
    assert 1.7 < gain < 3
    rng = np.random.default_rng(1)
    drawn, _ = tallies(source, (0.3,), 0.165, 50_000, 1000, rng)
    plain = np.var([estimators.ratio([(source, t)], weighted=False).mean for t in drawn])
    free = np.var([estimators.ratio([(source, t)]).mean for t in drawn])
    assert plain / free > 1.5


def test_outside_symbol_beats_the_paper_from_epsilon_2_on():
    for share, mean in ((0.1, 0.0), (0.5, -0.5), (0.9, -0.85)):
        for epsilon in (2.0, 3.0, 4.0):
            designs = ranked(epsilon, Belief.guess(share, mean), inners=INNERS)
            best = min(d.variance for d in designs if d.method == "outside-symbol")
            paper = min(
                predicted_variance(
                    range_mechanism(method, inner, epsilon, draw=DRAWS[method], calibrated=False, positions=64),
                    Belief.guess(share, mean),
                    weighted=False,
                )
                for method in METHODS[:3]
                for inner in INNERS
            )
            assert paper / best > 1.35


# -- the plan ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wages():
    rng = np.random.default_rng(5)
    return np.clip(rng.gamma(3.0, 9.0, 40_000), 0, 100)


@pytest.mark.parametrize("inner", INNERS)
@pytest.mark.parametrize("method", METHODS)
def test_end_to_end(wages, method, inner):
    plan = RangeMean(DOMAIN, 20, 50, epsilon=2, method=method, mechanism=inner)
    answer = dc.simulate(plan, wages, seed=3)
    inside = wages[(wages >= 20) & (wages <= 50)]
    error = answer.details["standard_error"]
    assert abs(answer.value - inside.mean()) < 5 * error
    assert answer.interval[0] < answer.value < answer.interval[1]
    low, high = answer.details["count_interval"]
    assert low - (high - low) < inside.size < high + (high - low)
    assert answer.n == wages.size
    json.dumps(answer.to_dict(), allow_nan=False)
    assert plan.round([Answered(plan.round([]), {})]) is None


@pytest.mark.needs("scipy")
def test_auto_by_guess_prior_and_pilot(wages):
    inside = wages[(wages >= 20) & (wages <= 50)]
    prior = np.histogram(wages, bins=32, range=(0, 100))[0]
    for options, rounds in (
        ({"guess": (0.6, 32.0)}, 1),
        ({"prior": prior.tolist()}, 1),
        ({"rounds": 2}, 2),
        ({"pilot": 0.1}, 2),
        ({}, 1),
        ({"pilot": 0.0}, 1),
    ):
        plan = RangeMean(DOMAIN, 20, 50, epsilon=2, **options)
        assert plan.round([]).share == (1.0 if rounds == 1 else 0.1)
        answer = dc.simulate(plan, wages, seed=4)
        assert abs(answer.value - inside.mean()) < 5 * answer.details["standard_error"]
        assert answer.n == wages.size
        assert answer.method.split("/")[0] in METHODS
        again = RangeMean(**(plan.arguments() | {"domain": DOMAIN}))
        assert again.arguments() == json.loads(json.dumps(plan.arguments())) | {"guess": options.get("guess")}
        assert again.round([]).channels[0].mechanism == plan.round([]).channels[0].mechanism


def test_auto_is_the_least_predicted_variance():
    for epsilon in (0.5, 2.0):
        designs = ranked(epsilon, Belief.guess(0.5, 0.0))
        assert [d.variance for d in designs] == sorted(d.variance for d in designs)
        plan = RangeMean(DOMAIN, 20, 50, epsilon=epsilon, guess=(0.5, 35.0))
        best = designs[0]
        assert plan.round([]).channels[0].mechanism.name == f"{best.method}/{best.inner}"


def test_pooling_the_pilot_uses_its_answers(wages):
    source = range_mechanism("outside-symbol", "duchi", 2.0)
    rng = np.random.default_rng(2)
    (a, b), _ = tallies(source, (0.2, 0.4), 0.5, 20_000, 2, rng)
    both = estimators.ratio([(source, a), (source, b)])
    joined = estimators.ratio([(source, a + b)])
    assert both.mean == pytest.approx(joined.mean, abs=0.05 * joined.error)
    assert both.error == pytest.approx(joined.error, rel=0.02)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("method", ["direct", "distribution"])
def test_baselines(wages, method):
    answer = dc.simulate(RangeMean(DOMAIN, 20, 50, 4, method), wages, seed=1)
    inside = wages[(wages >= 20) & (wages <= 50)].mean()
    assert 20 <= answer.interval[0] <= answer.value <= answer.interval[1] <= 50
    if method == "distribution":
        assert abs(answer.value - inside) < 1
        assert answer.details["share"] == pytest.approx(np.mean((wages >= 20) & (wages <= 50)), abs=0.03)
    if method == "direct":
        assert answer.interval == (20, 50)  # a biased baseline promises nothing
        with pytest.raises(DiscreetError, match="at least 64 outputs"):
            RangeMean(DOMAIN, 20, 50, 4, method, "duchi").round([])


def test_a_range_equal_to_the_domain_is_the_mean(wages):
    found = dc.simulate(RangeMean(DOMAIN, 0, 100, 1, mechanism="duchi"), wages, seed=6)
    mean = dc.simulate(dc.Mean(DOMAIN, 1, "duchi"), wages, seed=6)
    assert (found.value, found.interval) == (mean.value, mean.interval)
    assert found.details["share"] == 1.0


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (50, 20, "below high"),
        (30, 30, "below high"),
        (-10, 20, "within the domain"),
        (50, 120, "within the domain"),
        (200, 300, "within the domain"),
        (math.nan, 20, "finite"),
        ("20", 50, "finite"),
        (20, math.inf, "finite"),
    ],
)
def test_broken_ranges(low, high, words):
    with pytest.raises(DomainError, match=words):
        RangeMean(DOMAIN, low, high, 1)


def test_broken_parameters():
    for options, words in (
        ({"method": "privrm"}, "method must be"),
        ({"pilot": 1.0}, "pilot must be"),
        ({"adaptive": True}, "RangeMean has no option 'adaptive'"),
        ({"guess": (0.0, 30.0)}, "guess"),
        ({"guess": (0.5, 70.0)}, "guess"),
        ({"prior": [0.0, 0.0]}, "prior"),
        ({"level": 1.5}, "level must be"),
    ):
        with pytest.raises(DiscreetError, match=words):
            RangeMean(DOMAIN, 20, 50, 1, **options)
    with pytest.raises(DiscreetError, match="domain of a range mean must be"):
        RangeMean("0 to 100", 20, 50, 1)


@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_nobody_in_range_is_said_honestly(method):
    plan = RangeMean(DOMAIN, 20, 50, 1, method, "duchi")
    answers = [dc.simulate(plan, np.full(4000, 80.0), seed=seed) for seed in range(12)]
    silent = [a for a in answers if not a.details["enough"]]
    assert len(silent) >= 9  # the count is noise: at 95 % it may look like somebody now and then
    assert sum((a.value, a.interval) == (35.0, (20.0, 50.0)) for a in silent) >= 6
    for answer in silent:
        assert 20 <= answer.interval[0] <= answer.value <= answer.interval[1] <= 50
        assert answer.value in (35.0, *answer.interval)  # the middle, or as near to it as the interval allows
        assert any("too few" in sentence for sentence in answer.assumed)
        assert answer.details["count_interval"][0] == 0
    with pytest.raises(DiscreetError, match="at least 2"):
        dc.simulate(RangeMean(DOMAIN, 20, 50, 1, "outside-symbol", "duchi"), [30.0], seed=1)


def test_encoder():
    encoder = RangeEncoder(DOMAIN, 20, 50, (20, 30))
    assert encoder.encode([20, 25, 50, 51, -5, 300]).inputs.tolist() == [-1, 0, 1, OUTSIDE, OUTSIDE, OUTSIDE]
    assert (encoder.encode([-5, 300, 20]).clipped_low, encoder.encode([-5, 300, 20]).clipped_high) == (1, 1)
    dropping = RangeEncoder(DOMAIN, 20, 50, (20, 30), clip=False)
    assert dropping.encode([20, 25, 50]).inputs.tolist() == [-1, 0, OUTSIDE]
    with pytest.raises(DomainError):
        encoder.encode([math.nan])
    assert encoder.to_dict()["region"] == [20, 30]


# -- several ranges ---------------------------------------------------------------------------------------------------


@pytest.mark.needs("scipy")
def test_several_ranges(wages):
    ranges = [(0, 20), (20, 50), (0, 100)]
    truths = [wages[(wages >= a) & (wages <= b)].mean() for a, b in ranges]
    divided = dc.simulate(RangeMeans(DOMAIN, ranges, 2, "divide", "duchi"), wages, seed=1)
    for answer, truth in zip(divided.estimates, truths, strict=True):
        assert abs(answer.value - truth) < 5 * answer.details["standard_error"]
    joint = dc.simulate(RangeMeans(DOMAIN, ranges, 2, "distribution"), wages, seed=1)
    for answer, truth in zip(joint.estimates, truths, strict=True):
        assert abs(answer.value - truth) < 2
    assert len(joint.rows()) == 3
    json.dumps(joint.to_dict(), allow_nan=False)
    assert joint.n == divided.n == wages.size


@pytest.mark.needs("scipy")
def test_several_ranges_choose_the_smaller_error():
    two = RangeMeans(DOMAIN, [(0, 50), (50, 100)], 4, people=3_000_000, prior=[1, 0, 0, 0, 0, 0, 0, 1])
    many = RangeMeans(DOMAIN, [(k, k + 10) for k in range(0, 100, 10)], 1, people=20_000)
    assert many.method == "distribution"
    assert min(two.predicted, key=two.predicted.get) == two.method
    assert RangeMeans(**(many.arguments() | {"domain": DOMAIN})).method == "distribution"
    for ranges, method in (([], "auto"), ([(0, 10)], "nothing")):
        with pytest.raises(DiscreetError):
            RangeMeans(DOMAIN, ranges, 1, method)
