"""Plot the predicted error of a question against epsilon, for several numbers of people."""

from typing import TYPE_CHECKING, Any

from discreet.advice.ask import error_curve
from discreet.advice.base import Advice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COARSE = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Epsilons for questions whose errors have to be simulated, which takes seconds each."""
FINE = (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Epsilons for questions whose errors are computed."""


def plot_errors(question: str, epsilon: float, users: int, *, advice: Advice | None = None, **about: Any) -> "Figure":
    """Plot the best method's predicted error against epsilon, for the given number of people, a tenth and ten times it.

    Parameters
    ----------
    question, epsilon, users, about
        As for `discreet.advise`; the given epsilon and number of people are marked.
    advice : Advice, optional
        Whose best method is followed, where errors have to be simulated.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> plot_errors("frequency", 1.0, 1000, size=8)
    <Figure size ...>
    """
    from discreet import plots

    grid = COARSE if question in ("distribution", "variance", "range-mean") else FINE
    epsilons = sorted({*grid, epsilon})
    crowds = [users // 10, users, users * 10] if users >= 10 else [users, users * 10]
    rows = error_curve(question, epsilons, crowds, advice=advice, **about)
    what = "expected Wasserstein distance" if question == "distribution" else f"error of the {question}"
    return plots.error_curves(epsilons, dict(zip(crowds, rows, strict=True)), marked=(epsilon, users), what=what)
