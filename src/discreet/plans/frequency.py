"""Frequency: how often each category occurs, unbiased, with an interval for each.

    f_v = (c_v / n - q) / (p - q),   c_v reports support v                  [discrete-comparison; Wang et al. 2017]

One estimator serves every oracle; they differ only in p, q and the cost of a report. The raw estimate is unbiased and
always kept; the shown one is post-processed to a distribution, which lowers its error and costs no privacy.
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.estimation.simplex import norm_sub, project
from discreet.mechanisms.families import Oracle, require_oracle
from discreet.mechanisms.registry import build, entries
from discreet.plans.answers import FrequencyAnswer
from discreet.plans.base import Channel, History, Plan, Round
from discreet.tallies import Tally

LARGEST_UNARY = 4096
"""Oracles whose reports have a bit for every category are not chosen beyond this size (512 bytes a report)."""
TIE = 1e-6
"""Variances closer than this are the same: oracles coincide up to the rounding of their weights."""
SIMPLE = "randomized-response"
"""The plainest oracle: preferred among those that coincide with it."""
BIT_PER_CATEGORY = ("basic-rappor", "count-mean-sketch", "optimized-unary", "subset-selection")


class Frequency(Plan[FrequencyAnswer]):
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
    <frequency: tea 69.8%, coffee 29.5%, water 0.6%; 10000 reports, epsilon 1, randomized-response>
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
            found = build(method, self.epsilon, {"size": domain.size} | options)
            self.mechanism, self.reason = require_oracle(found, "A frequency"), "named by the analyst"
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

    def estimate(self, history: History) -> FrequencyAnswer:
        """Return the frequencies."""
        channel, tally = self.only(history)
        oracle, asked = require_oracle(channel.mechanism, "A frequency"), channel.encoder
        if not isinstance(asked, Categories):
            raise DiscreetError(f"frequencies need a channel for categories, not {asked!r}")
        raw, errors = oracle_frequencies(oracle, tally)
        z = NormalDist().inv_cdf(0.5 + self.level / 2)
        intervals = np.clip(np.column_stack([raw - z * errors, raw + z * errors]), 0.0, 1.0)
        return FrequencyAnswer(
            question=self.question,
            labels=asked.labels,
            frequencies=POST[self.post](oracle, tally, raw),
            raw=raw,
            standard_errors=errors,
            intervals=intervals,
            post=self.post,
            influence=oracle.influence,
            level=self.level,
            n=tally.n,
            epsilon=self.epsilon,
            method=oracle.name,
            assumed=(
                "people are a random sample: intervals are for the frequencies in the population they were drawn from",
                "each interval holds for its own category, not for all of them together",
            ),
            details={"reason": self.reason},
        )


def oracle_frequencies(oracle: Oracle, tally: Tally) -> tuple[Floats, Floats]:
    """Return the unbiased frequencies and their standard errors, noise and sampling of people together."""
    if tally.n < 2:
        raise DiscreetError(f"the tally has {tally.n} reports; frequencies with intervals need at least 2")
    p, q = oracle.p, oracle.q
    raw = (oracle.support_counts(tally) / tally.n - q) / (p - q)
    return raw, np.sqrt(_variance(oracle, np.clip(raw, 0.0, 1.0), tally.n))


def _variance(oracle: Oracle, f: Floats, n: int) -> Floats:
    return oracle.frequency_variance(f, n) + f * (1 - f) / n


def _maximum_likelihood(oracle: Oracle, tally: Tally, raw: Floats) -> Floats:
    """EM through the channel, to its fixed point."""
    from discreet.estimation.em import em

    return em(oracle.operator(), tally.counts, stop="fixed-point").f


def _posterior_means(oracle: Oracle, tally: Tally, raw: Floats) -> Floats:
    from discreet.estimation.shrinkage import shrink

    return shrink(raw, lambda f: _variance(oracle, f, tally.n))


POST: dict[str, Callable[[Oracle, Tally, Floats], Floats]] = {
    "norm-sub": lambda oracle, tally, raw: norm_sub(raw),
    "simplex": lambda oracle, tally, raw: project(raw),
    "mle": _maximum_likelihood,
    "bayes": _posterior_means,
    "raw": lambda oracle, tally, raw: raw,
}


def oracle_candidates(epsilon: float, size: int) -> list[Oracle]:
    """Return every registered oracle for this size, but those with a bit a category when there are very many."""
    found = []
    for entry in entries().values():
        if entry.question != "frequency" or entry.needs != ("size",):
            continue
        if size > LARGEST_UNARY and entry.name in BIT_PER_CATEGORY:
            continue
        try:
            found.append(require_oracle(entry.build(epsilon, size=size), "A frequency"))
        except DiscreetError:
            if entry.name == SIMPLE:  # the one that takes every size: what it refuses is wrong
                raise
    return found


def best_oracle(epsilon: float, size: int, tolerance: float = 0.05) -> tuple[Oracle, str]:
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
        f"{chosen.name} needs {chosen.certificate.bits} bits per report where {least.name}, the least variance, "
        f"needs {least.certificate.bits}; it has {more:.1%} more variance"
    )
