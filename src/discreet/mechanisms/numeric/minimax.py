"""Minimax: the mechanism of least worst-case variance among all unbiased epsilon-LDP ones on a finite alphabet.

    minimise max_x Var[value | x]  over  t_y <= P(y|x) <= e^epsilon t_y,  sum_y P(y|x) = 1,  sum_y y P(y|x) = x

a linear programme over tables at knots, where the values are chosen too. Between knots the law is linear, and the worst
case takes that into account. HM-NP, the best of the papers, is 4 % (epsilon 0.5) to 24 % (epsilon 5) worse; any
alphabet is at most 1 % better. Tables for common epsilons come with the package; others are solved in seconds and kept
on disk.

Exact: the solver's answer is repaired to whole weights in rational arithmetic, on the same alphabet; the certificate is
computed from those. With ``outputs=8`` a report has three bits and costs 1 to 10 % more variance.
"""

from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import check_epsilon


@register("minimax", question="mean", paper="beyond the papers; aaa notes 6")
def minimax(epsilon: float, outputs: int | None = None) -> Table:
    """Least worst-case variance of all, by linear programming.

    Parameters
    ----------
    outputs : int, optional
        Size of the alphabet; unless given, enough to come within 1 % of the limit.

    Examples
    --------
    >>> minimax(1.0).worst_case_variance < 1.01 * 3.991
    True
    """
    from discreet.optimize.tables import minimax_table

    epsilon = check_epsilon(epsilon)
    table = minimax_table(epsilon, None if outputs is None else check_whole("outputs", outputs, 2))
    return Table("minimax", epsilon, table.knots.tolist(), table.weights.tolist(), table.values.tolist())
