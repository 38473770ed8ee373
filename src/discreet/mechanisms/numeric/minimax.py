"""Minimax: the mechanism of least worst-case variance among all unbiased epsilon-LDP ones on a finite alphabet.

    minimise max_x Var[value | x]  over  t_y <= P(y|x) <= e^epsilon t_y,  sum_y P(y|x) = 1,  sum_y y P(y|x) = x

a linear programme over tables at knots, the values chosen as well; between knots the law is linear and the worst case
takes that into account. HM-NP, the best of the papers, is 4 % (epsilon 0.5) to 24 % (5) above it; it is within 1 % of
the limit for any alphabet. Tables for common epsilons come with the package; others are solved in seconds and kept on
disk.

Exact: the solver's answer is repaired to whole weights in rational arithmetic, on the same alphabet; the certificate is
computed from those. With ``outputs=8`` a report has three bits and costs 1 to 10 % more variance.
"""

from discreet.errors import DiscreetError
from discreet.mechanisms.base import check_name_parts
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import check_epsilon


@register("minimax", question="mean", paper="beyond the papers; aaa notes 6")
def minimax(epsilon: float, outputs: int | None = None) -> Table:
    """Least worst-case variance of all, by linear programming.

    Parameters
    ----------
    epsilon : float
    outputs : int, optional
        Size of the alphabet; by default as many as come within 1 % of the limit.

    Examples
    --------
    >>> minimax(1.0).worst_case_variance < 1.01 * 3.991
    True
    """
    from discreet.optimize.tables import minimax_table

    epsilon = check_epsilon(epsilon)
    if outputs is not None:
        check_name_parts(epsilon, outputs=(outputs, 2))
    try:
        table = minimax_table(epsilon, outputs)
    except ValueError as error:
        raise DiscreetError(str(error)) from None
    return Table("minimax", epsilon, table.knots.tolist(), table.weights.tolist(), table.values.tolist())
