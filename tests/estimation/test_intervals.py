import numpy as np
import pytest
from tests.estimation.common import beta_histogram, reports, square_wave

from discreet.estimation.functionals import Cdf, Mean, Quantile, Range, RangeMean, Variance, crossing
from discreet.estimation.intervals import decoded_interval, needless, normal_bounds, ratio_interval
from discreet.estimation.within import Lattice, Within
from discreet.operators import Dense


def test_values_on_an_even_histogram() -> None:
    for size in (1, 3, 8):
        f = np.full(size, 1 / size)
        assert Mean()(f) == pytest.approx(0.5)
        assert Variance()(f) == pytest.approx(1 / 12)
        for x in (0.1, 0.5, 0.77):
            assert Cdf(x)(f) == pytest.approx(x)
            assert Quantile(x)(f) == pytest.approx(x)
        assert Range(0.2, 0.5)(f) == pytest.approx(0.3)
    assert Cdf(0.0)(f) == 0
    assert Cdf(1.0)(f) == pytest.approx(1)


def test_values_with_empty_buckets() -> None:
    assert Quantile(0.5)(np.array([0.5, 0.0, 0.0, 0.5])) == pytest.approx(0.5)  # the middle of the flat piece
    assert Quantile(0.5)(np.array([0.0, 1.0, 0.0, 0.0])) == pytest.approx(0.375)
    assert Quantile(0.25)(np.array([0.0, 1.0])) == pytest.approx(0.625)
    assert Variance()(np.array([0.5, 0.5])) == pytest.approx(1 / 12)


def test_values_agree_with_samples() -> None:
    f = beta_histogram(512)
    x = np.random.default_rng(1).beta(5, 2, 400_000)
    assert Mean()(f) == pytest.approx(5 / 7, abs=1e-5)
    assert Variance()(f) == pytest.approx(10 / (49 * 8), abs=1e-5)
    for level in (0.1, 0.5, 0.9):
        assert Quantile(level)(f) == pytest.approx(np.quantile(x, level), abs=2e-3)
    assert Range(0.3, 0.6)(f) == pytest.approx(((x > 0.3) & (x < 0.6)).mean(), abs=3e-3)


def hours() -> Within:
    """Ten values, two in each of five buckets, with 80 % of the mass on them."""
    places = (np.arange(10) + 0.5) / 10
    return Within.on_lattice(Lattice(1.0, places, np.arange(10) // 2), 5, np.full(5, 0.8))


@pytest.mark.parametrize("within", [None, "points"])
@pytest.mark.parametrize(
    "functional", [Mean(), Variance(), Cdf(0.4), Range(0.2, 0.31), RangeMean(0.2, 0.51), Quantile(0.3)]
)
def test_gradients(functional, within) -> None:
    if within:
        f, direction = np.array([0.1, 0.2, 0.3, 0.3, 0.1]), np.array([0.5, -0.2, -0.4, 0.3, -0.2])
        step = 1e-6
        numeric = (functional(f + step * direction, hours()) - functional(f - step * direction, hours())) / (2 * step)
        if not isinstance(functional, Quantile):  # it jumps from point to point
            assert functional.gradient(f, hours()) @ direction == pytest.approx(numeric, rel=1e-6, abs=1e-9)
        return
    f = beta_histogram(64, 2, 3)
    direction = beta_histogram(64, 3, 2) - f  # keeps the sum
    step = 1e-5
    numeric = (functional(f + step * direction) - functional(f - step * direction)) / (2 * step)
    # A quantile's density is averaged over a stretch around it, hence its wider tolerance.
    tolerance = 0.02 if isinstance(functional, Quantile) else 1e-6
    assert functional.gradient(f) @ direction == pytest.approx(numeric, rel=tolerance)


def test_values_on_points() -> None:
    places = (np.arange(4) + 0.5) / 4
    exact = Within.on_lattice(Lattice(1.0, places, np.arange(4)), 4, np.ones(4))
    f = np.array([0.1, 0.2, 0.3, 0.4])
    assert Mean()(f, exact) == pytest.approx(f @ places)
    assert Variance()(f, exact) == pytest.approx(f @ places**2 - (f @ places) ** 2)
    assert Cdf(0.374)(f, exact) == pytest.approx(0.1)
    assert Cdf(0.375)(f, exact) == pytest.approx(0.3)  # the point itself counts
    assert Quantile(0.3)(f, exact) == pytest.approx(0.375, abs=1e-8)
    assert Quantile(0.31)(f, exact) == pytest.approx(0.625, abs=1e-8)
    assert Range(0.375, 0.625)(f, exact) == pytest.approx(0.5)
    assert RangeMean(0.3, 0.7)(f, exact) == pytest.approx((0.2 * 0.375 + 0.3 * 0.625) / 0.5)


def test_a_heap_of_unknown_place_gives_bounds() -> None:
    f = np.array([0.2, 0.8])
    within = Within(2, loose=np.array([0.0, 0.5]))
    assert Cdf(0.25).slack(f, within) == (0.0, 0.0)
    less, more = Cdf(0.75).slack(f, within)
    # Half of the second bucket's 0.8 is even; the other half lies below 0.75 or above it.
    value = Cdf(0.75)(f, within)
    assert (value - less, value + more) == pytest.approx((0.2 + 0.2, 0.2 + 0.2 + 0.4))
    # At an end of the domain the place of a heap within its bucket does not matter.
    assert Range(0.0, 1.0).slack(f, within) == (0.0, 0.0)
    assert Range(0.75, 1.0).slack(f, within) == pytest.approx((more, less))
    low, high = RangeMean(0.0, 0.75).slack(f, within)
    assert low > 0 < high
    # A heap of 0.4 lies up to half a bucket, a quarter of the domain, from the bucket's middle.
    assert Mean().slack(f, within) == pytest.approx((0.1, 0.1))
    away = 0.75 - Mean()(f, within)
    assert Variance().slack(f, within) == pytest.approx((2 * away * 0.1,) * 2)
    assert Mean().slack(f, Within(2)) == Variance().slack(f, Within(2)) == (0.0, 0.0)


def test_a_heap_at_the_lower_end_of_a_range_may_lie_outside_it() -> None:
    """Prices of 9.99 in the bucket of 10: the best guess has them in the range from 10 on, and they may not be."""
    f = np.array([0.2, 0.5, 0.3, 0.0])
    within = Within(4, np.array([0.3]), np.array([1]), np.array([1.0]), loose=np.array([0.0, 1.0, 0.0, 0.0]))
    functional = Range(0.3, 0.75)
    assert functional(f, within) == pytest.approx(0.8)
    assert functional.slack(f, within) == pytest.approx((0.5, 0.0))
    inside = RangeMean(0.3, 0.75)
    assert inside(f, within) == pytest.approx((0.5 * 0.3 + 0.3 * 0.625) / 0.8)
    less, more = inside.slack(f, within)
    half = 0.5 * (0.5 / 0.8) / 4  # the heap's own place, as in a mean
    assert inside(f, within) + more - half == pytest.approx(0.625)  # without the heap
    assert less == pytest.approx(half)


def test_a_number_between_two_ends_is_missed_on_one_side_only() -> None:
    """Drawn: a number at the end of what is possible is held as often as said, and one in the middle more often."""
    random = np.random.default_rng(1)
    for apart in (0.0, 0.5, 1.0, 2.0, 5.0):
        reach = 1.959964 - float(needless(np.array([apart]), 0.95)[0])
        error = random.standard_normal(400_000)
        at_the_end = ((error - reach <= 0) & (error + apart + reach >= 0)).mean()
        inside = ((error - reach <= apart / 2) & (error + apart + reach >= apart / 2)).mean()
        assert at_the_end == pytest.approx(0.95, abs=0.0025)  # seven standard errors
        assert inside >= at_the_end - 0.0025


def test_heaps_at_the_ends_lie_at_the_ends() -> None:
    """Clipped values and zeros do; what else is in the outer buckets lies where it lay before, and may be loose."""
    f = np.array([0.5, 0.2, 0.2, 0.1])
    vague = Within(4, np.array([0.0]), np.array([0]), np.array([0.9]), loose=np.array([0.9, 0, 0, 0]))
    assert Cdf(0.0)(f, vague) == pytest.approx(0.45)
    assert Cdf(0.0).slack(f, vague) == pytest.approx((0.45, 0.0))
    assert Quantile(0.4)(f, vague) == 0.0
    within = Within(4, loose=np.array([0, 0.5, 0, 0])).with_ends(np.array([0.9, 0.5]))
    assert Cdf(0.0)(f, within) == pytest.approx(0.45)
    assert Cdf(0.0).slack(f, within) == (0.0, 0.0)
    assert Cdf(0.125)(f, within) == pytest.approx(0.45 + 0.025)
    assert Cdf(1 - 1e-6)(f, within) == pytest.approx(0.95, abs=1e-5)
    assert Cdf(0.25).slack(f, within) == pytest.approx((0.0, 0.1))
    assert Quantile(0.4)(f, within) == 0.0
    points = Within(4, np.array([0.0, 0.125]), np.array([0, 0]), np.array([0.5, 0.5])).with_ends(np.array([0.8, 0.0]))
    assert [Cdf(x)(f, points) for x in (0.0, 0.125)] == pytest.approx([0.45, 0.5])
    assert Cdf(0.0)(np.ones(1), Within(1).with_ends(np.array([0.5, 0.5]))) == pytest.approx(0.5)


def test_crossing() -> None:
    places = np.array([0.0, 0.3 - 2e-9, 0.3, 0.6, 1.0])
    assert crossing(places, np.array([0.0, 0.0, 1.0, 1.0, 1.0]), 0.5) == 0.3
    assert crossing(places, np.ones(5), 0.5) == 0.0
    assert crossing(places, np.zeros(5), 0.5) == 1.0
    assert crossing(places, places, 0.45) == pytest.approx(0.45)


def test_bad_inputs_are_refused() -> None:
    for make, message in (
        (lambda: Cdf(1.5), "x must be"),
        (lambda: Range(0.5, 0.5), "range"),
        (lambda: Quantile(0.0), "level"),
        (lambda: normal_bounds(0.0, 1.0, 1.0), "level must be"),
        (lambda: normal_bounds(0.0, float("inf"), 0.5), "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_decoded_intervals() -> None:
    truth, channel = beta_histogram(128), square_wave(1.0, 128)
    exact = channel @ truth * 1e6
    for functional in (Mean(), Variance()):
        bounds = decoded_interval(channel, exact, functional)
        # Unbiased: exact expectations decode to the exact value, but for the square of the mean's error.
        assert bounds.estimate == pytest.approx(functional(truth), abs=2e-6)
        assert bounds.standard_error > 0
    errors = []
    for seed in range(300):
        counts = reports(channel, truth, 20_000, seed)
        for functional in (Mean(), Variance()):
            bounds = decoded_interval(channel, counts, functional)
            errors.append((bounds.estimate - functional(truth)) / bounds.standard_error)
    assert np.std(errors) == pytest.approx(1, abs=0.12)
    assert abs(np.mean(errors)) < 0.2
    assert decoded_interval(Dense([[0.6, 0.5, 0.6], [0.4, 0.5, 0.4]]), [5, 5], Mean()) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_a_ratio_is_the_least_that_holds_all_compatible_ones(seed: int) -> None:
    random = np.random.default_rng(seed)
    r = np.linspace(-1, 1, 4001)
    shapes = set()
    for _ in range(200):
        top, bottom = random.normal(0, 2, 2)
        factor = random.normal(0, 1, (2, 2))
        (vt, c), (_, vb) = factor @ factor.T
        compatible = np.square(top - r * bottom) <= 1.96**2 * (vt - 2 * r * c + r**2 * vb)
        low, high = ratio_interval(top, bottom, (vt, c, vb), 1.96)
        if not compatible.any():  # the ratio is beyond the limits: their nearer end, or everything
            assert (low, high) == (-1.0, 1.0) or low == high
            continue
        assert low == pytest.approx(r[compatible].min(), abs=6e-4)
        assert high == pytest.approx(r[compatible].max(), abs=6e-4)
        shapes.add((low == -1, high == 1))
    assert len(shapes) == 4  # everything, one side, the other, between


def test_the_interval_of_a_ratio_holds_it_whatever_the_bottom() -> None:
    random = np.random.default_rng(1)
    for bottom in (0.0, 0.5, 1.0, 3.0):
        seen = bottom * np.array([0.4, 1.0]) + random.standard_normal((4000, 2))
        ends = np.array([ratio_interval(top, below, (1.0, 0.0, 1.0), 1.96) for top, below in seen])
        held = ((ends[:, 0] <= 0.4) & (ends[:, 1] >= 0.4)).mean()
        # Where a gap inside the limits is excluded, the interval holds more than is compatible.
        assert 0.94 < held < 0.98


def test_a_ratio_without_any_error_is_a_single_number() -> None:
    """Rounding must not turn what is certain into everything."""
    for top in np.random.default_rng(2).uniform(-1, 1, 500).tolist():
        low, high = ratio_interval(top, 1.1, (0.0, 0.0, 0.0), 1.96)
        assert low == pytest.approx(top / 1.1, abs=1e-7)
        assert high == pytest.approx(top / 1.1, abs=1e-7)
