"""Means: the averages of several numbers of each person, within one budget.

    each person answers k of the d questions, drawn at random, each at epsilon / k      [aaa, appendix C; n-output, 5.1]

Never k answers at the full epsilon: that would cost k epsilon. Averages are over those who answered a question, not
zero-filled over all. n times the error of one mean is d (V(epsilon/k) + Var X) / k, with V the mechanism's exact
variance: k is chosen to minimise it, with Var X = 1/3 of the canonical scale unless a guess is given. Up to epsilon = 5
that is k = 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric
from discreet.plans.answers import NumberAnswer, SeveralAnswer, leading
from discreet.plans.base import Channel, History, Plan, Round, checked_people
from discreet.plans.encoders import Attribute
from discreet.plans.learnt import LearntRange, check_learnt, learnt_arguments
from discreet.plans.mean.adaptive import Adaptive
from discreet.plans.mean.plan import ADAPTIVE, BEST, best_mean_mechanism, chosen_method, mean_answer
from discreet.plans.options import as_interval, build_numeric, check_whole, given
from discreet.plans.watching import mean_ends

GUESSED_VARIANCE = 1 / 3
"""Variance of a value on [-1, 1] when nothing is known: that of the uniform distribution."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MeansAnswer(SeveralAnswer):
    """The means of several numbers, by name; ``answer["age"]`` is one of them."""

    estimates: dict[str, NumberAnswer]
    counted: ClassVar[str] = "people"

    def __getitem__(self, name: str) -> NumberAnswer:
        if name not in self.estimates:
            raise DiscreetError(f"name must be one of {', '.join(self.estimates)}, not {name!r}")
        return self.estimates[name]

    def __len__(self) -> int:
        return len(self.estimates)

    def named(self) -> list[tuple[str, NumberAnswer]]:
        """Return each mean with its name."""
        return list(self.estimates.items())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per mean: name, value, low, high, n."""
        return [one.rows()[0] | {"name": name, "n": one.n} for name, one in self.estimates.items()]

    def figures(self) -> dict[str, Any]:
        """Return the answer to each question."""
        return {"estimates": {name: one.to_dict() for name, one in self.estimates.items()}}

    def __str__(self) -> str:
        return leading([f"{name} {one}" for name, one in self.named()[:4]], 3)


class Means(Plan[MeansAnswer]):
    """The means of several numbers.

    Parameters
    ----------
    domains : sequence of Interval
        One per question.
    epsilon : float
        Privacy of each person, for all answers together.
    method : str
        A mechanism for numbers by name; "aaa" or "np-aaa" (two rounds, noise adapted to each question); or "auto".
    answers : int, optional
        How many questions each person answers, k, at epsilon/k each; chosen by exact variance unless given.
    names : sequence of str, optional
        Of the questions; "0", "1", … unless given.
    level : float
        Of the confidence intervals.
    spread : float
        A guess of the values' variance on the canonical scale [-1, 1], for choosing k.
    mechanism : str, optional
        The mechanism for "auto" to use; the same as to give its name as the method.
    rounds : int, optional
        How many rounds the plan may take, 1 or 2; unless given, as many as the method needs, and 1 for "auto".
    pilot, share, people, reuse : optional
        Of "aaa" and "np-aaa"; see `Mean`. The pilot must be a mechanism for numbers.
    range : str, optional
        "learn" if you do not know the ranges; see `Mean`.
    near : float, optional
        With ``range="learn"``, a guess of where most values are if they are far from 0.
    outputs, corrected, plateau, positions, steps, b, ratio, prior, sigma, q : optional
        Of the mechanism that the method names; see `discreet.mechanism`.

    Examples
    --------
    >>> import discreet as dc
    >>> import numpy as np
    >>> plan = dc.Means([dc.Interval(0, 1), dc.Interval(0, 100)], epsilon=2, method="duchi", names=["rate", "age"])
    >>> rows = np.column_stack([np.full(20_000, 0.25), np.full(20_000, 40.0)])
    >>> dc.simulate(plan, rows, seed=1)
    <means: rate 0.254 ± 0.012 (95%), age 40.9 ± 1.3 (95%); 20000 people, epsilon 2, duchi>
    """

    question = "means"

    def __init__(
        self,
        domains: Sequence[Interval | tuple[float, float]],
        epsilon: float,
        method: str = "auto",
        answers: int | None = None,
        names: Sequence[str] | None = None,
        level: float = 0.95,
        spread: float = GUESSED_VARIANCE,
        *,
        mechanism: str | None = None,
        rounds: int | None = None,
        pilot: str | None = None,
        share: float | None = None,
        people: int | None = None,
        reuse: bool | None = None,
        range: str | None = None,
        near: float | None = None,
        outputs: int | None = None,
        corrected: bool | None = None,
        plateau: bool | None = None,
        positions: int | None = None,
        steps: int | None = None,
        b: float | None = None,
        ratio: float | None = None,
        prior: Sequence[float] | None = None,
        sigma: float | None = None,
        q: float | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        if not isinstance(domains, Sequence) or not domains:
            raise DiscreetError("domains must be a list of at least one Interval")
        self.domains = tuple(as_interval(domain, "mean") for domain in domains)
        self.names = tuple(str(i) for i, _ in enumerate(self.domains)) if names is None else tuple(map(str, names))
        if len(set(self.names)) != len(self.domains):
            raise DiscreetError(
                f"names must be {len(self.domains)} different texts, one per domain, not {len(set(self.names))}"
            )
        if not isinstance(spread, (int, float)) or not 0 <= spread <= 1:
            raise DiscreetError(f"spread must be a variance on [-1, 1], from 0 to 1, not {spread!r}")
        if answers is not None:
            check_whole("answers", answers, 1, len(self.domains))
        self.spread, self._answers = float(spread), answers
        self._options = given(
            pilot=pilot, share=share, people=people, reuse=reuse, outputs=outputs, corrected=corrected,
            plateau=plateau, positions=positions, steps=steps, b=b, ratio=ratio, prior=prior, sigma=sigma, q=q,
        )  # fmt: skip
        self.method, self._is_auto = chosen_method(method, mechanism, rounds, self._options), method == "auto"
        if pilot == "randomized-response":
            raise DiscreetError(f"pilot of several means must be a mechanism for numbers, not {pilot!r}")
        self.adaptive = self._adaptive_steps() if self.method in ADAPTIVE else {}
        self.learnt = LearntRange(self, self.domains, near, is_row=True) if check_learnt(range, near) else None

    def _adaptive_steps(self) -> dict[str, Adaptive]:
        # Noise that suits each question needs a person's whole epsilon: one answer unless told otherwise.
        answers, options = self._answers or 1, dict(self._options)
        if "people" in options:  # of all people, so many answer each question
            check_whole("people", options["people"], 1)
            options["people"] = max(1, options["people"] * answers // len(self.domains))
        return {
            name: Adaptive(domain, self.epsilon / answers, **ADAPTIVE[self.method] | options)
            for name, domain in zip(self.names, self.domains, strict=True)
        }

    @property
    def mechanism(self) -> str | None:
        """Name of the mechanism that every question is asked with; None if a pilot round decides."""
        return None if self.adaptive else self.method

    @property
    def answers(self) -> int:
        """How many questions each person answers."""
        return self._answers or (1 if self.adaptive else self._chosen[0])

    @cached_property
    def _chosen(self) -> tuple[int, Numeric]:
        """The number of answers per person with the least variance, and the mechanism for them."""
        candidates = {}
        for k in range(1, len(self.domains) + 1) if self._answers is None else (self._answers,):
            built = self._build(self.epsilon / k)
            candidates[k] = ((built.worst_case_variance + self.spread) / k, built)
            if self._answers is None and k > 1 and candidates[k][0] > candidates[k - 1][0]:
                break  # the cost is convex in k: noise grows faster than the number of answers
        best = min(candidates, key=lambda k: candidates[k][0])
        return best, candidates[best][1]

    def _build(self, epsilon: float) -> Numeric:
        if self._is_auto and self.method == BEST:
            return best_mean_mechanism(epsilon)
        return build_numeric(self.method, epsilon, self._options)

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; choices are written as made."""
        return (
            {
                "domains": [domain.to_dict() for domain in self.domains],
                "epsilon": self.epsilon,
                "method": self.method,
                "answers": self.answers,
                "names": list(self.names),
                "level": self.level,
                "spread": self.spread,
            }
            | self._options
            | learnt_arguments(self.learnt)
        )

    def within(self, domains: Sequence[Interval]) -> "Means":
        """Return the plan for other intervals, which are not learnt."""
        method = "auto" if self._is_auto and self.method == BEST else self.method
        made = self._answers, self.names, self.level, self.spread
        return Means(domains, self.epsilon, method, *made, **self._options)

    def expecting(self, people: int) -> Self:
        """Return the plan for this many people: the more there are, the smaller a share an adaptive plan asks first."""
        if not self.adaptive or {"people", "share"} & set(self._options):
            return self
        made = self.answers, self.names, self.level, self.spread
        options = self._options | learnt_arguments(self.learnt) | {"people": people}
        return type(self)(self.domains, self.epsilon, self.method, *made, **options)

    def round(self, history: History) -> Round | None:
        """Return the next round, with one channel per question: one round, or two for the adaptive methods."""
        if self.learnt is not None:
            return self.learnt.round(history)
        asked: dict[str, Mechanism] = {}
        share = 1.0
        if not self.adaptive:
            asked = dict.fromkeys(self.names, self._chosen[1]) if not history else {}
        elif len(history) == 0:
            asked = {name: steps.first for name, steps in self.adaptive.items()}
            share = next(iter(self.adaptive.values())).first_share
        elif len(history) == 1:
            asked = {
                name: steps.adapt(history[0].round.channel(name).mechanism, history[0].tally(name))[0]
                for name, steps in self.adaptive.items()
            }
        if not asked:
            return None
        channels = (Channel(name, asked[name], Attribute(i, self.domains[i])) for i, name in enumerate(self.names))
        return Round(len(history) + 1, tuple(channels), share, self.answers)

    def estimate(self, history: History) -> MeansAnswer:
        """Return the mean of each question over those who answered it."""
        if self.learnt is not None:
            return self.learnt.estimate(history)
        rounds = 2 if self.adaptive else 1
        if len(history) != rounds or any(set(answered.tallies) != set(self.names) for answered in history):
            raise DiscreetError(f"means need {rounds} round(s) with the channels {', '.join(self.names)}")
        if self.adaptive:
            estimates = {
                name: steps.pooled(self, history[0], history[1], name, name) for name, steps in self.adaptive.items()
            }
        else:
            estimates = {name: mean_answer(self, history[0], name) for name in self.names}
        answers = history[0].round.answers
        people = round(sum(answered.n for answered in history) / answers)
        details = {"answers_per_person": answers, "epsilon_per_answer": self.epsilon / answers}
        return MeansAnswer(
            question=self.question,
            estimates=estimates,
            level=self.level,
            n=people,
            epsilon=self.epsilon,
            method=self.method,
            assumed=tuple(dict.fromkeys(sentence for one in estimates.values() for sentence in one.assumed)),
            details=details,
        )

    def watch(self, history: History, people: int) -> MeansAnswer:
        """Return the means with intervals that hold however often one looks; see `Plan.watch`."""
        if self.learnt is not None:
            return self.learnt.watch(history, people)
        answer, count = self.estimate(history), checked_people(people)
        each = people * history[0].round.answers / len(self.names)
        if self.adaptive:
            made = [
                steps.watched(answer[name], history, name, name, count, each) for name, steps in self.adaptive.items()
            ]
        else:
            made = [answer[name].watched(mean_ends([(history[0], name)], each), count) for name in self.names]
        return answer.renewed(made)
