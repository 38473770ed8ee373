"""Tallies drawn from their law have the law of the tallies of reports, and nearly right laws are told apart."""

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import pytest

import discreet as dc
from discreet.domains import OUTSIDE
from discreet.extras import has
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.count_mean_sketch import Sketch, count_mean_sketch
from discreet.mechanisms.categorical.haar_bit import haar_bit
from discreet.mechanisms.categorical.hadamard_response import hadamard_response
from discreet.mechanisms.categorical.local_hashing import local_hashing
from discreet.mechanisms.categorical.subset_selection import subset_selection
from discreet.mechanisms.draws import MOST_REPORTS, check_people, draw_given, generator, multinomial
from discreet.mechanisms.numeric.laplace import truncated_laplace
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.registry import entries
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.window import flat_window

SIGNIFICANCE = 1e-6
PEOPLE = 300_000


if has("scipy"):
    from scipy import stats as scipy_stats


def window(epsilon: float) -> dc.Window:
    return flat_window("window", epsilon, 30, 7)


def projective(epsilon: float) -> Mechanism:
    document = dc.mechanism("projective-geometry", epsilon=1, size=9).to_document()
    hit = dc.mechanism("projective-geometry", epsilon=1, size=9).hit  # type: ignore[attr-defined]
    odds = hit / (2**48 - hit) * np.exp(epsilon - 1)
    claim = {"hit": int(2**48 * odds / (1 + odds)), "epsilon": repr(epsilon + 1e-9)}
    return Mechanism.from_document(document | claim)


MADE = {
    "table": lambda e: dc.mechanism("duchi", epsilon=e),
    "many knots": lambda e: truncated_laplace(e, steps=16),
    "window": window,
    "wave": lambda e: dc.mechanism("discrete-square-wave", epsilon=1, size=40) if e == 1 else None,
    "mixture": lambda e: Mixture("mixture", e, 20_000, [dc.mechanism("duchi", epsilon=e), window(e)]),
    "ranged": lambda e: range_mechanism("outside-symbol", "duchi", e),
    "response": lambda e: dc.mechanism("randomized-response", epsilon=e, size=9),
    "hadamard": lambda e: hadamard_response(e, 9, blocks=2),
    "hadamard bit": lambda e: dc.mechanism("hadamard-randomized-response", epsilon=e, size=9),
    "haar": lambda e: haar_bit(e, 9),
    "projective": projective,
    "subset": lambda e: subset_selection(e, 9, k=3),
    "unary": lambda e: dc.mechanism("basic-rappor", epsilon=e, size=9),
    "sketch": lambda e: count_mean_sketch(e, 9, hashes=4, width=8),
    "hashing": lambda e: local_hashing(e, 9, buckets=4),
}


def people_of(m: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs, between knots too, and very uneven shares."""
    if m.numeric:
        x = np.append(np.linspace(-1, 1, 24), OUTSIDE) if m.kind == "ranged" else np.linspace(-0.97, 1, 24)
    else:
        x = np.arange(m.size)
    shares = 1.0 + np.arange(x.size) % 5
    shares[x.size - 1 - int(m.kind == "ranged")] = 10 * shares.sum()  # most are alike: epsilon is easily seen
    return x, shares / shares.sum()


def surprise(m: Mechanism, first: np.ndarray, second: np.ndarray, people: int) -> float:
    """Return the p-value of two tallies having one law.

    Chi-square for a histogram of reports; for support counts, which depend on each other, the largest of their
    deviations, times their number.
    """
    total = (first + second).astype(float)
    if type(m)._count is Mechanism._count:
        seen = total > 0
        return float(scipy_stats.chi2.sf(((first - second)[seen] ** 2 / total[seen]).sum(), max(1, seen.sum() - 1)))
    each = people / m.hashes if isinstance(m, Sketch) else people
    rate = total / (2 * each)
    return float((scipy_stats.chi2.sf((first - second) ** 2 / (2 * each * rate * (1 - rate)), 1) * total.size).min())


def reports(m: Mechanism, seed: int) -> np.ndarray:
    """Return the tally of real reports of people drawn one by one."""
    x, shares = people_of(m)
    held = np.random.default_rng(seed).choice(x, PEOPLE, p=shares)
    return m.tally(m.privatize(held, dc.Entropy.seeded(seed))).counts


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("name", MADE)
def test_same_law_as_reports_and_another_epsilon_is_refused(name: str) -> None:
    m, wrong = MADE[name](1.0), MADE[name](1.1)
    drawn = m.draw_tally(*people_of(m), PEOPLE, generator(3))
    real = reports(m, seed=4)
    assert drawn.n == PEOPLE
    assert drawn.mechanism == m.id
    assert surprise(m, drawn.counts, real, PEOPLE) > SIGNIFICANCE
    if wrong is not None:
        off = wrong.draw_tally(*people_of(wrong), PEOPLE, generator(3)).counts
        assert surprise(m, off, real, PEOPLE) < SIGNIFICANCE


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("entry", list(entries().values()), ids=lambda e: e.name)
def test_every_registered_mechanism_draws_its_tally(entry: object) -> None:
    options = {"size": 23, "prior": [1.0, 3, 0, 1, 2], "sizes": [3, 2, 4], "options": 6, "most": 2}
    m = entry.build(1.5, **{need: options[need] for need in entry.needs})  # type: ignore[attr-defined]
    drawn = m.draw_tally(*people_of(m), PEOPLE, generator(5)).counts
    assert surprise(m, drawn, reports(m, seed=6), PEOPLE) > SIGNIFICANCE


def exact_law(m: Mechanism, shares: np.ndarray, people: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each tally of a few people, by going through all their reports."""
    single = shares @ m.matrix()
    if m.kind == "subset":
        sets = [bits for bits in range(1 << m.size) if bits.bit_count() == m.k]  # type: ignore[attr-defined]
    else:
        sets = list(range(1 << m.size))
    law: Counter[tuple[int, ...]] = Counter()
    for chosen in product(range(len(sets)), repeat=people):
        tally = tuple(sum(sets[c] >> v & 1 for c in chosen) for v in range(m.size))
        law[tally] += prod(single[c] for c in chosen)
    return law


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(
    "build", [lambda e: subset_selection(e, 4, k=2), lambda e: dc.mechanism("optimized-unary", epsilon=e, size=3)]
)
def test_joint_law_of_bit_vectors_is_exact(build: object) -> None:
    m, repeats, people = build(2.0), 12_000, 3  # type: ignore[operator]
    shares = np.array([0.03, 0.9, 0.07, 0.0])[: m.size]
    random = generator(8)
    seen = Counter(
        tuple(m.draw_tally(np.arange(m.size), shares, people, random).counts.tolist()) for _ in range(repeats)
    )

    def p_value(law: dict[tuple[int, ...], float]) -> float:
        kept = [t for t, p in law.items() if repeats * p >= 5]
        rest = 1 - sum(law[t] for t in kept), repeats - sum(seen[t] for t in kept)
        statistic = sum((seen[t] - repeats * law[t]) ** 2 / (repeats * law[t]) for t in kept)
        statistic += (rest[1] - repeats * rest[0]) ** 2 / (repeats * rest[0]) if rest[0] > 1e-3 else 0.0
        return float(scipy_stats.chi2.sf(statistic, len(kept)))

    law = exact_law(m, shares, people)
    assert set(seen) <= set(law)
    assert p_value(law) > SIGNIFICANCE
    assert p_value(exact_law(build(2.2), shares, people)) < SIGNIFICANCE  # type: ignore[operator]


def test_covariances_of_subset_selection_at_large_n() -> None:
    m, people, repeats = subset_selection(1.0, 6, k=2), 10**9, 1500
    shares = np.array([0.5, 0, 0.2, 0.1, 0.2, 0])
    single = shares @ m.matrix()
    sets = np.array([[bits >> v & 1 for v in range(6)] for bits in range(64) if bits.bit_count() == 2], dtype=float)
    mean = single @ sets
    covariance = sets.T @ (single[:, None] * sets) - np.outer(mean, mean)
    random = generator(9)
    drawn = np.array([m.draw_tally(np.arange(6), shares, people, random).counts for _ in range(repeats)])
    scaled = (drawn - people * mean) / np.sqrt(people)
    assert (drawn.sum(axis=1) == 2 * people).all()
    assert np.abs(scaled.mean(axis=0) / np.sqrt(covariance.diagonal() / repeats)).max() < 5
    spread = np.sqrt((np.outer(covariance.diagonal(), covariance.diagonal()) + covariance**2) / repeats)
    assert np.abs((scaled.T @ scaled / repeats - covariance) / spread).max() < 5
    independent = np.diag(covariance.diagonal())
    assert np.abs((scaled.T @ scaled / repeats - independent) / spread).max() > 5  # the test would see it


def test_multinomials_by_trees() -> None:
    random = generator(1)
    weights = np.array([[1, 2, 0, 5, 1 << 40], [0, 0, 7, 0, 0]])
    counts = multinomial(np.array([10**12, 3]), weights, random)
    assert counts.sum(axis=1).tolist() == [10**12, 3]
    assert counts[0, 2] == 0
    assert counts[1].tolist() == [0, 0, 3, 0, 0]
    law = np.arange(1, 8) / 28
    drawn = np.array([multinomial(10**10, law, random) for _ in range(4000)])
    z = (drawn - 10**10 * law) / np.sqrt(10**10 * law * (1 - law))
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(4000)
    correlation = -np.sqrt(np.outer(law, law) / np.outer(1 - law, 1 - law))
    np.fill_diagonal(correlation, 1)
    assert np.abs(z.T @ z / 4000 - correlation).max() < 0.12
    assert multinomial(5, [1.0], random).tolist() == [5]
    assert multinomial(0, [1.0, 2.0], random).tolist() == [0, 0]


@pytest.mark.needs("scipy")
def test_given_people_have_the_law_of_reports() -> None:
    m = MADE["mixture"](1.0)
    x, shares = people_of(m)
    held = np.rint(shares * PEOPLE).astype(np.int64)
    drawn = draw_given(m, x, held, generator(2))
    real = m.tally(m.privatize(np.repeat(x, held), dc.Entropy.seeded(2)))
    assert drawn.n == real.n
    assert surprise(m, drawn.counts, real.counts, real.n) > SIGNIFICANCE
    with pytest.raises(dc.DiscreetError, match="answer several questions"):
        draw_given(MADE["subset"](1.0), np.arange(9), np.ones(9, dtype=np.int64), generator(1))


@pytest.mark.parametrize("people", [0, -1, 0.5, float("nan"), float("inf"), 2**63, 10**12 + 1, True, "many", None])
def test_numbers_of_people_that_cannot_be(people: object) -> None:
    with pytest.raises(dc.DiscreetError, match=r"people must be a whole number between 1 and 10\^12, not "):
        check_people(people)


def test_reports_one_by_one_have_an_end() -> None:
    m = local_hashing(1.0, 9)
    with pytest.raises(dc.DiscreetError, match=r"reports have to be drawn one by one.*subset-selection"):
        m.draw_tally([0], [1.0], MOST_REPORTS + 1, generator(1))


def test_bad_seeds() -> None:
    with pytest.raises(dc.DiscreetError, match="seed must be a whole number of at least 0, not -1"):
        generator(-1)
    assert generator().integers(1 << 60) != generator().integers(1 << 60)


@pytest.mark.parametrize("shares", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_bad_shares_and_inputs(shares: list[float]) -> None:
    m = dc.mechanism("duchi", epsilon=1)
    with pytest.raises(dc.DiscreetError, match="shares must be one non-negative number for each input"):
        m.draw_tally([0.0, 1.0], shares, 10, generator(1))
    with pytest.raises(dc.DiscreetError, match=r"people must be .*, not -1"):
        m.draw_tally([0.0, 1.0], [1, 1], -1, generator(1))
    with pytest.raises(dc.DomainError, match="input 0 of duchi must be a number between -1 and 1"):
        m.draw_tally([3.0, 1.0], [1, 1], 5, generator(1))
    assert m.draw_tally([0.0, 1.0], [1, 1], 0, generator(1)).counts.tolist() == [0, 0]
