"""Plot the predicted error of a question against epsilon, for several numbers of people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.advice.ask import error_curve
from discreet.advice.base import Advice
from discreet.advice.rehearsal import Progress
from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.plans.encoders import Domain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COARSE = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Epsilons for questions whose errors have to be simulated, which takes seconds each."""
FINE = (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Epsilons for questions whose errors are computed."""


def plot_errors(
    question: str,
    epsilon: float,
    people: int,
    *,
    advice: Advice | None = None,
    progress: Progress | None = None,
    domain: Domain | Sequence[Interval] | None = None,
    size: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bins: int | None = None,
    prior: Sequence[float] | Floats | None = None,
    shape: str | None = None,
    sample: Any = None,
    level: float = 0.95,
    rounds: int | None = None,
    groups: int | None = None,
    private: bool = False,
    q: float | None = None,
) -> "Figure":
    """Plot the best method's predicted error against epsilon, for the given number of people, a tenth and ten times it.

    Parameters
    ----------
    question, epsilon, people : str, float and int
        As for `discreet.advise`; the given epsilon and number of people are marked.
    advice : Advice, optional
        Whose best method is simulated, where errors cannot be computed.
    progress : callable, optional
        Called with the part of the work that is done, from 0 to 1.
    domain, size, low, high, bins, prior, shape, sample, level, rounds, groups, private, q
        As for `discreet.advise`.

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
    crowds = [people // 10, people, people * 10] if people >= 10 else [people, people * 10]
    rows = error_curve(
        question, epsilons, crowds, advice=advice, progress=progress, domain=domain, size=size, low=low, high=high,
        bins=bins, prior=prior, shape=shape, sample=sample, level=level, rounds=rounds,
        groups=groups, private=private, q=q,
    )  # fmt: skip
    measured = {"distribution": "expected Wasserstein distance", "groups": "error of one group's mean"}
    what = measured.get(question, f"error of the {question}")
    return plots.error_curves(epsilons, dict(zip(crowds, rows, strict=True)), marked=(epsilon, people), what=what)
