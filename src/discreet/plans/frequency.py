"""Frequency: how often each category occurs, unbiased, with an interval for each.

    f_v = (c_v / n - q) / (p - q),   c_v reports support v                  [discrete-comparison; Wang et al. 2017]

One estimator serves every oracle; they differ only in p, q and the cost of a report. The raw estimate is unbiased and
always kept; the frequencies shown are post-processed to a distribution, which lowers the error and costs no privacy.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.estimation.shrinkage import posterior_means, shrink
from discreet.estimation.simplex import norm_sub, project
from discreet.mechanisms.families import Oracle, require_oracle
from discreet.mechanisms.registry import build, entries
from discreet.plans.answers import FrequencyAnswer, normal_intervals
from discreet.plans.base import Channel, History, Plan, Round, checked_people
from discreet.plans.options import as_categories, check_choice, check_options, given, oracle_options
from discreet.plans.uncertain import EACH_ALONE
from discreet.plans.watching import frequency_ends, oracle_letters
from discreet.tallies import Tally

LARGEST_UNARY = 4096
"""Oracles whose reports have a bit for every category are not chosen beyond this size (512 bytes per report)."""
TIE = 1e-6
"""Variances that differ by less than this part are the same: only the rounding of the weights differs."""
SIMPLE = "randomized-response"
"""The simplest oracle, preferred among those of the same variance."""
BIT_PER_CATEGORY = ("basic-rappor", "count-mean-sketch", "optimized-unary", "subset-selection")


class Frequency(Plan[FrequencyAnswer]):
    """The frequency of each category.

    Parameters
    ----------
    domain : Categories
        The labels.
    epsilon : float
        Privacy of each person.
    method : str
        An oracle by name, or "auto": the cheapest report among those within ``tolerance`` of the least variance.
    post : str
        How the unbiased estimates become frequencies that are not negative and sum to one. "auto" (default) keeps the
        categories that are clearly seen, draws the others towards what all of them together suggest, and leans on
        Norm-Sub where there are few categories: with few people or many categories, its mean squared error is far
        below that of the other rules. "bayes" is the same without Norm-Sub; "norm-sub", "simplex" and "mle" are the
        usual rules; "raw" leaves the unbiased estimates as they are.
    level : float
        Of each interval.
    tolerance : float
        How much more variance than the best "auto" accepts for a shorter report, 0.05 for 5 %.
    mechanism : str, optional
        The oracle for "auto" to use; the same as to give its name as the method.
    k : int, optional
        Size of the reported subset: subset-selection.
    blocks : int or str, optional
        Number of blocks, or "auto": hadamard-response.
    buckets : int or str, optional
        Number of hash values, or "auto": local-hashing.
    bits : int, optional
        Length of the seed of a hash function: local-hashing.
    hashes, width, seed : int, optional
        Number of hash functions, their range and their seed: count-mean-sketch.

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
        domain: Categories | Sequence[Any],
        epsilon: float,
        method: str = "auto",
        post: str = "auto",
        level: float = 0.95,
        tolerance: float = 0.05,
        *,
        mechanism: str | None = None,
        k: int | None = None,
        blocks: int | str | None = None,
        buckets: int | str | None = None,
        bits: int | None = None,
        hashes: int | None = None,
        width: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        domain = as_categories(domain, "domain of a frequency")
        check_choice("post", post, tuple(POST))
        if not isinstance(tolerance, (int, float)) or not tolerance >= 0:
            raise DiscreetError(f"tolerance must be a number from 0 on, such as 0.05, not {tolerance!r}")
        self.domain, self.post, self.tolerance = domain, post, float(tolerance)
        self._options = given(k=k, blocks=blocks, buckets=buckets, bits=bits, hashes=hashes, width=width, seed=seed)
        homes: dict[str, tuple[str, ...]] = {"auto": ()} | oracle_options()
        check_choice("method", method, tuple(homes))
        if mechanism is not None:
            check_choice("mechanism", mechanism, tuple(oracle_options()))
            if method not in ("auto", mechanism):
                raise DiscreetError(f"mechanism belongs to the method auto; {method} brings its own")
            method = mechanism
        check_options(method, self._options, homes)
        self._asked = method

    @cached_property
    def _chosen(self) -> tuple[Oracle, str]:
        """The oracle, and why it was chosen."""
        if self._asked == "auto":
            oracle, reason = best_oracle(self.epsilon, self.domain.size, self.tolerance)
        else:
            built = build(self._asked, self.epsilon, self._options | {"size": self.domain.size})
            oracle, reason = require_oracle(built, "A frequency"), "named by the analyst"
        _check_post(self.post, oracle)
        return oracle, reason

    @property
    def method(self) -> str:  # type: ignore[override]
        """Name of the oracle; "auto" is replaced by what it chose."""
        return self._chosen[0].name if self._asked == "auto" else self._asked

    @property
    def mechanism(self) -> str:
        """Name of the oracle: the same as the method."""
        return self.method

    @property
    def reason(self) -> str:
        """Why this oracle was chosen."""
        return self._chosen[1]

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
        return None if history else Round(1, (Channel("all", self._chosen[0], self.domain),))

    def estimate(self, history: History) -> FrequencyAnswer:
        """Return the frequencies."""
        channel, tally = self.only(history)
        oracle, asked = history[0].oracle(channel.key), channel.encoder
        if not isinstance(asked, Categories):
            raise DiscreetError(f"frequencies need a channel for categories, not {asked!r}")
        _check_post(self.post, oracle)
        raw, errors = oracle_frequencies(oracle, tally)
        ends = partial(normal_intervals, raw, errors)
        return FrequencyAnswer(
            question=self.question,
            labels=asked.labels,
            frequencies=POST[self.post](oracle, tally, raw),
            raw=raw,
            standard_errors=errors,
            intervals=ends(self.level),
            ends=ends,
            worth=oracle_letters(oracle)[::-1],
            post=self.post,
            influence=oracle.influence,
            covariance=oracle.frequency_covariance,
            level=self.level,
            n=tally.n,
            epsilon=self.epsilon,
            method=oracle.name,
            assumed=(
                "people are a random sample: intervals are for the frequencies in the population they were drawn from",
                EACH_ALONE,
            ),
            details={"reason": self.reason} if "_chosen" in self.__dict__ else {},
        )

    def watch(self, history: History, people: int) -> FrequencyAnswer:
        """Return the frequencies with intervals that hold however often one looks; see `Plan.watch`."""
        channel, tally = self.only(history)
        return self.estimate(history).watched(
            frequency_ends(history[0].oracle(channel.key), tally, checked_people(people)), people
        )


def _check_post(post: str, oracle: Oracle) -> None:
    if post == "mle" and oracle.operator().shape[0] != oracle.alphabet:
        raise DiscreetError(f"post 'mle' needs an oracle whose tally counts whole reports, not {oracle.name}")


def oracle_frequencies(oracle: Oracle, tally: Tally) -> tuple[Floats, Floats]:
    """Return the unbiased frequencies and their standard errors, noise and sampling of people together."""
    if tally.n < 2:
        raise DiscreetError(f"frequencies with their intervals need at least 2 reports, not {tally.n}")
    p, q = oracle.p, oracle.q
    raw = (oracle.support_counts(tally) / tally.n - q) / (p - q)
    return raw, np.sqrt(_variance(oracle, np.clip(raw, 0.0, 1.0), tally.n))


def _variance(oracle: Oracle, f: Floats, n: int) -> Floats:
    return np.asarray(oracle.frequency_variance(f, n) + f * (1 - f) / n)


def _maximum_likelihood(oracle: Oracle, tally: Tally, raw: Floats) -> Floats:
    """EM through the channel, to its fixed point."""
    from discreet.estimation.em import em

    return em(oracle.operator(), tally.counts, stop="fixed-point").f


def _dispersion(oracle: Oracle, n: int, raw: Floats) -> float:
    """Return the variance of support counts over the binomial one: more than one for a sketch, whose values collide.

    p and q are exact, so a count is a sum of independent yes and no, and binomial, unless people share hash functions.
    """
    f = np.clip(raw, 0.0, 1.0)
    share = oracle.q + (oracle.p - oracle.q) * f
    binomial = share * (1 - share) / (n * (oracle.p - oracle.q) ** 2)
    return max(1.0, float(_variance(oracle, f, n).mean() / binomial.mean()))


def _shrunk(rule: Callable[..., Floats]) -> "Rule":
    def post(oracle: Oracle, tally: Tally, raw: Floats) -> Floats:
        # The support counts are what the raw estimates were made of; to count them again could take seconds.
        counts = np.rint(tally.n * (oracle.q + (oracle.p - oracle.q) * raw))
        return rule(counts, tally.n, oracle.p, oracle.q, _dispersion(oracle, tally.n, raw))

    return post


Rule = Callable[[Oracle, Tally, Floats], Floats]
POST: dict[str, Rule] = {
    "auto": _shrunk(shrink),
    "norm-sub": lambda oracle, tally, raw: norm_sub(raw),
    "simplex": lambda oracle, tally, raw: project(raw),
    "mle": _maximum_likelihood,
    "bayes": _shrunk(posterior_means),
    "raw": lambda oracle, tally, raw: raw,
}


def oracle_candidates(epsilon: float, size: int) -> list[Oracle]:
    """Return every oracle for this size, without those that need a bit per category if there are very many."""
    found: list[Oracle] = []
    for entry in entries().values():
        if entry.question != "frequency" or entry.needs != ("size",):
            continue
        if size > LARGEST_UNARY and entry.name in BIT_PER_CATEGORY:
            continue
        try:
            built = entry.build(epsilon, size=size)
            found += [built] if isinstance(built, Oracle) else []
        except DiscreetError:
            if entry.name == SIMPLE:  # it takes every size, so what it refuses is wrong for all
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
