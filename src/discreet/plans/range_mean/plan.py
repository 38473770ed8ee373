"""RangeMean: the mean of the people whose number lies in a range, and how many they are.

Nobody says whether they are inside. Methods [PrivRM 2024; notes in the modules named]:

    privrm-i, privrm-o, privrm-star   a randomised tag, and a value from everyone             mechanisms.privrm
    outside-symbol                    one more report, ⊥; the value keeps the whole epsilon   mechanisms.privrm
    distribution                      read off the distribution of the whole domain               plans.distribution
    direct                            reports taken for values: a biased baseline, without an interval of its own
    auto                              the least predicted variance, from a guess, a prior or a pilot round

The paper's adaptive adjustment, which narrows the range to where people are, is not offered: no interval for it covers
where values are heaped. It is in the study of the paper (discreet_papers.privrm.adjustment).
Prefer outside-symbol from epsilon = 1 on; privrm-star with duchi when epsilon is small and the mean near the middle.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.numeric.privrm import METHODS, Draw, range_mechanism
from discreet.mechanisms.registry import mechanism as named
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import Channel, History, Plan, Round, checked_people
from discreet.plans.distribution import Distribution
from discreet.plans.encoders import RangeEncoder
from discreet.plans.mean import Mean
from discreet.plans.options import as_interval, check_choice, check_options, given, numeric_options
from discreet.plans.range_mean import estimators
from discreet.plans.range_mean.answering import RangeAnswering, read_distribution
from discreet.plans.range_mean.designs import Belief, check_range, ranked
from discreet.plans.range_mean.watching import watch_ratio
from discreet.plans.watching import mean_ends

PILOT_SHARE = 0.1
"""The share of the people in a pilot round, unless given."""
_RANGED = ("draw", "calibrated", "positions", "outputs", "corrected", "plateau", "steps", "b", "ratio")
OPTIONS: dict[str, tuple[str, ...]] = dict.fromkeys(("auto", *METHODS), _RANGED) | {"direct": (), "distribution": ()}
"""The options of each method's mechanism."""


class RangeMean(Plan[NumberAnswer]):
    """The mean of the people inside a range, and how many they are.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    low, high : float
        The range, ends included. If it is the whole domain, this is an ordinary `Mean`.
    epsilon : float
        Privacy of each person, for the tag and the value together.
    method : str
        "auto", "privrm-i", "privrm-o", "privrm-star", "outside-symbol", "direct" or "distribution".
    mechanism : str, optional
        The mechanism for numbers inside; unless given, the one of least predicted variance.
    level : float
        Of the confidence interval.
    rounds : int, optional
        How many rounds "auto" may take: with 2 it learns from a pilot round which method suits; 1 unless given.
    guess : (share, mean), optional
        What is expected of the people inside, for "auto" to choose by before any data.
    prior : sequence of float, optional
        A histogram of the domain, instead of the guess.
    pilot : float, optional
        Share of the people in the pilot round, 0.1 unless given; their answers count too. Giving it allows two rounds;
        0 means no pilot.
    tailored : bool
        Whether "auto" may also design a mechanism for a known distribution (a prior), by a linear programme: less
        noise, but seconds of work.
    draw : str, optional
        What people outside the range send; see
        `discreet.mechanisms.numeric.privrm.range_mechanism`.
    calibrated : bool, optional
        Whether exactly epsilon is spent (default), or less, as in the paper.
    positions, outputs, corrected, plateau, steps, b, ratio : optional
        Of the mechanism inside; see `discreet.mechanism`.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.RangeMean(dc.Interval(0, 100), 40, 60, epsilon=2, method="outside-symbol", mechanism="duchi")
    >>> answer = dc.simulate(plan, [45.0] * 6000 + [90.0] * 4000, seed=1)
    >>> answer.interval[0] < 45 < answer.interval[1], round(answer.details["share"], 1)
    (True, 0.6)
    """

    question = "range-mean"

    def __init__(
        self,
        domain: Interval | tuple[float, float],
        low: float,
        high: float,
        epsilon: float,
        method: str = "auto",
        mechanism: str | None = None,
        level: float = 0.95,
        *,
        rounds: int | None = None,
        guess: tuple[float, float] | None = None,
        prior: Sequence[float] | None = None,
        pilot: float | None = None,
        tailored: bool = True,
        draw: Draw | None = None,
        calibrated: bool | None = None,
        positions: int | None = None,
        outputs: int | None = None,
        corrected: bool | None = None,
        plateau: bool | None = None,
        steps: int | None = None,
        b: float | None = None,
        ratio: float | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        domain = as_interval(domain, "range mean")
        self.domain, self.range = domain, check_range(domain, low, high)
        check_choice("method", method, tuple(OPTIONS))
        if mechanism is not None:
            check_choice("mechanism", mechanism, tuple(numeric_options()))
        if pilot is not None and (not isinstance(pilot, (int, float)) or not 0 <= pilot < 1):
            raise DiscreetError(f"pilot must be a share from 0 to below 1, not {pilot!r}")
        if rounds not in (None, 1, 2):
            raise DiscreetError(f"rounds must be 1 or 2, not {rounds!r}")
        self.method, self.mechanism, self.tailored = method, mechanism, tailored
        self.pilot = PILOT_SHARE if pilot is None else float(pilot)
        self.options = given(
            draw=draw, calibrated=calibrated, positions=positions, outputs=outputs, corrected=corrected,
            plateau=plateau, steps=steps, b=b, ratio=ratio,
        )  # fmt: skip
        check_options(method, self.options, OPTIONS)
        self._given = {"guess": guess, "prior": prior, "tailored": tailored} | given(pilot=pilot, rounds=rounds)
        may_learn = self.pilot > 0 and (rounds == 2 or (rounds is None and pilot is not None))
        self._has_pilot = method == "auto" and guess is None and prior is None and may_learn
        whole = self.range == (domain.low, domain.high)
        self._mean = Mean(domain, self.epsilon, mechanism or "auto", level) if whole else None
        self.distribution = (
            Distribution(domain, self.epsilon, level=level) if method == "distribution" and not whole else None
        )
        self._belief = self._believe(guess, prior)

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        own: dict[str, Any] = {
            "domain": self.domain.to_dict(),
            "low": self.range[0],
            "high": self.range[1],
            "epsilon": self.epsilon,
            "method": self.method,
            "mechanism": self.mechanism,
            "level": self.level,
        }
        return own | self._given | self.options

    def _believe(self, guess: tuple[float, float] | None, prior: Sequence[float] | None) -> Belief | None:
        middle, half = (self.range[0] + self.range[1]) / 2, (self.range[1] - self.range[0]) / 2
        if guess is not None:
            return Belief.guess(guess[0], (guess[1] - middle) / half)
        if prior is not None:
            masses = np.asarray(prior, dtype=np.float64)
            if masses.ndim != 1 or masses.size == 0 or not (masses >= 0).all() or not masses.sum() > 0:
                raise DiscreetError("prior must be a list of non-negative weights, not all zero")
            edges = np.linspace(self.domain.low, self.domain.high, 64 * masses.size + 1)
            fine = np.repeat(masses / masses.sum() / 64, 64)
            return Belief.within((edges[1:] + edges[:-1]) / 2, fine, *self.range, self.range, clip=True)
        return None

    def choose(self, belief: Belief, *, tailored: bool = False) -> Ranged:
        """Return the mechanism of least predicted variance among those that the plan allows."""
        if self.method != "auto" and self.mechanism:
            return range_mechanism(self.method, self.mechanism, self.epsilon, **self.options)
        return ranked(self.epsilon, belief, *self._open, tailored=tailored)[0].build(self.epsilon, **self.options)

    @property
    def _open(self) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
        """The methods and inner mechanisms to choose from."""
        return (METHODS if self.method == "auto" else (self.method,)), (self.mechanism,) if self.mechanism else None

    # -- rounds -------------------------------------------------------------------------------------------

    def round(self, history: History) -> Round | None:
        """Return the pilot round, if there is one, then the main round."""
        if self._mean is not None:
            return self._mean.round(history)
        if self.distribution is not None:
            return self.distribution.round(history)
        if len(history) >= (2 if self._has_pilot else 1):
            return None
        if self._has_pilot and not history:
            return Round(1, (self._pilot_channel(),), share=self.pilot)
        return Round(len(history) + 1, (self._main_channel(history),))

    @property
    def _blind(self) -> Belief:
        """The belief before anything is known: people are spread evenly."""
        return Belief.guess((self.range[1] - self.range[0]) / self.domain.width, 0.0)

    def _pilot_channel(self) -> Channel:
        return Channel("pilot", self.choose(self._blind), RangeEncoder(self.domain, *self.range, self.range))

    def _main_channel(self, history: History) -> Channel:
        if self.method == "direct":
            source = named(self.mechanism or "piecewise", self.epsilon)
            if source.alphabet < 64:
                raise DiscreetError(f"direct needs at least 64 outputs; {source.name} has {source.alphabet}")
            return Channel("all", source, self.domain)
        if history:
            pilot = history[0].round.channel("pilot").mechanism
            assert isinstance(pilot, Ranged)
            seen = estimators.ratio([(pilot, history[0].tally("pilot"))], self.level)
            belief = Belief.guess(float(np.clip(max(seen.share, seen.share_error), 1e-3, 1.0)), seen.mean)
        else:
            belief = self._belief or self._blind
        source = self.choose(belief, tailored=self.tailored and self._given["prior"] is not None)
        return Channel("all", source, RangeEncoder(self.domain, *self.range, self.range))

    def estimate(self, history: History) -> NumberAnswer:
        """Return the mean inside with its interval; details hold the share and the count with theirs."""
        if self._mean is not None:
            found = self._mean.estimate(history)
            found.details.update(share=1.0, count=found.n, count_interval=(found.n, found.n), enough=True)
            return found
        if self.distribution is not None:
            if len(history) != 1:
                raise DiscreetError(f"a range mean by its distribution takes one round, not {len(history)}")
            return self.answering.from_distribution(read_distribution(self.distribution, history[0]))
        if not history or "all" not in history[-1].tallies:
            raise DiscreetError("a range mean needs the tallies of its last round, 'all'")
        if isinstance(history[-1].round.channel("all").mechanism, Ranged):
            return self.answering.from_ratio(history)
        return self.answering.from_reports(history[-1])

    def watch(self, history: History, people: int) -> NumberAnswer:
        """Return the mean inside with intervals that hold however often one looks; see `Plan.watch`."""
        return self.watch_part(history, checked_people(people), people)

    def watch_part(self, history: History, answering: float, people: int) -> NumberAnswer:
        """Return what `watch` does, if only ``answering`` of all people were expected to be asked about this range."""
        answer = self.estimate(history)
        if self._mean is not None:
            return answer.watched(mean_ends([(history[0], history[0].round.channels[0].key)], answering), people)
        if self.distribution is None and isinstance(history[-1].round.channel("all").mechanism, Ranged):
            return watch_ratio(self.answering, history, answering, people)
        return answer.widened(people)

    @property
    def answering(self) -> RangeAnswering:
        """What turns tallies into an answer about this range."""
        return RangeAnswering(self.domain, self.range, self.epsilon, self.level)
