"""Frequency: how often each category occurs, unbiased, with an interval for each.

    f_v = (c_v / n - q) / (p - q),   c_v reports support v                  [discrete-comparison; Wang et al. 2017]

One estimator serves every oracle; they differ only in p, q and the cost of a report. The raw estimate is unbiased and
always kept; the shown one is post-processed to a distribution, which lowers its error and costs no privacy.
"""

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.estimation.simplex import norm_sub, project
from discreet.mechanisms.base import Floats, Mechanism
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import entries, mechanism
from discreet.plans.base import Channel, History, Plan, Round
from discreet.tallies import Tally

LARGEST_UNARY = 4096
"""Oracles whose reports have a bit for every category are not chosen beyond this size (512 bytes a report)."""
TIE = 1e-6
"""Variances closer than this are the same: oracles coincide up to the rounding of their weights."""
SIMPLE = "randomized-response"
"""The plainest oracle: preferred among those that coincide with it."""
BIT_PER_CATEGORY = ("basic-rappor", "count-mean-sketch", "optimized-unary", "subset-selection")


@dataclass(frozen=True)
class FrequencyEstimate:
    """Frequencies with an interval each.

    Attributes
    ----------
    labels : tuple
        The categories.
    frequencies : numpy.ndarray
        Post-processed: non-negative with sum one, unless ``post`` is "raw".
    raw : numpy.ndarray
        Unbiased; may be negative.
    intervals : numpy.ndarray
        One row (low, high) a category, around the raw estimate, within [0, 1].
    """

    labels: tuple[Any, ...]
    frequencies: Floats
    raw: Floats
    standard_errors: Floats
    intervals: Floats
    level: float
    n: int
    epsilon: float
    method: str
    post: str
    influence: float
    assumed: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    question: str = "frequency"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a category: label, frequency, low, high, raw, standard_error."""
        return [
            {
                "label": label,
                "frequency": float(self.frequencies[i]),
                "low": float(self.intervals[i, 0]),
                "high": float(self.intervals[i, 1]),
                "raw": float(self.raw[i]),
                "standard_error": float(self.standard_errors[i]),
            }
            for i, label in enumerate(self.labels)
        ]

    def top(self, k: int = 10) -> list[dict[str, Any]]:
        """Return the rows of the k most frequent categories, largest first."""
        rows = self.rows()
        return [rows[i] for i in np.argsort(-self.frequencies, kind="stable")[:k]]

    def __getitem__(self, label: Any) -> dict[str, Any]:
        if label not in self.labels:
            raise DiscreetError(f"label is {label!r}; it is not one of the {len(self.labels)} categories")
        return self.rows()[self.labels.index(label)]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "question": self.question,
            "rows": self.rows(),
            "level": self.level,
            "n": self.n,
            "epsilon": self.epsilon,
            "method": self.method,
            "post": self.post,
            "influence_of_one_false_report": self.influence / self.n,
            "assumed": list(self.assumed),
            "details": self.details,
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row a category."""
        import pandas

        return pandas.DataFrame(self.rows()).set_index("label")

    def plot(self, truth: Any = None, top: int = 30) -> Any:
        """Return a bar plot with whiskers (extra ``plots``)."""
        from importlib import import_module

        return import_module("discreet.plots").frequencies(self, truth=truth, top=top)

    def __repr__(self) -> str:
        lead = ", ".join(f"{row['label']} {row['frequency']:.1%}" for row in self.top(3))
        return f"<frequency: {lead}, …; {self.n} reports, epsilon {self.epsilon:g}, {self.method}>"

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th style='text-align:left'>{html.escape(str(row['label']))}</th><td>{row['frequency']:.2%}</td>"
            f"<td>{row['low']:.2%} – {row['high']:.2%}</td></tr>"
            for row in self.top(20)
        )
        head = f"<tr><th></th><th>frequency</th><th>{self.level:.0%} interval</th></tr>"
        foot = f"{self.n} reports, ε = {self.epsilon:g}, {html.escape(self.method)}"
        return f"<table>{head}{body}</table><p>{foot}</p>"


class Frequency(Plan):
    """The frequency of each category.

    Parameters
    ----------
    domain : Categories
        The labels.
    epsilon : float
        Privacy of each participant.
    method : str
        An oracle by name, or "auto": the cheapest report among those within ``tolerance`` of the least variance.
    post : str
        "norm-sub" (default), "simplex", "mle", "bayes" or "raw". "bayes" draws the estimates towards what all of them
        suggest: where people are few or categories many, its mean squared error is usually far below the others'.
    level : float
        Of each interval.
    tolerance : float
        How much more variance than the best "auto" accepts for a shorter report.
    options
        Passed to the oracle's constructor.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Frequency(dc.Categories(["tea", "coffee", "water"]), epsilon=1)
    >>> plan.reason
    'randomized-response has the least variance of all oracles at this size and epsilon'
    >>> dc.simulate(plan, ["tea"] * 7000 + ["coffee"] * 3000, seed=1)
    <frequency: tea 69.8%, coffee 29.5%, water 0.6%, …; 10000 reports, epsilon 1, randomized-response>
    """

    question = "frequency"

    def __init__(
        self,
        domain: Categories,
        epsilon: float,
        method: str = "auto",
        post: str = "norm-sub",
        level: float = 0.95,
        tolerance: float = 0.05,
        **options: Any,
    ) -> None:
        super().__init__(epsilon, level)
        if not isinstance(domain, Categories):
            raise DiscreetError(f"domain is {domain!r}; frequencies need Categories")
        if post not in POST:
            raise DiscreetError(f"post is {post!r}; allowed are {', '.join(POST)}")
        if not isinstance(tolerance, (int, float)) or not tolerance >= 0:
            raise DiscreetError(f"tolerance is {tolerance!r}; allowed is a number from 0, such as 0.05")
        if method == "auto" and options:
            raise DiscreetError(f"option {next(iter(options))!r} belongs to a named method; auto has no option")
        self.domain, self.post, self.tolerance, self._options = domain, post, float(tolerance), options
        if method == "auto":
            self.mechanism, self.reason = best_oracle(self.epsilon, domain.size, self.tolerance)
        else:
            self.mechanism = mechanism(method, self.epsilon, size=domain.size, **options)
            self.reason = "named by the analyst"
        if not isinstance(self.mechanism, Oracle):
            raise DiscreetError(f"method is {method!r}; frequencies need a frequency oracle")
        if post == "mle" and self.mechanism.operator().shape[0] != self.mechanism.alphabet:
            raise DiscreetError(
                f"post is 'mle'; it needs an oracle whose tally counts whole reports, not {self.mechanism.name}"
            )
        self.method = self.mechanism.name

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; "auto" is written as what it chose."""
        return {
            "domain": self.domain.to_dict(),
            "epsilon": self.epsilon,
            "method": self.method,
            "post": self.post,
            "level": self.level,
            "tolerance": self.tolerance,
        } | self._options

    def round(self, history: History) -> Round | None:
        """Return the only round."""
        return None if history else Round(1, (Channel("all", self.mechanism, self.domain),))

    def estimate(self, history: History) -> FrequencyEstimate:
        """Return the frequencies."""
        channel, tally = self.only(history)
        oracle, asked = channel.mechanism, channel.encoder
        if not isinstance(asked, Categories):
            raise DiscreetError(f"frequencies need a channel for categories, not {asked!r}")
        raw, errors = oracle_frequencies(oracle, tally)
        z = NormalDist().inv_cdf(0.5 + self.level / 2)
        intervals = np.clip(np.column_stack([raw - z * errors, raw + z * errors]), 0.0, 1.0)
        return FrequencyEstimate(
            asked.labels,
            POST[self.post](oracle, tally, raw),
            raw,
            errors,
            intervals,
            self.level,
            tally.n,
            self.epsilon,
            oracle.name,
            self.post,
            oracle.influence,
            (
                "participants are a random sample: intervals are for the frequencies among those they were drawn from",
                "each interval holds for its own category, not for all of them together",
            ),
            {"reason": self.reason},
        )


def oracle_frequencies(oracle: Mechanism, tally: Tally) -> tuple[Floats, Floats]:
    """Return the unbiased frequencies and their standard errors, noise and sampling of people together."""
    if tally.n < 2:
        raise DiscreetError(f"the tally has {tally.n} reports; frequencies with intervals need at least 2")
    p, q = oracle.p, oracle.q
    raw = (oracle.support_counts(tally) / tally.n - q) / (p - q)
    return raw, np.sqrt(_variance(oracle, np.clip(raw, 0.0, 1.0), tally.n))


def _variance(oracle: Mechanism, f: Floats, n: int) -> Floats:
    return oracle.frequency_variance(f, n) + f * (1 - f) / n


def _maximum_likelihood(oracle: Mechanism, tally: Tally, raw: Floats) -> Floats:
    """EM through the channel, to its fixed point."""
    from discreet.estimation.em import em

    return em(oracle.operator(), tally.counts, stop="fixed-point").f


def _posterior_means(oracle: Mechanism, tally: Tally, raw: Floats) -> Floats:
    from discreet.estimation.shrinkage import shrink

    return shrink(raw, lambda f: _variance(oracle, f, tally.n))


POST: dict[str, Callable[[Mechanism, Tally, Floats], Floats]] = {
    "norm-sub": lambda oracle, tally, raw: norm_sub(raw),
    "simplex": lambda oracle, tally, raw: project(raw),
    "mle": _maximum_likelihood,
    "bayes": _posterior_means,
    "raw": lambda oracle, tally, raw: raw,
}


def oracle_candidates(epsilon: float, size: int) -> list[Mechanism]:
    """Return every registered oracle for this size, but those with a bit a category when there are very many."""
    found = []
    for entry in entries().values():
        if entry.question != "frequency" or entry.needs != ("size",):
            continue
        if size > LARGEST_UNARY and entry.name in BIT_PER_CATEGORY:
            continue
        try:
            found.append(entry.build(epsilon, size=size))
        except DiscreetError:
            if entry.name == SIMPLE:  # the one that takes every size: what it refuses is wrong
                raise
    return found


def best_oracle(epsilon: float, size: int, tolerance: float = 0.05) -> tuple[Mechanism, str]:
    """Return the oracle with the shortest report within ``tolerance`` of the least mean variance, and why."""
    candidates = oracle_candidates(epsilon, size)
    least = min(candidates, key=lambda m: m.mean_variance)
    allowed = 1 + max(tolerance, TIE)
    close = [m for m in candidates if m.mean_variance <= allowed * least.mean_variance]
    chosen = min(close, key=lambda m: (m.certificate.bits, m.words_per_report, m.name != SIMPLE, m.mean_variance))
    if math.isclose(chosen.mean_variance, least.mean_variance, rel_tol=TIE):
        return chosen, f"{chosen.name} has the least variance of all oracles at this size and epsilon"
    more = chosen.mean_variance / least.mean_variance - 1
    return chosen, (
        f"{chosen.name} needs {chosen.certificate.bits} bits a report where {least.name}, the least variance, "
        f"needs {least.certificate.bits}; it has {more:.1%} more variance"
    )
