import json
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.advice import people_to_compare
from discreet.mechanisms.registry import entries
from discreet.plans.base import Answered
from discreet.plans.coarse import same_distributions
from discreet.plans.compared import same_frequencies
from discreet.plans.comparison import differ
from discreet.plans.frequency import oracle_candidates
from discreet.tallies import Tally

WAGE = dc.Interval(0, 100)
ORACLES = sorted(e.name for e in entries().values() if e.question == "frequency" and e.needs == ("size",))


def answered(plan, tally):
    return plan.estimate([Answered(plan.round([]), {"all": tally})])


def mean(value, n=5000, seed=1, **options):
    return dc.simulate(dc.Mean(WAGE, epsilon=1, method="duchi", **options), [value] * n, seed=seed)


def frequencies(f, n, seed, method="subset-selection", epsilon=1.0):
    plan = dc.Frequency(dc.Categories(list("abcdefgh")[: len(f)]), epsilon, method=method)
    values = np.array(list("abcdefgh"))[np.random.default_rng(seed).choice(len(f), n, p=f)]
    return dc.simulate(plan, values, seed=seed)


# -- numbers -----------------------------------------------------------------------------------------------------


def test_the_difference_of_two_means_is_welchs():
    a, b = mean(40.0), mean(55.0, n=2000, seed=2)
    found = dc.compare(a, b)
    assert found.value == a.value - b.value
    assert np.isclose(found.margin, np.hypot(a.margin, b.margin))
    error = np.hypot(a.details["standard_error"], b.details["standard_error"])
    assert np.isclose(found.margin, 1.959964 * error, rtol=1e-3)  # a few thousand people: Student's is almost normal
    assert found.n == 7000
    assert found.question == "difference of mean"
    assert dc.compare(b, a).value == -found.value
    assert found.p_value < 1e-6
    assert "p = " in repr(found)
    assert json.loads(json.dumps(found.to_dict()))["p_value"] == found.p_value
    assert found.rows()[0]["p_value"] == found.p_value


def test_another_level_has_another_width_and_the_same_p_value():
    a, b = mean(40.0), mean(42.0, seed=2)
    wide = dc.compare(a, b, level=0.99)
    assert wide.margin > dc.compare(a, b).margin
    # It is read off the interval; Student's at two levels differ a little from one normal law.
    assert np.isclose(wide.p_value, dc.compare(a, b).p_value, rtol=1e-3)
    assert np.isclose(wide.margin, dc.compare(mean(40.0, level=0.99), mean(42.0, seed=2, level=0.99)).margin)


def test_coverage_and_level_of_differences_of_means():
    rng, plan = np.random.default_rng(3), dc.Mean(WAGE, epsilon=1, method="duchi")
    mechanism = plan.round([]).channels[0].mechanism
    covered, rejected = [], []
    for _ in range(2000):
        answers = [
            answered(plan, mechanism.draw_tally([-0.5, x], [0.5, 0.5], n, rng)) for n, x in ((300, 0.5), (900, 0.5))
        ]
        found = dc.compare(*answers)
        covered.append(found.interval[0] <= 0 <= found.interval[1])
        rejected.append(found.p_value < 0.05)
    assert covered == [not one for one in rejected]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_what_cannot_be_compared_is_refused():
    a, f = mean(40.0), frequencies([0.5, 0.5], 1000, 1)
    with pytest.raises(dc.DiscreetError, match="same kind, not 'mean' and 'frequency'"):
        dc.compare(a, f)
    with pytest.raises(dc.DiscreetError, match="different people"):
        dc.compare(a, a)
    with pytest.raises(dc.DiscreetError, match="same categories"):
        dc.compare(f, frequencies([0.2, 0.3, 0.5], 1000, 1))
    with pytest.raises(dc.DiscreetError, match="not of type float"):
        dc.compare(a, 3.0)
    with pytest.raises(dc.DiscreetError, match="level must be"):
        dc.compare(a, mean(41.0, seed=2), level=95)
    with pytest.raises(dc.DiscreetError, match="at least 2 answers"):
        dc.compare_all([a])
    with pytest.raises(dc.DiscreetError, match="know their covariance"):
        dc.compare(f, replace(f, covariance=None))


# -- frequencies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ORACLES)
def test_the_covariance_has_the_exact_variances_on_its_diagonal(method):
    f = np.array([0.4, 0.3, 0.1, 0.1, 0.06, 0.04])
    oracle = dc.mechanism(method, epsilon=1.0, size=6)
    covariance = oracle.frequency_covariance(f)
    assert np.allclose(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9
    if method != "count-mean-sketch":  # its variance is over the choice of functions; its covariance for those chosen
        assert np.allclose(np.diag(covariance), oracle.frequency_variance(f, 1) + f * (1 - f))


@pytest.mark.parametrize("size", [4, 6, 9])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_covariances_are_those_of_the_listed_reports(size, epsilon):
    f, seen = np.random.default_rng(1).dirichlet(np.ones(size)), 0
    for oracle in oracle_candidates(epsilon, size):
        if oracle.name in ("local-hashing", "count-mean-sketch"):  # too many reports to list
            continue
        if oracle.operator().shape[0] == oracle.alphabet:
            units = np.eye(oracle.alphabet, dtype=np.int64)
            support = np.array([oracle.support_counts(Tally(oracle.id, 1, unit)) for unit in units])
        else:
            support = np.array([[bits >> v & 1 for v in range(size)] for bits in range(1 << size)])
            if oracle.name == "subset-selection":
                support = support[support.sum(axis=1) == oracle.k]
        law = f @ oracle.matrix()
        exact = (support * law[:, None]).T @ support - np.outer(law @ support, law @ support)
        assert np.abs(oracle.support_covariance(f) - exact).max() < 1e-12
        seen += 1
    assert seen >= 6


def test_frequencies_differ_by_category_and_together():
    a, b = frequencies([0.5, 0.3, 0.2], 20_000, 1), frequencies([0.3, 0.5, 0.2], 20_000, 2)
    found = dc.compare(a, b)
    assert list(found.differences) == ["a", "b", "c"]
    assert len(found) == 3
    assert np.allclose(found.value, a.raw - b.raw)
    assert found.p_value < 1e-6
    assert found.test.degrees == 2
    assert found["a"].p_value < 1e-3
    assert found["c"].interval[0] < 0 < found["c"].interval[1]
    together = found.simultaneous()
    assert (np.ptp(together.interval, axis=1) > np.ptp(found.interval, axis=1)).all()
    assert together["c"].p_value >= found["c"].p_value
    assert [row["name"] for row in found.rows()] == ["a", "b", "c"]
    assert json.loads(json.dumps(found.to_dict()))["test"]["degrees"] == 2
    with pytest.raises(dc.DiscreetError, match="'z'"):
        found["z"]


def test_frequencies_asked_with_different_epsilons_can_be_compared():
    a = frequencies([0.5, 0.3, 0.2], 20_000, 1, method="randomized-response", epsilon=2.0)
    b = frequencies([0.5, 0.3, 0.2], 20_000, 2, method="optimized-unary")
    assert dc.compare(a, b).p_value > 1e-3


def levels(f, n, method, groups=2, runs=2000, epsilon=1.0):
    """Return how often Wald's test, and Pearson's on decoded counts, find a difference that is not there."""
    plan = dc.Frequency(dc.Categories([f"c{i}" for i in range(len(f))]), epsilon, method=method)
    oracle, rng = plan.round([]).channels[0].mechanism, np.random.default_rng(7)
    wald, pearson = [], []
    one = answered(plan, oracle.draw_tally(np.arange(len(f)), f, n, rng))
    for _ in range(runs):
        tallies = [oracle.draw_tally(np.arange(len(f)), f, n * (i + 1), rng) for i in range(groups)]
        shares = [oracle.support_counts(tally) / tally.n for tally in tallies]
        raw = [(share - oracle.q) / (oracle.p - oracle.q) for share in shares]
        answers = [replace(one, raw=f, n=tally.n) for f, tally in zip(raw, tallies, strict=True)]
        wald.append(same_frequencies(answers).p_value < 0.05)
        if groups == 2:
            decoded = [np.maximum(0.5, answer.raw * answer.n) for answer in answers]
            rows = np.array(decoded)
            expected = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / rows.sum()
            pearson.append(((rows - expected) ** 2 / expected).sum() > {2: 5.99, 3: 7.81, 7: 14.07}[len(f) - 1])
    return np.mean(wald), np.mean(pearson or [0])


def test_the_level_of_the_wald_test_and_that_pearsons_does_not_keep_it():
    wald, pearson = levels([0.4, 0.3, 0.2, 0.1], 1000, "randomized-response")
    assert 0.03 <= wald <= 0.07
    assert pearson > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["subset-selection", "projective-geometry", "optimized-unary", "hadamard-response", "count-mean-sketch"]
)
@pytest.mark.parametrize("groups", [2, 5])
def test_the_level_of_the_wald_test_with_every_kind_of_oracle(method, groups):
    if method == "count-mean-sketch" and groups > 2:
        pytest.skip("the same law as with two groups")
    wald, _ = levels([0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02], 2000, method, groups)
    assert 0.03 <= wald <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_people_to_compare_see_the_difference_in_80_of_100_cases(epsilon):
    n, random = people_to_compare(epsilon, 0.1), np.random.default_rng(8)
    plan = dc.Mean(dc.Interval(-1, 1), epsilon)
    mechanism = plan.round([]).channels[0].mechanism

    def drawn(shift):
        return answered(plan, mechanism.draw_tally([shift - 0.5, shift + 0.5], [0.5, 0.5], n, random))

    seen = [dc.compare(drawn(-0.05), drawn(0.05)).p_value < 0.05 for _ in range(2000)]
    assert abs(np.mean(seen) - 0.8) < 0.03


# -- distributions and several numbers ---------------------------------------------------------------------------


@pytest.mark.needs("scipy")
def test_distributions_are_compared_in_four_cells_and_by_their_numbers():
    plan = dc.Distribution(WAGE, epsilon=2, bins=64, method="square-wave-ems")
    rng = np.random.default_rng(3)
    a = dc.simulate(plan, 100 * rng.beta(2, 5, 20_000), seed=1)
    b = dc.simulate(plan, 100 * rng.beta(3, 4, 20_000), seed=2)
    again = dc.simulate(plan, 100 * rng.beta(2, 5, 20_000), seed=3)
    found = dc.compare(a, b)
    assert list(found.differences) == ["0 to 25", "25 to 50", "50 to 75", "75 to 100"]
    assert found.test.degrees == 3
    assert found.p_value < 1e-6
    assert abs(found.value.sum()) < 1e-6
    assert dc.compare(a, again).p_value > 1e-3
    assert len(dc.compare(a, b, cells=8)) == 8
    median = dc.compare(a.median, b.median)
    assert median.question == "difference of quantile 0.5"
    assert median.value < 0
    arm = np.hypot(a.median.value - a.median.interval[0], b.median.interval[1] - b.median.value)
    assert np.isclose(median.interval[0], median.value - arm)
    with pytest.raises(dc.DiscreetError, match=r"not 'quantile 0\.5' and 'quantile 0\.9'"):
        dc.compare(a.median, b.quantile(0.9))
    with pytest.raises(dc.DiscreetError, match="cells must be"):
        dc.compare(a, b, cells=1)
    plan = dc.Distribution(dc.Interval(0, 50), epsilon=2, bins=64, method="square-wave-ems")
    other = dc.simulate(plan, [20.0] * 2000, seed=1)
    with pytest.raises(dc.DiscreetError, match="same domain"):
        dc.compare(a, other)


def shape(kind):
    """Values with their shares: a bell, or heaps at a few round numbers."""
    if kind == "bell":
        held = np.linspace(0.1, 99.9, 200)
        shares = held * (100 - held) ** 4
    else:
        held, shares = np.array([40.0, 35.0, 50.0, 20.0, 60.0]), np.array([5.0, 2.0, 2.0, 1.0, 1.0])
    return held, shares / shares.sum()


def rejections(plan, groups, sizes, runs, seed):
    """Return how often the test of whole distributions rejects, from tallies drawn from their exact laws."""
    random, asked = np.random.default_rng(seed), plan.round([])
    parts = np.array(asked.shares) / sum(asked.shares)
    held, shares = groups[0]
    guess = np.histogram(held, 16, (0, 100), weights=shares)[0] + 1e-3
    found = []
    for _ in range(runs):
        answered = []
        for (values, mass), size in zip(groups, sizes, strict=True):
            people = random.multinomial(size, parts)
            drawn = {
                channel.key: channel.mechanism.draw_tally(channel.encoder.encode(values).inputs, mass, int(n), random)
                for channel, n in zip(asked.channels, people, strict=True)
            }
            answered.append(Answered(asked, drawn))
        found.append(same_distributions(answered, guess / guess.sum(), 4).p_value < 0.05)
    return float(np.mean(found))


@pytest.mark.needs("scipy")
def test_the_test_of_whole_distributions_keeps_its_level_and_sees_a_shift():
    plan = dc.Distribution(WAGE, epsilon=2, bins=16, method="square-wave-ems")
    bell = shape("bell")
    assert 0.02 <= rejections(plan, [bell, bell], (1000, 2000), 150, 1) <= 0.09
    shifted = (np.clip(bell[0] + 10, 0, 100), bell[1])
    assert rejections(plan, [bell, shifted], (1000, 2000), 30, 2) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bell", "heaps"])
@pytest.mark.parametrize("method", ["auto", "square-wave-ems", "hh", "haar-hrr", "hybrid-np-2pem", "binning"])
def test_the_level_of_the_test_of_whole_distributions(method, kind):
    plan = dc.Distribution(WAGE, epsilon=1 if kind == "bell" else 2, bins=64, method=method)
    sizes = (3000, 6000) if kind == "bell" else (1500, 1500, 1500)
    assert 0.03 <= rejections(plan, [shape(kind)] * len(sizes), sizes, 2000, 3) <= 0.07


@pytest.mark.needs("scipy")
def test_distributions_asked_differently_are_compared_by_their_uncertainties():
    rng = np.random.default_rng(3)
    plans = [dc.Distribution(WAGE, epsilon=e, bins=16, method="square-wave-ems") for e in (1, 2)]
    a, b = (dc.simulate(plan, 100 * rng.beta(2, 5, 9000), seed=1) for plan in plans)
    assert dc.compare(a, b).test.degrees == 3
    finer = dc.simulate(dc.Distribution(WAGE, epsilon=1, bins=32, method="square-wave-ems"), [30.0] * 900, seed=1)
    assert dc.compare(a, finer).test.degrees == 3


def test_several_means_are_compared_by_name():
    plan = dc.Means([WAGE, WAGE], epsilon=2, method="duchi", names=["age", "wage"])
    a = dc.simulate(plan, np.full((4000, 2), 40.0), seed=1)
    b = dc.simulate(plan, np.column_stack([np.full(4000, 40.0), np.full(4000, 80.0)]), seed=2)
    found = dc.compare(a, b)
    assert found["wage"].p_value < 1e-6 < found["age"].p_value
    assert found.p_value == 2 * found["wage"].p_value
    assert differ({"a": a, "b": b}).p_value == found.p_value


# -- all pairs ---------------------------------------------------------------------------------------------------


def test_all_pairs_have_wider_intervals_and_larger_p_values():
    groups = {name: mean(value, seed=seed) for seed, (name, value) in enumerate({"a": 40, "b": 41, "c": 70}.items())}
    found = dc.compare_all(groups)
    assert list(found.differences) == ["a – b", "a – c", "b – c"]
    single = dc.compare(groups["a"], groups["b"])
    assert np.isclose(found["a – b"].margin, single.margin * 2.3437 / 1.95996, rtol=1e-4)
    assert found["a – b"].p_value >= single.p_value
    assert found.p_value == differ(groups).p_value
    assert found.test.degrees == 2
    assert dc.compare_all(list(groups.values())).differences.keys() == {"0 – 1", "0 – 2", "1 – 2"}


def test_all_pairs_of_tables():
    shares = {"x": [0.5, 0.5], "y": [0.5, 0.5], "z": [0.9, 0.1]}
    groups = {name: frequencies(f, 5000, seed) for seed, (name, f) in enumerate(shares.items())}
    found = dc.compare_all(groups)
    assert list(found.differences)[:2] == ["x – y: a", "x – y: b"]
    assert len(found) == 6
    assert found["x – z: a"].p_value < 1e-3 < found["x – y: a"].p_value
    assert found.test.degrees == 2


def test_joint_coverage_of_all_differences():
    rng, plan = np.random.default_rng(11), dc.Mean(WAGE, epsilon=1, method="duchi")
    mechanism = plan.round([]).channels[0].mechanism
    hold = []
    for _ in range(400):
        groups = [answered(plan, mechanism.draw_tally([-0.8, 0.6], [1, 1], 500, rng)) for _ in range(6)]
        intervals = dc.compare_all(groups).interval
        hold.append(((intervals[:, 0] <= 0) & (intervals[:, 1] >= 0)).all())
    assert 0.92 <= np.mean(hold) <= 0.98
