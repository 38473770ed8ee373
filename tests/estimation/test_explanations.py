import math

import numpy as np
import pytest
from tests.estimation.common import beta_histogram, reports, square_wave

from discreet.estimation.density import HEAP_VARIANCE, Fit, Leaves, Prior, Reports, _parts, heaps_at
from discreet.estimation.em import ems, joint
from discreet.estimation.explanations import EVENLY, Explanation, Explanations, _ends
from discreet.estimation.functionals import Cdf, Mean, Quantile, Range, RangeMean
from discreet.estimation.search import AT_END, _Search, explain
from discreet.estimation.within import Lattice, Within
from discreet.metrics import kolmogorov_smirnov, wasserstein
from discreet.operators import Band, Dense

pytestmark = pytest.mark.needs("scipy")


def leaves(truth: np.ndarray, n: int, epsilon: float, seed: int) -> Leaves:
    """Frequencies by unary encoding."""
    random = np.random.default_rng(seed)
    p, q = 0.5, 1 / (math.exp(epsilon) + 1)
    counts = random.multinomial(n, truth)
    support = random.binomial(counts, p) + random.binomial(n - counts, q)
    return Leaves((support / n - q) / (p - q), q * (1 - q) / (n * (p - q) ** 2), (1 - 2 * q) / ((p - q) * n))


def lattice(step: int, size: int) -> Lattice:
    """Every step-th bucket holds a point in its middle."""
    buckets = np.arange(0, size, step)
    return Lattice(float(step), (buckets + 0.5) / size, buckets)


@pytest.mark.parametrize("profile", ["flat", "bent"])
def test_gram_is_that_of_the_dense_matrix(profile: str) -> None:
    near = 0.1 if profile == "flat" else np.array([0.05, 0.1, 0.12, 0.1, 0.05])
    channel, weights = Band(9, 5, near, 0.01), np.random.default_rng(1).random(13)
    full = channel.dense().T @ np.diag(weights) @ channel.dense()
    centring = np.eye(9) - 1 / 9  # changes of f with sum zero feel only this part
    np.testing.assert_allclose(centring @ channel.gram(weights) @ centring, centring @ full @ centring, atol=1e-12)


def test_the_mode_is_stationary_and_the_evidence_is_laplace() -> None:
    channel, truth = square_wave(1.0, 24), beta_histogram(24)
    data = Reports(channel, reports(channel, truth, 5000, 1), leaves(truth, 500, 1.0, 2))
    prior = Prior(10.0, 5.0, 0.01)
    fit = data.fit(prior)
    known = fit.curvature
    slope = fit.score - known.precision @ fit.theta
    assert abs(slope @ np.linalg.solve(known.information + known.precision, slope)) < 1e-3
    # The gradient is that of the likelihood, and the information close to its curvature.
    score = data._slopes(fit.f, np.asarray(channel @ fit.f))[0]
    np.testing.assert_allclose(fit.score, score, atol=0.2)  # that at the mode itself, one step ahead
    for k in (0, 11, 23):
        step = 1e-5 * np.eye(24)[k]
        moved = [data._likelihood(np.exp(fit.theta + s) / np.exp(fit.theta + s).sum())[0] for s in (step, -step)]
        assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(score[k], rel=1e-3, abs=1e-3)
    covariance = np.linalg.inv(known.precision)
    goal = data._likelihood(fit.f)[0] - 0.5 * fit.theta @ known.precision @ fit.theta
    volume = np.linalg.slogdet(np.eye(24) + covariance @ known.information)[1]
    assert fit.evidence == pytest.approx(goal - 0.5 * volume, abs=1e-3)


def test_a_fit_never_ends_with_a_step_that_makes_it_worse() -> None:
    # In directions of which the reports tell little the last step is long, and a parabola is a poor guide there.
    x = np.arange(64) + 0.5
    truth = np.exp(-0.5 * ((np.log(x) - 2) / 0.55) ** 2) / x
    truth *= 0.95 / truth.sum()
    truth[42] += 0.05
    channel = square_wave(3.0, 64)
    for seed, smoothness in ((7, 0.1), (4, 0.001), (10, 0.01)):
        data = Reports(channel, reports(channel, truth, 50_000, seed))
        fit = data.fit(Prior(smoothness, scale="logarithmic"))
        precision = fit.curvature.precision
        score, information = data._slopes(fit.f, np.asarray(channel @ fit.f))
        slope = score - precision @ fit.theta
        assert slope @ np.linalg.solve(information + precision, slope) < 1.0  # twice the nats that are still to gain


def test_one_false_report_of_an_oracle_is_no_heap() -> None:
    # At epsilon 10, 400 people who all hold bucket 0; randomised response puts one of them elsewhere.
    n, size, ratio = 400, 256, math.exp(10)
    p, q = ratio / (ratio + size - 1), 1 / (ratio + size - 1)
    counts = np.zeros(size)
    counts[[0, 100]] = n - 1, 1
    found = Leaves((counts / n - q) / (p - q), q * (1 - q) / (n * (p - q) ** 2), (1 - 2 * q) / ((p - q) * n))
    there, elsewhere = np.eye(size)[0], np.eye(size)[0].copy()
    elsewhere[[0, 100]] = 1 - 1 / n, 1 / n
    # A Poisson count of 1 where n q = 0.018 is expected: ln(1 / 0.018) - 1 nats, where a normal law says 28.
    assert found.likelihood(elsewhere) - found.likelihood(there) == pytest.approx(math.log(1 / (n * q)) - 1, abs=0.1)
    f, step = np.full(size, 1 / size), 1e-7 * np.eye(size)[100]
    slope = (found.likelihood(f + step) - found.likelihood(f - step)) / 2e-7
    assert slope == pytest.approx((found.frequencies[100] - f[100]) / found.variance(f)[100], rel=1e-4)


def test_heap_gains_foretell_the_evidence() -> None:
    channel = square_wave(2.0, 64)
    truth = 0.9 * beta_histogram(64) + 0.1 * np.eye(64)[30]
    data = Reports(channel, reports(channel, truth, 20_000, 1), leaves(truth, 4000, 2.0, 3))
    fit = data.fit(Prior(1000.0))
    gains = fit.heap_gains()
    assert gains.argmax() == 30
    more = data.with_heap(fit, 30)
    assert more.single == (30,)
    assert more.evidence - fit.evidence > 0.8 * gains[30] > 5
    assert more.heap_gains()[30] == -math.inf
    # Raising one bucket's variance is a lattice of one bucket, but for the part that all its points share.
    again = data.fit(Prior(1000.0, heaps=(heaps_at(np.array([30]), 0.0),)))
    np.testing.assert_allclose(again.f, more.f, atol=1e-4)
    assert again.evidence == pytest.approx(more.evidence, abs=0.1)  # the volume is that of one step before the mode
    assert HEAP_VARIANCE > 0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.5])
def test_recovers_a_smooth_density(epsilon: float) -> None:
    truth, channel = beta_histogram(128), square_wave(epsilon, 128)
    distances = []
    for seed in range(4):
        counts = reports(channel, truth, 100_000, seed)
        found = explain(Reports(channel, counts))
        assert math.isclose(found.f.sum(), 1, abs_tol=1e-9)
        distances.append((wasserstein(truth, found.f), wasserstein(truth, ems(channel, counts).f)))
    ours, smoothed = np.mean(distances, axis=0)
    assert ours < {0.5: 0.012, 1.0: 0.006, 2.5: 0.003}[epsilon]
    assert ours < 1.15 * smoothed


def test_consistent_where_smoothed_em_is_not() -> None:
    truth, channel = beta_histogram(128), square_wave(1.0, 128)
    counts = 1e9 * (channel @ truth)
    assert wasserstein(truth, explain(Reports(channel, counts)).f) < 3e-4
    assert wasserstein(truth, ems(channel, counts, stop="fixed-point").f) > 1e-3


def test_finds_a_heap_and_leaves_smooth_data_smooth() -> None:
    channel, smooth = square_wave(2.0, 128), beta_histogram(128)
    heaped = 0.7 * smooth + 0.3 * np.eye(128)[40]
    for truth, found in ((smooth, ()), (heaped, (40,))):
        data = Reports(channel, reports(channel, truth, 40_000, 1), leaves(truth, 4000, 2.0, 2))
        explained = explain(data)
        assert set(explained.leading.fit.single) - {0, 127} == set(found)
        assert explained.details()["heaps"] == len(found)
        assert kolmogorov_smirnov(truth, explained.f) < 0.03
    # Nobody knows where in its bucket the heap lies: its interval is the bucket, and that of a share reaches over it.
    explained = explain(data)
    median = explained.bounds(Quantile(0.3), 0.95)
    assert (median.lower, median.upper) == pytest.approx((40 / 128, 41 / 128), abs=2e-3)
    share = explained.bounds(Cdf(40.5 / 128), 0.95)
    assert share.lower < heaped[:40].sum() + 0.05
    assert share.upper > heaped[:41].sum() - 0.05


def test_heaps_are_one_set_in_any_order_and_free_at_the_ends() -> None:
    channel = square_wave(2.0, 128)
    search = _Search(Reports(channel, reports(channel, beta_histogram(128), 1000, 1)), [], None)
    first, second = search.prices(())[40], search.prices((40,))[80]
    assert first == pytest.approx(math.log(128))
    assert first + second == pytest.approx(math.log(128**2 / 2))  # any two of 128
    assert search.prices((40, 0, 127))[80] == pytest.approx(second)
    assert search.prices((40,))[0] == search.prices(())[-1] == AT_END


def test_a_few_spikes_are_seen_as_heaps_and_nothing_between_them() -> None:
    size, places = 256, [3, 6, 16, 32, 64, 96, 128, 192]
    truth = 0.08 * beta_histogram(size)
    truth[places] += 0.92 * np.array([4, 10, 8, 30, 26, 9, 12, 3]) / 102
    channel = square_wave(4.0, size)
    data = Reports(channel, reports(channel, truth, 46_000, 1), leaves(truth, 4000, 4.0, 2))
    explained = explain(data)
    assert set(places) <= set(explained.leading.fit.single)
    assert kolmogorov_smirnov(truth, explained.f) < 0.01
    assert np.delete(explained.f, places).sum() == pytest.approx(0.08, abs=0.02)


def test_a_heap_is_guessed_at_the_roundest_number_of_its_bucket() -> None:
    # Bucket 40 of 128 is [0.3125, 0.3203]: a multiple of 1/16, of 1/64 and of 1/128 lies at its lower edge.
    size, smooth = 128, beta_histogram(128)
    truth = 0.7 * smooth + 0.3 * np.eye(size)[40]
    channel = square_wave(3.0, size)
    data = Reports(channel, reports(channel, truth, 40_000, 1), leaves(truth, 4000, 3.0, 2))
    steps = [Lattice(1 / parts, np.arange(parts) / parts, np.arange(0, size, size // parts)) for parts in (16, 64, 128)]
    found = explain(data, steps)
    assert 40 in found.leading.fit.single
    assert found.value(Cdf(40 / size)) == pytest.approx(truth[:41].sum(), abs=0.02)
    share = found.bounds(Cdf(40 / size), 0.95)
    assert share.lower < truth[:40].sum() + 0.02  # nobody knows that it lies there
    assert share.upper > truth[:41].sum() - 0.02


def test_recognises_a_lattice_and_reads_points() -> None:
    size, points = 120, lattice(4, 120)
    curve = beta_histogram(size)
    truth = np.zeros(size)
    truth[points.buckets] = curve[points.buckets]
    truth /= truth.sum()
    channel = square_wave(3.0, size)
    data = Reports(channel, reports(channel, truth, 200_000, 1), leaves(truth, 40_000, 3.0, 2))
    explained = explain(data, [lattice(3, size), points])
    assert explained.details()["heaps_at_multiples_of"] == [4.0]
    median = Quantile(0.5)(truth, Within.on_lattice(points, size, np.ones(size)))
    assert explained.value(Quantile(0.5)) == pytest.approx(median, abs=1e-8)
    bounds = explained.bounds(Quantile(0.5), 0.95)
    assert bounds.lower <= median + 1e-8
    assert bounds.upper >= median - 1e-8
    # The same reports without the lattice: the interval says at least the bucket.
    blind = explain(data).bounds(Quantile(0.5), 0.95)
    assert blind.lower <= median <= blind.upper
    assert blind.upper - blind.lower >= 1 / size - 1e-9


def test_a_fine_lattice_explains_buckets_that_hold_more_points() -> None:
    """Whole minutes in buckets of 1.2 minutes: every fifth bucket holds two of them."""
    size = 100
    places = (np.arange(120) + 0.5) / 120
    minutes = Lattice(1.0, places, (places * size).astype(np.int64))
    held = minutes.points_per_bucket(size)
    truth = held * beta_histogram(size)
    truth /= truth.sum()
    channel = square_wave(3.0, size)
    data = Reports(channel, reports(channel, truth, 100_000, 1), leaves(truth, 10_000, 3.0, 2))
    explained = explain(data, [minutes])
    assert explained.details()["heaps_at_multiples_of"] == [1.0]
    x = places[60]
    inside = Within.on_lattice(minutes, size, np.ones(size))
    assert abs(explained.value(Cdf(x)) - Cdf(x)(truth, inside)) < 0.01


def test_neighbours_on_the_same_lattice_are_heaps_as_well() -> None:
    """Fares in steps of half a euro, in buckets of 40 cents: a heap's neighbours are mostly heaps, but not all of them.

    Until 0.2 their mass was taken as spread evenly, so a range that starts and ends on fares missed half of them.
    """
    size = 100
    fares = Lattice(0.5, np.arange(81) / 80, np.minimum((np.arange(81) / 80 * size + 1e-9).astype(np.int64), size - 1))
    truth = np.bincount(fares.buckets, beta_histogram(81), size)
    channel = square_wave(4.0, size)
    data = Reports(channel, reports(channel, truth, 100_000, 1), leaves(truth, 10_000, 4.0, 2))
    explained = explain(data, [fares])
    assert explained.details()["heaps_at_multiples_of"] == [0.5]
    low, high = fares.places[[24, 40]]
    share = beta_histogram(81)[24:41].sum()
    assert abs(explained.value(Range(low, high)) - share) < 0.01
    bounds = explained.bounds(Range(low, high), 0.95)
    assert bounds.lower < share < bounds.upper


def test_values_that_are_the_buckets() -> None:
    channel, truth = square_wave(2.0, 50), beta_histogram(50)
    own = Lattice(1.0, (np.arange(50) + 0.5) / 50, np.arange(50))
    explained = explain(Reports(channel, reports(channel, truth, 50_000, 1)), [], own)
    for q in (0.1, 0.5, 0.9):
        bounds = explained.bounds(Quantile(q), 0.95)
        for x in (bounds.lower, bounds.upper, explained.value(Quantile(q))):
            assert (x * 50 - 0.5) == pytest.approx(round(x * 50 - 0.5), abs=1e-6)


def normal(value: float, spread: float) -> Explanation:
    """An explanation of two buckets whose first share is normal with this centre and spread."""
    factor = np.eye(2) * value * (1 - value) * math.sqrt(2) / spread
    f = np.array([value, 1 - value])
    fit = Fit(f, np.zeros(2), 0.0, Prior(1.0), (), np.zeros(2), f, factor, None)
    return Explanation(fit, Within(2), 0.0)


def test_ends_are_quantiles_of_the_mixture() -> None:
    z = 1.959964
    one = Explanations([normal(0.5, 0.01)], 2).bounds(Range(0.0, 0.5), 0.95)
    assert (one.lower, one.upper) == pytest.approx((0.5 - z * 0.01, 0.5 + z * 0.01), abs=1e-6)
    assert one.standard_error == pytest.approx(0.01)
    both = [normal(0.4, 0.01), normal(0.6, 0.01)]
    two = Explanations(both, 2).bounds(Range(0.0, 0.5), 0.95)
    # Each counts half, so each end is the 5 % quantile of its own explanation.
    assert (two.lower, two.upper) == pytest.approx((0.4 - 1.644854 * 0.01, 0.6 + 1.644854 * 0.01), abs=1e-6)
    low, high = Explanations(both, 2).band(np.array([0.0, 1.0]), np.array([1.0, 2.0]), 0.95)
    assert (low[0], high[0]) == pytest.approx((two.lower, two.upper), abs=1e-6)


def test_the_mean_of_a_range_is_as_unsure_as_most_explanations_not_as_the_least_sure_one() -> None:
    channel, truth, wanted = square_wave(1.0, 64), beta_histogram(64), RangeMean(0.5, 0.875)
    held, widths = 0, []
    for seed in range(20):
        found = explain(Reports(channel, reports(channel, truth, 5000, seed)))
        bounds = found.bounds(wanted, 0.95)
        held += bounds.lower <= wanted(truth) <= bounds.upper
        read = [found._read(one, wanted) for one in found.allowed]
        values, errors, less, more, chances = (np.concatenate(part) for part in zip(*read, strict=True))
        weights = chances * np.repeat(found.weights, [part[0].size for part in read])
        low, high = _ends(weights, values - less, values + more, errors, 0.95)
        widths.append((bounds.upper - bounds.lower) / float(high - low))
    assert held >= 18
    assert max(widths) < 1.05
    assert np.mean(widths) == pytest.approx(0.85, abs=0.06)


def test_intervals_lie_around_a_histogram_that_the_prior_hardly_pulls() -> None:
    x = (np.arange(48) + 0.5) / 48
    truth = np.exp(-0.5 * ((x - 0.3) / 0.05) ** 2) + np.exp(-0.5 * ((x - 0.7) / 0.05) ** 2)
    truth /= truth.sum()
    channel, prior, n = square_wave(1.0, 48), Prior(10.0), 10_000
    expected = Reports(channel, n * np.asarray(channel @ truth)).fit(prior)  # no noise: what is off is bias
    numbers = [functional.gradient(truth) for functional in (Range(0.2, 0.4), Range(0.4, 0.6), Cdf(0.5))]
    for gradient in numbers[:2]:
        shrunk, unshrunk = ((f - truth) @ gradient for f in (expected.f, expected.unshrunk))
        assert abs(unshrunk) < 0.6 * abs(shrunk)
        assert abs(shrunk) > 0.5 * expected.error(gradient)
    fits = [Reports(channel, reports(channel, truth, n, seed)).fit(prior) for seed in range(200)]
    for gradient in numbers:
        spread = np.std([fit.unshrunk @ gradient for fit in fits])
        assert spread < 1.2 * np.mean([fit.error(gradient) for fit in fits])  # 1.09, and chance
    np.testing.assert_allclose([fit.unshrunk.sum() for fit in fits], 1)
    one = Explanations([Explanation(fits[0], Within(48), 0.0)], 48)
    assert one.bounds(Range(0.2, 0.4), 0.95).estimate == pytest.approx(float(fits[0].unshrunk @ numbers[0]))
    np.testing.assert_array_equal(one.centre, fits[0].unshrunk)


def test_no_explanation_is_less_sure_than_the_reports_alone() -> None:
    """The last step of a fit may be long; with the curvature before it and the slopes after it, errors were doubled."""
    channel, truth, n = square_wave(0.5, 64), 0.4 * beta_histogram(64) + 0.6 * np.eye(64)[0], 5000
    matrix = channel.dense()
    gradient = Mean().gradient(truth) - Mean()(truth)
    information = matrix.T @ (matrix * (n / (matrix @ truth))[:, None])
    alone = math.sqrt(gradient @ np.linalg.solve(information, gradient))  # of an unbiased estimate, without any prior
    for seed in (3, 4, 7):
        allowed = explain(Reports(channel, reports(channel, truth, n, seed))).allowed
        errors = [one.fit.error(Mean().gradient(one.fit.f)) for one in allowed]
        assert max(errors) < 1.1 * alone
        assert max(errors) > 0.6 * alone


def test_draws_have_the_stated_spread() -> None:
    channel, truth = square_wave(1.0, 64), beta_histogram(64)
    explained = explain(Reports(channel, reports(channel, truth, 50_000, 3)))
    draws = explained.draws(4000)
    assert draws.shape == (4000, 64)
    np.testing.assert_allclose(draws.sum(axis=1), 1, atol=1e-9)
    plain = Explanations(explained.allowed, 64)  # draws have no parts that the reports hide
    for functional in (Mean(), Range(0.5, 0.75)):
        spread = (draws @ functional.gradient(truth)).std()
        assert spread == pytest.approx(plain.bounds(functional, 0.95).standard_error, rel=0.08)


def test_a_curve_has_independent_second_differences() -> None:
    smooth, rough, line = _parts(40, "even")
    second, first = np.diff(np.eye(40), n=2, axis=0), np.diff(np.eye(40), axis=0)
    np.testing.assert_allclose(second @ smooth @ second.T, np.eye(38), atol=1e-8)
    np.testing.assert_allclose(first @ rough @ first.T, np.eye(39) / 40, atol=1e-10)
    np.testing.assert_allclose(second @ line @ second.T, 0, atol=1e-10)
    # Along a logarithmic scale the walk takes larger steps near the lower end, and as many of them in all.
    steps = np.diag(first @ _parts(40, "logarithmic")[1] @ first.T)
    assert (np.diff(steps) < 0).all()
    assert steps.mean() == pytest.approx(1 / 40)


def _best_curve(found: Explanations) -> Explanation:
    """Return the best explanation that is no log-normal law, nor made of one."""
    curves = [one for one in found.allowed if one.fit.prior.scale != "log-normal"]
    return max(curves, key=lambda one: one.score)


def test_incomes_are_smooth_along_a_logarithmic_scale() -> None:
    x = (np.arange(128) + 0.5) / 128
    truth = np.exp(-0.5 * (np.log(x / 0.08) / 0.85) ** 2) / x
    truth /= truth.sum()
    channel = square_wave(4.0, 128)
    counts = reports(channel, truth, 20_000, 1)
    found = explain(Reports(channel, counts))
    assert found.leading.fit.prior.scale == "log-normal"
    even = [one.score for one in found.allowed if one.fit.prior.scale == "even"]
    assert found.leading.score > max(even, default=-math.inf) + 2
    # Without log-normal laws the logarithmic scale would lead.
    curves = {
        scale: max(Reports(channel, counts).fit(Prior(10.0**power, scale=scale)).evidence for power in range(0, 7))
        for scale in ("even", "logarithmic")
    }
    assert curves["logarithmic"] > curves["even"] + 2


def test_beside_a_heap_at_an_end_the_density_may_vanish() -> None:
    x = (np.arange(128) + 0.5) / 128
    truth = 0.6 * x * np.exp(-5 * x) / (x * np.exp(-5 * x)).sum()
    truth[0] += 0.4
    channel = square_wave(4.0, 128)
    found = explain(Reports(channel, reports(channel, truth, 20_000, 1), leaves(truth, 2000, 4.0, 2)))
    assert _best_curve(found).fit.prior.vanishing == (0,)
    assert _best_curve(found).fit.single[:1] == (0,)
    assert 0.5 * truth[1:5].sum() < found.f[1:5].sum() < 2 * truth[1:5].sum()  # the others keep away from 0
    offset = Prior(1.0, vanishing=(0, 3)).offset(4)
    np.testing.assert_allclose(np.exp(offset), [0.5 * 3.5, 1.5 * 2.5, 2.5 * 1.5, 3.5 * 0.5])


def test_a_kind_of_explanation_counts_as_its_best_one_does() -> None:
    channel, truth = square_wave(1.0, 64), beta_histogram(64)
    found = explain(Reports(channel, reports(channel, truth, 2000, 1)), [lattice(2, 64), lattice(4, 64)])
    kinds = np.array([one.kind for one in found.allowed])
    assert set(kinds) == {"smooth", "log-normal", "rough", "lattice", "scatter"}
    scores = np.array([one.score for one in found.allowed])
    evidence = np.exp(EVENLY * (scores - scores.max()))
    best = {kind: evidence[kinds == kind].max() for kind in set(kinds)}
    for kind, counts in best.items():
        assert found.weights[kinds == kind].sum() == pytest.approx(counts / sum(best.values()))
        within = found.weights[kinds == kind] / evidence[kinds == kind]
        np.testing.assert_allclose(within, within[0])


def test_a_narrow_hill_near_an_end_is_not_taken_for_a_slope_for_sure() -> None:
    """5000 reports at epsilon 1 hardly tell a log-normal law from a curve that rises to the end: both are allowed."""
    size = 128
    x = (np.arange(size) + 0.5) / size
    truth = np.exp(-0.5 * (np.log(x / 0.05) / 0.5) ** 2) / x
    truth /= truth.sum()
    channel, below = square_wave(1.0, size), Cdf(0.03)
    held = 0
    for seed in range(20):
        found = explain(Reports(channel, reports(channel, truth, 5000, seed)))
        bounds = found.bounds(below, 0.95)
        held += bounds.lower <= below(truth) <= bounds.upper
        hills = [one for one in found.allowed if one.kind == "log-normal"]
        assert hills
        assert found.weights[[one.kind == "log-normal" for one in found.allowed]].sum() > 0.15
    assert held >= 17


def test_heaps_at_once_are_heaps_one_by_one() -> None:
    channel, truth = square_wave(1.0, 64), beta_histogram(64)
    data = Reports(channel, reports(channel, truth, 5000, 1))
    slowly = data.with_heap(data.with_heap(data.fit(Prior(1e3)), 0), 40)
    at_once = data.fit(Prior(1e3), single=(0, 40))
    assert at_once.single == slowly.single == (0, 40)
    assert at_once.evidence == pytest.approx(slowly.evidence, abs=0.3)  # fits end once little can be gained
    np.testing.assert_allclose(at_once.f, slowly.f, rtol=0.1)


def test_a_bucket_with_few_people_may_be_empty() -> None:
    """Nobody holds the last tenth of the domain, though the curve runs on there."""
    x = (np.arange(64) + 0.5) / 64
    truth = np.exp(-6 * x) * (x < 0.9)
    truth /= truth.sum()
    channel = square_wave(4.0, 64)
    found = explain(Reports(channel, reports(channel, truth, 2000, 1)))
    edges = np.arange(65.0)
    low, high = found.band(edges[:-1], edges[1:], 0.95, small=True)
    few = found.centre * 2000 < 3
    assert few[truth == 0].all()
    assert (low[few] == 0).all()
    assert (high[few] > 0).all()
    assert (low[~few] > 0).mean() > 0.9


def test_other_channels() -> None:
    truth = beta_histogram(64)
    channels = [square_wave(1.0, 64), square_wave(2.0, 64)]
    channel, counts = joint(channels, [reports(c, truth, 50_000, k) for k, c in enumerate(channels)])
    assert wasserstein(truth, explain(Reports(channel, counts)).f) < 0.008
    wave = channels[0]
    counts = reports(wave, truth, 50_000, 4)
    np.testing.assert_allclose(
        Reports(Dense(wave.dense()), counts).fit(Prior(100.0)).f, Reports(wave, counts).fit(Prior(100.0)).f, atol=1e-9
    )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_few_buckets_and_few_reports(size: int) -> None:
    channel = Band(size, 2, 0.4, 0.1)
    for counts in (np.full(channel.shape[0], 10.0), np.eye(channel.shape[0])[0]):
        explained = explain(Reports(channel, counts))
        assert math.isclose(explained.f.sum(), 1)
        for functional in (Mean(), Quantile(0.5), Cdf(0.3)):
            bounds = explained.bounds(functional, 0.95)
            assert math.isfinite(bounds.lower)
            assert bounds.lower <= bounds.upper


def test_bad_input_is_refused() -> None:
    channel = square_wave(1.0, 16)
    with pytest.raises(ValueError, match="no reports"):
        Reports(channel, np.zeros(channel.shape[0]))
    with pytest.raises(ValueError, match="one finite frequency for each of the 16 buckets"):
        Reports(channel, np.ones(channel.shape[0]), Leaves(np.zeros(3), 1.0, 1.0))
