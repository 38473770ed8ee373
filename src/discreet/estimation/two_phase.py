"""Two-phase EM (2PEM): one estimate as the prior of another   [N-output paper, section 4.2, algorithm 3].

    phase one:  μ by EM on the first channel's reports,
    phase two:  π_i ← (Q_i + λ μ_i) / (Σ Q + λ),   Q_i = π_i Σ_j c_j Θ_ji / (Θ π)_j.

The paper calls phase two a maximum a posteriori estimate under a Gaussian prior. It is not: the update maximises
Σ c_j ln (Θ π)_j + λ Σ μ_i ln π_i, which is the posterior mode under a *Dirichlet* prior with parameters 1 + λ μ_i. So λ
is a number of pseudo-reports in the unit of the counts. The released code first divides both tallies by their sums
(τ = 10⁻⁵, λ = 1: the first phase then weighs as much as all the reports of the second). That is the default here, and
``per_report=False`` follows the text literally.

With a correct sampler, Square Wave with EMS has the lower Wasserstein distance at every ε of the paper; joint EMS over
the two stacked channels (`em.joint`) is the simpler way to use both.
"""

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.estimation.em import Reconstruction, check_channel, check_counts, em, log_likelihood, reconstruct
from discreet.operators import Operator


def two_phase_em(
    first: Operator,
    first_counts: npt.ArrayLike,
    second: Operator,
    second_counts: npt.ArrayLike,
    *,
    prior_weight: float = 1.0,
    tolerance: float = 1e-5,
    per_report: bool = True,
    max_iterations: int = 100_000,
) -> Reconstruction:
    """Estimate a distribution from two channels with the same buckets, in two phases.

    Parameters
    ----------
    first, second : Operator
        Channels of the two kinds of report (PM-sub and N-output in the paper).
    first_counts, second_counts : array
        Their tallies. If one of them has no reports, the other is used alone.
    prior_weight : float
        λ, the weight of the first phase in the second.
    tolerance : float
        τ: change of the log-likelihood, in phase two of the log-posterior, below which a phase stops.
    per_report : bool
        Whether λ and τ refer to tallies divided by their sums (the released code) or to counts (the text).
    max_iterations : int
        Most steps of each phase.

    Returns
    -------
    Reconstruction
        With the steps of both phases, and the sum of both log-likelihoods.
    """
    if not prior_weight >= 0:
        raise DiscreetError(f"prior_weight must not be negative, not {prior_weight}")
    tallies = [np.asarray(counts, dtype=np.float64) for counts in (first_counts, second_counts)]
    if not tallies[0].any():
        # Nobody was given the first mechanism (the paper's α = 1, ε ≤ 0.611): use the second alone.
        only = check_counts(tallies[1])
        tau = tolerance * only.sum() if per_report else tolerance
        return em(second, only, tolerance=tau, max_iterations=max_iterations)
    counts = check_counts(tallies[0])
    phase_one = em(
        first,
        counts,
        tolerance=tolerance * counts.sum() if per_report else tolerance,
        max_iterations=max_iterations,
    )
    if not tallies[1].any():
        return phase_one
    tally = check_counts(tallies[1])
    if check_channel(second, tally) != phase_one.f.size:
        raise DiscreetError("the two channels must have the same buckets")
    scale = tally.sum() if per_report else 1.0
    phase_two = reconstruct(
        second, tally, None, "paper", tolerance * scale, None, max_iterations, prior_weight * scale * phase_one.f
    )
    return Reconstruction(
        phase_two.f,
        phase_one.iterations + phase_two.iterations,
        log_likelihood(first, counts, phase_two.f) + phase_two.log_likelihood,
        phase_one.converged and phase_two.converged,
    )
