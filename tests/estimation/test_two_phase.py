import numpy as np
import pytest
from tests.estimation.common import beta_histogram, reports, square_wave

from discreet.estimation.em import em
from discreet.estimation.two_phase import two_phase_em
from discreet.metrics import wasserstein
from discreet.operators import Band, Dense

TRUTH = beta_histogram(64, 3, 2)
FIRST = square_wave(2.0, 64)
# A two-valued channel, as N-output is at small epsilon: it speaks of the mean only.
SECOND = Dense([np.linspace(0.8, 0.2, 64), np.linspace(0.2, 0.8, 64)])


def tallies() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return reports(FIRST, TRUTH, 50_000, 1), rng.multinomial(50_000, SECOND @ TRUTH).astype(float)


def test_second_phase_is_a_dirichlet_posterior_mode() -> None:
    counts, other = tallies()
    for per_report, weight in ((True, 1.0), (True, 0.1), (False, 1000.0)):
        result = two_phase_em(FIRST, counts, SECOND, other, prior_weight=weight, tolerance=1e-9, per_report=per_report)
        scaled = other / other.sum() if per_report else other
        scale = counts.sum() if per_report else 1
        mu = em(FIRST, counts, tolerance=1e-9 * scale).f
        # Stationarity of Σ c ln(Θπ) + λ Σ μ ln π on the simplex: π ∘ gradient is (Σc + λ) π.
        gradient = SECOND.T @ (scaled / (SECOND @ result.f)) + weight * mu / result.f
        moved = np.abs(result.f * gradient / (scaled.sum() + weight) - result.f).sum()
        assert moved < 1e-3
        assert result.converged


def test_limits_of_the_prior_weight() -> None:
    counts, other = tallies()
    heavy = two_phase_em(FIRST, counts, SECOND, other, prior_weight=1e9)
    first = em(FIRST, counts, tolerance=1e-5 * counts.sum())
    np.testing.assert_allclose(heavy.f, first.f, atol=1e-6)
    both = two_phase_em(FIRST, counts, SECOND, other)
    assert wasserstein(TRUTH, both.f) < 0.05


def test_one_side_without_reports() -> None:
    counts, other = tallies()
    nothing = np.zeros(2)
    first = two_phase_em(FIRST, counts, SECOND, nothing)
    np.testing.assert_allclose(first.f, em(FIRST, counts, tolerance=1e-5 * counts.sum()).f)
    second = two_phase_em(FIRST, np.zeros_like(counts), SECOND, other)
    np.testing.assert_allclose(second.f, em(SECOND, other, tolerance=1e-5 * other.sum()).f)
    with pytest.raises(ValueError, match="no reports"):
        two_phase_em(FIRST, np.zeros_like(counts), SECOND, nothing)


def test_bad_inputs_are_refused() -> None:
    counts, other = tallies()
    with pytest.raises(ValueError, match="negative"):
        two_phase_em(FIRST, counts, SECOND, other, prior_weight=-1)
    with pytest.raises(ValueError, match="same buckets"):
        two_phase_em(FIRST, counts, Band(3, 2, 0.4, 0.1), [1, 1, 1, 1])
