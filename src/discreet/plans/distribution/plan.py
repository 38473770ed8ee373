"""Distribution: how a number is spread over its interval, with an interval for everything that is read off it.

The collection is designed before any report; what is made of the reports may depend on them. "auto" asks 92 in 100
people for their bucket through Square Wave, which shows the shape, and the others through a frequency oracle, which
shows spikes; the server then weighs a smooth and a spiky reading by how well they explain and predict the reports.
docs/papers/square-wave.md sets it beside the papers' methods, and says where it loses.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.plans.base import History, Plan, Round
from discreet.plans.distribution.answer import DistributionAnswer
from discreet.plans.distribution.designs import Design, Flat, Tree, TwoPhase, Wave
from discreet.plans.distribution.hybrid import Hybrid

MOST_BINS = 1 << 16

METHODS: dict[str, Callable[..., Design]] = {
    "auto": Hybrid,
    "binning": Flat,
    "haar-hrr": partial(Tree, fit="haar"),
    "hh": partial(Tree, fit="hh"),
    "hh-admm": partial(Tree, fit="admm"),
    "hybrid": partial(Hybrid, share=0.15, parsimony=3.0, averaged=False),
    "hybrid-np-2pem": partial(TwoPhase, fit="2pem"),
    "hybrid-np-em": partial(TwoPhase, fit="em"),
    "hybrid-np-ems": partial(TwoPhase, fit="ems"),
    "spline": partial(Wave, fit="spline"),
    "square-wave-em": partial(Wave, fit="em"),
    "square-wave-ems": partial(Wave, fit="ems"),
}
"""How a distribution can be asked for."""


class Distribution(Plan[DistributionAnswer]):
    """The distribution of a number.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    epsilon : float
        Privacy of each participant.
    bins : int
        Number of equal buckets.
    method : str
        One of `METHODS`.
    level : float
        Of every interval.
    options
        Of the method: ``boundary``, ``stop`` and ``tolerance`` (EM and EMS), ``b`` and ``positions`` (Square Wave),
        ``cells`` (binning), ``branching`` and ``weighted`` (hierarchies), ``prior_weight`` (2PEM), ``share`` and
        ``parsimony`` (hybrid).

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Distribution(dc.Interval(0, 10), epsilon=2, bins=16, method="spline")
    >>> answer = dc.simulate(plan, [2.0] * 4000 + [3.0] * 4000, seed=3)
    >>> answer.quantile(0.5)
    <quantile 0.5: ... (95%); 8000 reports, epsilon 2, spline>
    >>> answer.probabilities.shape, answer.edges.shape
    ((16,), (17,))
    """

    question = "distribution"

    def __init__(
        self,
        domain: Interval,
        epsilon: float,
        bins: int = 256,
        method: str = "auto",
        level: float = 0.95,
        **options: Any,
    ) -> None:
        super().__init__(epsilon, level)
        if not isinstance(domain, Interval):
            raise DiscreetError(f"domain is {domain!r}; a distribution needs an Interval (categories have Frequency)")
        if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= MOST_BINS:
            raise DiscreetError(f"bins is {bins!r}; allowed is a whole number from 2 to {MOST_BINS}")
        if method not in METHODS:
            raise DiscreetError(f"method is {method!r}; allowed are {', '.join(METHODS)}")
        self.domain, self.bins, self.method, self._options = domain, bins, method, options
        try:
            self.design = METHODS[method](domain, self.epsilon, bins, **options)
        except TypeError:
            raise DiscreetError(f"{method} has no such option among {', '.join(options)}") from None

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "domain": self.domain.to_dict(),
            "epsilon": self.epsilon,
            "bins": self.bins,
            "method": self.method,
            "level": self.level,
        } | self._options

    def round(self, history: History) -> Round | None:
        """Return the only round."""
        return None if history else Round(1, self.design.channels)

    def estimate(self, history: History) -> DistributionAnswer:
        """Return the histogram with what can be read off it."""
        if len(history) != 1:
            raise DiscreetError(f"a distribution by {self.method} has one round, not {len(history)}")
        fit = self.design.fit(history[0])
        assumed = (
            f"values outside {self.domain} count as its nearest end",
            "people are a random sample: intervals are for the population they were drawn from",
            "each interval holds for its own number, not for all of them together",
            *fit.assumed,
        )
        return DistributionAnswer(
            question=self.question,
            domain=self.domain,
            probabilities=fit.f,
            uncertainty=fit.uncertainty,
            raw=fit.raw,
            level=self.level,
            n=history[0].n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=assumed,
            details=dict(fit.details),
        )
