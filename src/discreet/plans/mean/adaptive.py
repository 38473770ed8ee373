"""Adaptive means: a first round learns roughly where the values are, a second adds the noise that suits them.

    round 1: a share s of the people, drawn at random; their reports are decoded to a histogram by EM
    round 2: the others, with `adaptive-additive` for that histogram                   [aaa, section 6; n-output, 4.3]

What differs from the papers: the noise is private and of the right scale (see `adaptive-additive`); the first round is
the LP mechanism for a broad prior, whose reports are unbiased, of low variance and invertible, and they are *reused*
with weights n_i / (v_i + Var X); the first round is small; what it teaches is the mean over all shapes that its
reports make likely (`discreet.estimation.shapes`), because expected variance is linear in the prior; and where an
adapted mechanism would not be better under that (small n, small epsilon), the others are asked with the first one or
with `minimax`, so that a second round never costs more than 0.4 % of the one-round default's error.
``np-aaa`` is the papers' other form: HM-NP and 2PEM in the first round. The estimate is unbiased whatever was learnt:
the second round depends on the first only through its noise.

How many to ask first: a share s costs about s r, with r the excess of the first mechanism's variance over the best;
what n s reports fail to teach costs about K / (n s). The sum is least at s = sqrt(K / (r n)): `chosen_share`.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.numeric.adaptive_additive import adaptive_additive
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import Answered, Channel, History, Plan, Round
from discreet.plans.encoders import Bucket, Encoder, asked_domain
from discreet.plans.mean.decoding import weighted_mean
from discreet.plans.options import check_choice, check_share, check_whole
from discreet.plans.watching import mean_ends
from discreet.tallies import Tally

BINS = 64
"""Buckets of the histogram that a first round is decoded to, where its mechanism has no knots of its own."""
PILOTS = ("broad-lp", "minimax", "randomized-response", "square-wave", "hybrid-np")
ENDS = 0.1
"""The mass of the broad prior at each end of the domain, where clipped values lie; the rest is uniform."""
DOUBT = 0.5
"""How many reports the uniform prior counts for when it is mixed into what was learnt.

More would add much variance where everybody is at the two ends.
"""
SHARE = 0.05
"""The share of the first round when the number of people is not known."""
GAIN = 0.99
"""An adapted mechanism must have less than this part of the expected variance of one that is not, to be used."""


def useful_knots(epsilon: float) -> int:
    """Return N + 1: finer knots than these gain less than 1 %."""
    return 17 if epsilon <= 2 else 33 if epsilon <= 4 else 65


def chosen_share(epsilon: float, people: int) -> float:
    """Return the share of the first round for this many people: max(2, 4/epsilon) / sqrt(n), a quarter at most.

    sqrt(K / r) was measured on twelve distributions, the papers' three among them: 1 to 4 at epsilon = 2 and 4, where
    people at the two ends want the least, and 3 to 8 at epsilon = 1, where reports teach less and cost less.
    """
    return min(0.25, max(2.0, 4.0 / epsilon) / math.sqrt(people))


@dataclass(frozen=True)
class Adaptive:
    """The two rounds of an adaptive mean.

    Parameters
    ----------
    domain : Interval
    epsilon : float
    pilot : str
        The first round's mechanism: "broad-lp" (default), "minimax", "randomized-response" (the papers' GRR),
        "square-wave", or "hybrid-np" (NP-AAA).
    share : float, optional
        s, the part of the people in the first round: 0.05, or chosen by `chosen_share` if `people` is given.
    people : int, optional
        How many people are expected in all, to choose the share.
    reuse : bool
        Whether first-round reports count in the estimate.
    """

    domain: Interval
    epsilon: float
    pilot: str = "broad-lp"
    share: float | None = None
    reuse: bool = True
    people: int | None = None

    def __post_init__(self) -> None:
        check_choice("pilot", self.pilot, PILOTS)
        if self.share is not None:
            check_share("share", self.share)
        if self.people is not None:
            check_whole("people", self.people, 1)
        if not isinstance(self.reuse, bool):
            raise DiscreetError(f"reuse must be True or False, not {self.reuse!r}")

    @property
    def first_share(self) -> float:
        """The part of the people in the first round."""
        if self.share is not None:
            return self.share
        return SHARE if self.people is None else chosen_share(self.epsilon, self.people)

    @cached_property
    def first(self) -> Mechanism:
        """The first round's mechanism."""
        knots = useful_knots(self.epsilon)
        if self.pilot == "broad-lp":
            middle = (1 - 2 * ENDS) / (knots - 1)
            end = ENDS + middle / 2
            return adaptive_additive(self.epsilon, prior=[end, *[middle] * (knots - 2), end])
        if self.pilot == "randomized-response":
            return mechanism(self.pilot, self.epsilon, size=knots)
        return mechanism(self.pilot, self.epsilon)

    @cached_property
    def knots(self) -> Floats:
        """The knots of the adapted mechanism; what is learnt is the mass on them."""
        return np.linspace(-1.0, 1.0, useful_knots(self.epsilon))

    def learnt(self, first: Mechanism, tally: Tally) -> Floats:
        """Return the mass on the knots that the first round shows, with a little of the uniform one.

        A value between two knots counts as rounded to one of them, as the mechanism will round it; so atoms stay atoms.
        """
        from discreet.estimation.em import em
        from discreet.estimation.shapes import averaged
        from discreet.operators import spread

        if self.pilot == "broad-lp" and np.array_equal(first.inputs, self.knots):
            likely = em(first.operator(), tally.counts, epsilon=self.epsilon).f
            found = averaged(first.matrix(), tally.counts, likely)
        else:
            histogram = self._histogram(first, tally)
            found = spread(self.knots, histogram.size) @ histogram
        trust = tally.n / (tally.n + DOUBT)
        return np.asarray(trust * np.maximum(found, 0.0) / found.sum() + (1 - trust) / self.knots.size)

    def _histogram(self, first: Mechanism, tally: Tally) -> Floats:
        """Return the histogram over equal buckets that the pilot's reports show."""
        from discreet.estimation.em import em
        from discreet.estimation.two_phase import two_phase_em

        if isinstance(first, Mixture):
            cut = first.parts[0].alphabet
            small, wide = (part.operator(BINS) for part in first.parts)
            return two_phase_em(wide, tally.counts[cut:], small, tally.counts[:cut]).f
        return em(first.operator(BINS if first.numeric else first.size), tally.counts, epsilon=self.epsilon).f

    def adapt(self, first: Mechanism, tally: Tally) -> tuple[Numeric, bool]:
        """Return the second round's mechanism for what the first showed, and whether it is adapted or a fallback."""
        broad = mechanism("minimax", self.epsilon)
        if tally.n == 0:
            return broad, False
        mass = self.learnt(first, tally)
        adapted = adaptive_additive(self.epsilon, prior=mass.tolist())

        def expected(source: Numeric) -> float:
            return float(source.variance(self.knots) @ mass)

        fallback = min((m for m in (broad, first) if isinstance(m, Numeric)), key=expected)
        return (adapted, True) if expected(adapted) < GAIN * expected(fallback) else (fallback, False)

    def round(self, history: History) -> Round | None:
        """Return round one, then round two for what round one showed."""
        if len(history) == 0:
            encoder: Encoder = self.domain if self.first.numeric else Bucket(self.domain, self.first.size)
            return Round(1, (Channel("pilot", self.first, encoder),), share=self.first_share)
        if len(history) == 1:
            first = history[0].round.channel("pilot").mechanism
            return Round(2, (Channel("adapted", self.adapt(first, history[0].tally("pilot"))[0], self.domain),))
        return None

    def estimate(self, plan: Plan, history: History) -> NumberAnswer:
        """Return the weighted mean of both rounds, with its interval."""
        if len(history) != 2:
            raise DiscreetError(f"mean by {plan.method} needs the tallies of two rounds, pilot and adapted")
        return self.pooled(plan, history[0], history[1], "pilot", "adapted")

    def watch(self, plan: Plan, history: History, people: int) -> NumberAnswer:
        """Return the mean of both rounds with an interval that holds however often one looks."""
        return self.watched(self.estimate(plan, history), history, "pilot", "adapted", people, people)

    def watched(
        self, answer: NumberAnswer, history: History, pilot_key: str, key: str, people: int, answering: float
    ) -> NumberAnswer:
        """Return a channel's mean with an interval for looking often, if ``answering`` of all people answer it.

        The reports of round two are independent of each other, given round one: one bet runs through both rounds.
        """
        asked = [(history[1], key)]
        if self.reuse and isinstance(history[0].round.channel(pilot_key).mechanism, Numeric):
            asked.insert(0, (history[0], pilot_key))
        else:  # only those of round two count
            answering *= 1 - history[0].round.share
        return answer.watched(mean_ends(asked, answering), people)

    def pooled(
        self, plan: Plan, first_round: Answered, second_round: Answered, pilot_key: str, key: str
    ) -> NumberAnswer:
        """Return the weighted mean of a channel of each round, with its interval."""
        pilot, main = first_round.tally(pilot_key), second_round.tally(key)
        first, second = first_round.round.channel(pilot_key).mechanism, second_round.numeric(key)
        adapted = second.name == "adaptive-additive" and second.id != first.id  # otherwise the fallback was asked
        parts = [(second, main)]
        if self.reuse and isinstance(first, Numeric) and pilot.n >= 2:
            parts.insert(0, (first, pilot))
        found, weights = weighted_mean(parts)
        domain = asked_domain(second_round.round.channel(key).encoder)
        value, scale = domain.decode(found.value), domain.width / 2
        ends = partial(found.ends, value, scale)
        said = "the noise of round two was adapted to what round one showed"
        if not adapted:
            said = f"adapting would not have helped here: round two was asked with {second.name}"
        return NumberAnswer(
            question="mean",
            value=value,
            interval=ends(plan.level),
            ends=ends,
            level=plan.level,
            n=pilot.n + main.n,
            epsilon=plan.epsilon,
            method=plan.method,
            assumed=(f"values outside {domain} count as its nearest end", said, "unbiased whatever round one showed"),
            details={
                "standard_error": found.error * scale,
                "adapted": adapted,
                "weights": weights,
                "pilot_reports": pilot.n,
            },
        )
