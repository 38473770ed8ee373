"""N-output mechanism: log2 N bits per report; generalises Duchi (N = 2) and three-output (N = 3).

Outputs 0 (N odd) and +-a_1 < ... < +-a_n, n = N // 2, knots x_j = t a_j, t = (e^epsilon - 1) p  [n-output, section 3]:

    P(a_j | x_j) = e^epsilon p,  P(a_i | x_j) = p otherwise                                    (8), (11)
    P(0 | 0) = e^epsilon p0,     P(0 | x_j) = p0,     P(+-a_1 | 0) = p*                        (7), (9)
    p = (1 - p0) / (e^epsilon + 2n - 1),   p* = (1 - 2(n-1) p - e^epsilon p0) / 2,   a_n = 1 / t

Positions a_i for a given p0: Theorem 4 while the variance's last peak is not below its first one, otherwise the
sequence that makes all peaks equal (Theorem 5, here for any p0: see `levelled`).

Corrected from the paper: Algorithm 2 compares the peaks the wrong way round in line 8 (taken literally, epsilon = 5
gives 0.857 instead of 0.0772); equation 11 needs p0 for output 0; equation 12 is not the best p0 for odd N >= 5. The
best p0 is found by a search in one variable, up to 1.5 % lower (``corrected=False`` keeps equation 12).

Exact: p and p0 are rounded up to whole weights, the others follow from whole sums and stay below e^epsilon times
these; a_n and the knots are decoded from the weights. Prefer `minimax`: lower at every N.
"""

from collections.abc import Callable

from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.numeric.output_layouts import OutputLayout, layout
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import check_epsilon

MOST = 256
"""Most outputs, so that a report is one byte. The best N is larger only above epsilon = 16.36."""


def fixed_outputs(epsilon: float, outputs: int, corrected: bool) -> OutputLayout:
    """Return the layout of the given number of outputs, or say how many are of use."""
    epsilon, outputs = check_epsilon(epsilon), check_whole("outputs", outputs, 2)
    found = layout(epsilon, outputs, corrected) if outputs <= MOST else None
    if found is None:
        most = 2
        while most < MOST and layout(epsilon, most + 1, corrected) is not None:
            most += 1
        raise DiscreetError(f"outputs must be at most {most} at epsilon {epsilon:g}, not {outputs}")
    return found


def best_layout(epsilon: float, corrected: bool, cost: Callable[[OutputLayout], float]) -> OutputLayout:
    """Return the layout of least cost: along even N until it rises, then the odd neighbours of the best.

    The cost has one valley in N, for the variance of the layout and for that of its hybrid with PM-sub.
    """
    epsilon = check_epsilon(epsilon)
    best = fixed_outputs(epsilon, 2, corrected)
    for outputs in range(4, MOST + 1, 2):
        candidate = layout(epsilon, outputs, corrected)
        if candidate is None or cost(candidate) > cost(best):
            break
        best = candidate
    around = [layout(epsilon, n, corrected) for n in (best.outputs - 1, best.outputs + 1) if 3 <= n <= MOST]
    return min([best, *(odd for odd in around if odd is not None)], key=cost)


def _worst_case(candidate: OutputLayout) -> float:
    return candidate.worst_case


def best_outputs(epsilon: float, corrected: bool = True) -> int:
    """Return the N of least worst-case variance.

    Examples
    --------
    >>> [best_outputs(epsilon) for epsilon in (0.5, 1, 3, 4, 5, 8)]
    [2, 3, 4, 5, 7, 17]
    """
    return best_layout(epsilon, corrected, _worst_case).outputs


@register("n-output", question="mean", paper="n-output.3")
def n_output(epsilon: float, outputs: int | None = None, corrected: bool = True) -> Table:
    """N outputs, N the best for epsilon unless given.

    Parameters
    ----------
    outputs : int, optional
        N, between 2 and 256; more than are of use at this epsilon is an error.
    corrected : bool
        Use the best p0 for odd N rather than the paper's equation 12.

    Examples
    --------
    >>> n_output(4.0)
    <n-output: epsilon 4, 5 inputs, 3 bits per report>
    >>> round(n_output(4.0).worst_case_variance, 6)
    0.164235
    """
    if outputs is None:
        return best_layout(epsilon, corrected, _worst_case).table("n-output")
    return fixed_outputs(epsilon, outputs, corrected).table("n-output")
