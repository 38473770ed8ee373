"""Parts of a crowd that reports hide: what reports say of them, and that intervals allow for them."""

import numpy as np
import pytest
from tests.estimation.common import beta_histogram, reports, square_wave

from discreet.estimation.density import Leaves, Prior, Reports
from discreet.estimation.explanations import Explanations
from discreet.estimation.functionals import Cdf, Functional, Mean, Quantile, Range, RangeMean, Variance
from discreet.estimation.hidden import SHARES, Part, asked_places, cases_beside, no_cases, parts_beside
from discreet.estimation.search import explain
from discreet.estimation.within import Lattice, Within

pytestmark = pytest.mark.needs("scipy")

SIZE = 32


def softmax(theta: np.ndarray) -> np.ndarray:
    return np.exp(theta) / np.exp(theta).sum()


def told(n: int, epsilon: float, truth: np.ndarray) -> Reports:
    channel = square_wave(epsilon, truth.size)
    return Reports(channel, reports(channel, truth, n, seed=1))


def heap_at(place: float, size: int = SIZE, shares: tuple[float, ...] = SHARES) -> Part:
    return Part(np.eye(size)[min(int(place * size), size - 1)], shares, place)


@pytest.mark.parametrize("with_leaves", [False, True])
def test_what_reports_say_of_parts_is_the_slope_and_curvature_of_the_best_fit(with_leaves: bool) -> None:
    """Compared with fits of θ by a general method, for small shares of people in each part and in both.

    The crowd is one that the prior does not pull, and there is no noise: Fisher's information is the curvature there.
    """
    from scipy.optimize import minimize

    truth, channel = softmax(1.5 * np.arange(SIZE) / SIZE), square_wave(1.0, SIZE)
    leaves = Leaves(truth, 1e-4, 1e-3) if with_leaves else None
    data = Reports(channel, 20_000 * np.asarray(channel @ truth), leaves)
    fit = data.fit(Prior(30.0))
    laws = np.array([np.eye(SIZE)[9], np.eye(SIZE)[0]])
    slope, information, moves = data.mixed(fit, laws)
    precision = fit.curvature.precision

    def best(shares: np.ndarray) -> tuple[float, np.ndarray]:
        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            rest = softmax(theta)
            f = (1 - shares.sum()) * rest + shares @ laws
            value, y = data._likelihood(f)
            pull = (1 - shares.sum()) * data._pull(f, y)
            gradient = rest * (pull - rest @ pull) - precision @ theta
            return -(value - 0.5 * theta @ precision @ theta), -gradient

        found = minimize(loss, fit.theta, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 2000})
        return -found.fun, softmax(found.x)

    step = 0.002
    none = best(np.zeros(2))[0]
    more, less = (np.array([best(sign * step * np.eye(2)[i])[0] for i in (0, 1)]) for sign in (1, -1))
    np.testing.assert_allclose((more - less) / (2 * step), slope, rtol=0.02, atol=1)
    np.testing.assert_allclose(-(more + less - 2 * none) / step**2, np.diag(information), rtol=0.03)
    both = best(np.full(2, step))[0]
    shared = -(both - more.sum() + none) / step**2
    assert shared == pytest.approx(information[0, 1], rel=0.05)
    for i in (0, 1):
        up, down = (best(sign * step * np.eye(2)[i])[1] for sign in (1, -1))
        moved = (up - down) / (2 * step)
        assert np.abs(moved - moves[i]).max() < 0.03 * np.abs(moves[i]).max()
    np.testing.assert_allclose(moves.sum(axis=1), 0, atol=1e-9)


def test_cases_are_none_one_or_both_that_are_asked_about() -> None:
    data = told(2000, 1.0, beta_histogram(SIZE))
    fit = data.fit(Prior(1e3))
    parts = parts_beside(fit, {0.25: 1.0, 0.5: 1.0})
    assert [part.place for part in parts] == [0.25, 0.5, 0.0, 1.0]
    cases = cases_beside(data, fit, parts)
    assert cases.chances.sum() == pytest.approx(1)
    assert not cases.shares[0].any()
    used = {tuple(np.flatnonzero(row)) for row in cases.shares}
    assert used <= {(), (0,), (1,), (2,), (3,), (0, 1)}
    assert {(), (0,), (1,)} <= used
    assert (cases.shares.sum(axis=1) < 0.97 + 1e-9).all()
    assert no_cases(fit.f).changes(Mean(), np.ones(SIZE), fit.f).tolist() == [0.0]


def test_without_reports_a_heap_is_as_likely_as_it_is_beforehand() -> None:
    data = told(50, 0.01, beta_histogram(SIZE))
    fit = data.fit(Prior(1e3))
    cases = cases_beside(data, fit, parts_beside(fit, {0.25: 2.0, 0.5: 0.35}))

    def chance(*several: int) -> float:
        return float(cases.chances[[np.flatnonzero(row).tolist() == list(several) for row in cases.shares]].sum())

    assert chance(0) / chance() == pytest.approx(2, rel=0.05)
    assert chance(1) / chance() == pytest.approx(0.35, rel=0.05)
    assert chance(2) / chance() == pytest.approx(1, rel=0.05)  # at an end
    # Both at once, unless nearly everybody would be in them.
    assert chance(0, 1) / chance() == pytest.approx(2 * 0.35 * 15 / 16, rel=0.05)


def test_a_part_that_a_fit_has_is_not_added_again() -> None:
    truth = 0.3 * beta_histogram(SIZE) + 0.5 * np.eye(SIZE)[0] + 0.2 * np.eye(SIZE)[8]
    data = told(5000, 4.0, truth)
    fit = data.fit(Prior(1e3), single=(0, 8))
    parts = parts_beside(fit, {0.26: 1.0, 0.5: 1.0})
    assert [part.place for part in parts[:2]] == [0.5, 1.0]
    *beside, spread = parts[2:]  # beside the heap at 0; and those who are spread out, because most are in that heap
    for part, reach in zip(beside, (1, 4), strict=True):
        assert np.flatnonzero(part.law).tolist() == list(range(1, 1 + reach))
        assert part.shares == pytest.approx((-fit.f[1 : 1 + reach].sum(), fit.f[1 : 1 + reach].sum()))
    assert spread.law.sum() == pytest.approx(1)


def test_a_heap_that_reports_do_not_see_is_one_that_they_may_hide() -> None:
    """A fit that may have a heap, but puts next to nobody into it, is as sure that nobody is there as any other."""
    data = told(500, 0.5, 0.1 * beta_histogram(SIZE) + 0.9 * np.eye(SIZE)[0])
    given = data.fit(Prior(10.0, scale="log-normal"), single=(0, SIZE - 1))
    assert not given.sees(0)
    fit = given.without((0, SIZE - 1))
    parts = parts_beside(fit)
    assert [part.place for part in parts[:2]] == [0.0, 1.0]
    cases = cases_beside(data, fit, parts)
    assert 0.9 < cases.changes_below(np.zeros(1), fit.f, Within(SIZE)).max() < 1
    assert [part.place for part in parts_beside(given)][:2] != [0.0, 1.0]


def test_a_fit_without_its_heaps_has_the_errors_of_a_prior_without_them() -> None:
    data = told(2000, 1.0, beta_histogram(SIZE))
    plain, given = data.fit(Prior(1e3)), data.fit(Prior(1e3), single=(0, 8, 20))
    fit = given.without((0, 20))
    assert fit.single == (8,)
    moved = (np.eye(SIZE) - given.around) * given.around[:, None]  # J, of how f moves with θ
    curvature = given.curvature.information + data.with_heap(plain, 8).curvature.precision
    np.testing.assert_allclose(fit.covariance, moved @ np.linalg.solve(curvature, moved.T), rtol=1e-4, atol=1e-12)
    assert fit.covariance[0, 0] < 0.9 * given.covariance[0, 0]


def test_no_part_is_so_large_that_the_others_cannot_make_it_good() -> None:
    """Half have nothing and a third has everything: of the people, 95 % cannot have nothing."""
    truth = 0.48 * np.eye(SIZE)[0] + 0.35 * np.eye(SIZE)[-1] + 0.17 * np.full(SIZE, 1 / SIZE)
    data = told(500, 1.0, truth)
    fit = data.fit(Prior(10.0), single=(SIZE - 1,))
    cases = cases_beside(data, fit, parts_beside(fit))
    everybody = cases.others.sum(axis=1) + cases.shares[:, :1].sum(axis=1)
    np.testing.assert_allclose(everybody, 1)
    assert (cases.others >= 0).all()
    assert cases.changes_below(np.zeros(1), fit.f, Within(SIZE)).max() < 0.9


def test_bars_allow_for_those_who_have_nothing() -> None:
    """Nineteen in twenty have nothing, which 500 reports take for a slope."""
    slope = np.exp(-np.arange(64) / 8)
    truth = 0.05 * slope / slope.sum() + 0.95 * np.eye(64)[0]
    channel, starts = square_wave(0.5, 64), np.arange(0.0, 64, 8)
    held = {"allowed for": 0, "not": 0}
    for seed in range(30):
        found = explain(Reports(channel, reports(channel, truth, 500, seed)))
        for name, one in (("allowed for", found), ("not", Explanations(found.allowed, 64))):
            low, high = one.band(starts, starts + 8, 0.95)
            held[name] += low[0] <= truth[:8].sum() <= high[0]
    assert held["allowed for"] >= 28
    assert held["not"] <= 26


def test_shares_between_places_change_as_those_below_them() -> None:
    data = told(500, 0.5, 0.2 * beta_histogram(SIZE) + 0.8 * np.eye(SIZE)[0])
    found = explain(data)
    edges = np.arange(1.0, SIZE + 1)
    low, high = found.band(np.zeros(SIZE), edges, 0.95)
    expected = found._shares_below(edges / SIZE - 1e-7, 0.95)  # just below an edge: heaps in the next bucket are not
    np.testing.assert_allclose(low[:-1], expected[0][:-1], atol=5e-3)
    np.testing.assert_allclose(high[:-1], expected[1][:-1], atol=5e-3)


def test_reports_can_only_speak_against_a_part() -> None:
    """What they speak for, other explanations have: beside a steep curve that misses a little, no heap is certain."""
    smooth, heaped = beta_histogram(SIZE), 0.8 * beta_histogram(SIZE) + 0.2 * np.eye(SIZE)[16]
    chances = []
    for truth in (smooth, heaped):
        data = told(200_000, 3.0, truth)
        fit = data.fit(Prior(1e4))
        cases = cases_beside(data, fit, (heap_at(0.5, shares=(0.06, 0.2)),))
        chances.append(float(cases.chances[cases.shares[:, 0] > 0].sum()))
    assert chances[0] < 0.02
    assert chances[1] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    "functional", [Cdf(0.5), Cdf(0.0), Range(0.25, 0.5), Range(0.0, 0.25), Mean(), Variance(), RangeMean(0.25, 0.75)]
)
def test_changes_of_numbers_are_those_of_the_mixed_crowd(functional: Functional) -> None:
    data = told(5000, 1.0, beta_histogram(SIZE))
    fit = data.fit(Prior(1e3))
    within = Within(SIZE)
    parts = (heap_at(0.5), heap_at(0.0), Part(np.full(SIZE, 1 / SIZE), SHARES))
    cases = cases_beside(data, fit, parts)
    changes = cases.changes(functional, functional.gradient(fit.f, within), fit.f)
    little = 1e-4
    for i, part in enumerate(parts):
        row = next(row for row, shares in enumerate(cases.shares) if np.flatnonzero(shares).tolist() == [i])
        crowd, more = cases.others[row], 0.0
        if part.place in asked_places(functional):  # all of it counts, not only its bucket's part below the place
            more = cases.shares[row, i]
        elif part.place is not None:
            crowd = crowd + cases.shares[row, i] * part.law
        mixed = fit.f + little * (crowd - fit.f)
        expected = (functional(mixed, within) - functional(fit.f, within)) / little + more
        assert changes[row] == pytest.approx(expected, rel=0.01, abs=2e-5)


def test_changes_of_cumulative_shares() -> None:
    data = told(5000, 1.0, beta_histogram(SIZE))
    fit = data.fit(Prior(1e3))
    parts = (heap_at(0.0), heap_at(1.0), Part(np.full(SIZE, 1 / SIZE), SHARES))
    cases = cases_beside(data, fit, parts)
    places = np.array([0.0, 0.25, 1.0])
    changes = cases.changes_below(places, fit.f, Within(SIZE))
    assert changes.shape == (cases.chances.size, 3)
    np.testing.assert_allclose(changes[:, 2], 0, atol=1e-9)  # everybody is below the end
    np.testing.assert_allclose(changes[:, 0], cases.shares[:, 0], atol=1e-9)  # only the heap at 0 is at 0
    one = Cdf(0.25)
    direct = cases.changes(one, one.gradient(fit.f, Within(SIZE)), fit.f)
    np.testing.assert_allclose(changes[:, 1], direct, atol=1e-9)


def hours(size: int = 64) -> tuple[np.ndarray, Lattice]:
    """A bell with three in ten people at its middle, which a wide wave cannot tell from a narrower bell."""
    x = (np.arange(size) + 0.5) / size
    bell = np.exp(-0.5 * ((x - 0.5) / 0.06) ** 2)
    truth = 0.7 * bell / bell.sum() + 0.3 * np.eye(size)[size // 2]
    places = np.arange(9) / 8
    return truth, Lattice(0.125, places, np.minimum((places * size).astype(int), size - 1))


def test_the_share_up_to_a_round_number_allows_for_a_heap_there() -> None:
    truth, lattice = hours()
    share = float(truth[:33].sum())
    channel = square_wave(1.0, 64)
    held, further = {"allowed for": 0, "not": 0}, []
    for seed in range(30):
        found = explain(Reports(channel, reports(channel, truth, 2000, seed)), [lattice])
        without = Explanations(found.allowed, 64)
        for name, one in (("allowed for", found), ("not", without)):
            bounds = one.bounds(Cdf(0.5), 0.95)
            held[name] += bounds.lower <= share <= bounds.upper
        further.append([found.bounds(Cdf(x), 0.95).upper - without.bounds(Cdf(x), 0.95).upper for x in (0.5, 0.51)])
    at, beside = np.transpose(further)
    assert (beside > 0).all()
    assert (beside < at).all()
    assert beside.mean() < 0.9 * at.mean()  # nobody rounds to 0.51, so a heap is less likely there
    assert held["allowed for"] >= 27
    assert held["not"] <= 23


def test_quantiles_allow_for_those_who_have_nothing() -> None:
    """A third has nothing, which so few reports hide."""
    truth = 0.65 * np.exp(-np.arange(64) / 16) / np.exp(-np.arange(64) / 16).sum() + 0.35 * np.eye(64)[0]
    channel = square_wave(0.5, 64)
    held = {"allowed for": 0, "not": 0}
    for seed in range(30):
        found = explain(Reports(channel, reports(channel, truth, 500, seed)))
        for name, one in (("allowed for", found), ("not", Explanations(found.allowed, 64))):
            bounds = one.bounds(Quantile(0.2), 0.95)
            held[name] += bounds.lower <= 1e-6
    assert held["allowed for"] >= 26
    assert held["not"] < held["allowed for"] - 2


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0.03, 0.22), (0.0, 0.25)),  # the coarsest numbers that are near
        ((0.11, 0.19), (0.1, 0.2)),  # others, if none of these is
        ((0.06, 0.24), (0.06, 0.25)),
        ((0.07, 0.13), (0.07, 0.13)),  # nothing is near enough
        ((0.1, 0.2), (0.1, 0.2)),  # they are round
        ((0.26, 0.96), (0.26, 0.96)),  # no step is coarse enough
        ((0.12, 0.12), (0.12, 0.12)),
    ],
)
def test_ends_of_quantiles_go_on_to_round_numbers(ends: tuple[float, float], expected: tuple[float, float]) -> None:
    lattices = [Lattice(step, np.arange(0, 1 + step / 2, step), np.empty(0, np.int64)) for step in (0.05, 0.25)]
    data = told(500, 1.0, beta_histogram(SIZE))
    found = Explanations(explain(data).allowed, SIZE, data, lattices)
    assert found._to_round(*ends) == pytest.approx(expected)


def test_only_the_ends_of_quantiles_are_moved_and_only_to_round_numbers() -> None:
    truth, lattice = hours()
    data = [Reports(square_wave(1.0, 64), reports(square_wave(1.0, 64), truth, 500, seed)) for seed in range(3)]
    for one in data:
        with_lattice, without = explain(one, [lattice]), explain(one, [lattice])
        without.lattices = []
        for q in (0.2, 0.5, 0.8):
            wide, narrow = with_lattice.bounds(Quantile(q), 0.95), without.bounds(Quantile(q), 0.95)
            width = narrow.upper - narrow.lower
            assert narrow.lower - 0.2 * width <= wide.lower <= narrow.lower
            assert narrow.upper <= wide.upper <= narrow.upper + 0.2 * width
            for end, other in ((wide.lower, narrow.lower), (wide.upper, narrow.upper)):
                assert end == other or np.abs(lattice.places - end).min() < 1e-12
