"""Adaptive additive (AAA): the mechanism of least expected variance when the distribution is roughly known.

    minimise sum_i p_i E[(value - x_i)^2]  over  t_y <= P(y|x_i) <= e^epsilon t_y,  rows sum to 1,  unbiased
                                                                                  [aaa, sections 4 and 5, eq. 10 and 14]

The papers' eq. 14 lacks the unbiasedness of eq. 10 and constraints on its tails; as printed it has no finite epsilon.
Here all inputs share one finite alphabet that reaches past C = (e^epsilon + 1)/(e^epsilon - 1), which unbiasedness
needs. The outputs are free (at most two per knot, which is better) or the papers' lattice (``sigma``, ``q``).

Exact: as for `minimax`, the solver's answer is repaired to whole weights, and the certificate is computed from those.
The prior only shapes the noise: privacy and unbiasedness hold whatever the truth is.
"""

from collections.abc import Sequence

import numpy as np

from discreet.errors import DiscreetError
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import check_epsilon


@register("adaptive-additive", question="mean", paper="aaa.4")
def adaptive_additive(
    epsilon: float,
    prior: Sequence[float],
    sigma: float | None = None,
    q: float | None = None,
) -> Table:
    """Least expected variance under a prior (AAA).

    Parameters
    ----------
    prior : sequence of float
        Weights of N + 1 equally spaced knots from -1 to 1, not all zero.
    sigma, q : float, optional
        The papers' lattice: outputs at multiples of sigma, noise within [-q, q]. Free outputs unless given.

    Examples
    --------
    >>> round(adaptive_additive(1.0, prior=[0.5, 0.5]).variance(1.0), 4)  # Duchi's mechanism
    3.6827
    """
    from discreet.optimize.programme import adaptive_table, lattice_outputs

    epsilon = check_epsilon(epsilon)
    weights = np.atleast_1d(np.asarray(prior, dtype=np.float64))
    if weights.ndim != 1 or weights.size < 2:
        raise DiscreetError(f"prior must have at least 2 weights, for knots from -1 to 1, not {weights.size}")
    if (sigma is None) != (q is None):
        raise DiscreetError("sigma and q must be given together, for the lattice, or not at all, for free outputs")
    outputs = None if sigma is None or q is None else lattice_outputs(sigma, q)
    table, _ = adaptive_table(np.linspace(-1.0, 1.0, weights.size), weights, epsilon, outputs)
    return Table("adaptive-additive", epsilon, table.knots.tolist(), table.weights.tolist(), table.values.tolist())
