"""Means: the averages of several numbers of each person, within one budget.

    each person answers k of the d questions, drawn at random, each at epsilon / k      [aaa, appendix C; n-output, 5.1]

Never k answers at full epsilon: that would be k epsilon. Averages are over those who answered a question, not
zero-filled over all. n times the error of one mean is d (V(epsilon/k) + Var X) / k, with V the mechanism's exact
variance: k is chosen to minimise it, with Var X = 1/3 of the canonical scale unless a guess is given. Up to epsilon = 5
that is k = 1.
"""

from collections.abc import Sequence
from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism
from discreet.plans.answers import MeansAnswer
from discreet.plans.base import Channel, History, Plan, Round
from discreet.plans.encoders import Attribute
from discreet.plans.mean.adaptive import Adaptive
from discreet.plans.mean.plan import ADAPTIVE, adaptive_steps, best_mean_mechanism, mean_estimate

GUESSED_VARIANCE = 1 / 3
"""Variance of a value on [-1, 1] when nothing is known: the uniform distribution's."""


class Means(Plan[MeansAnswer]):
    """The means of several numbers.

    Parameters
    ----------
    domains : sequence of Interval
        One a question.
    epsilon : float
        Privacy of each participant, for all answers together.
    method : str
        A mean mechanism by name, "aaa" or "np-aaa" (two rounds, noise adapted to each question), or "auto".
    answers : int, optional
        k, how many questions each participant answers at epsilon/k; chosen by exact variance unless given.
    names : sequence of str, optional
        Of the questions; "0", "1", … unless given.
    spread : float, optional
        A guess of Var X on the canonical scale, for choosing k.

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
        domains: Sequence[Interval],
        epsilon: float,
        method: str = "auto",
        answers: int | None = None,
        names: Sequence[str] | None = None,
        level: float = 0.95,
        spread: float = GUESSED_VARIANCE,
        **options: Any,
    ) -> None:
        super().__init__(epsilon, level)
        self.domains = tuple(domains)
        if not self.domains or not all(isinstance(domain, Interval) for domain in self.domains):
            raise DiscreetError("domains must be a list of at least one Interval")
        self.names = tuple(str(i) for i in range(len(self.domains))) if names is None else tuple(map(str, names))
        if len(set(self.names)) != len(self.domains):
            raise DiscreetError(f"names has {len(set(self.names))} different entries for {len(self.domains)} domains")
        if not isinstance(spread, (int, float)) or not 0 <= spread <= 1:
            raise DiscreetError(f"spread is {spread!r}; a variance on [-1, 1] lies between 0 and 1")
        if answers is not None and not (isinstance(answers, int) and 1 <= answers <= len(self.domains)):
            raise DiscreetError(f"answers is {answers!r}; allowed is a whole number from 1 to {len(self.domains)}")
        self.spread, self._asked_method, self._options = float(spread), method, options
        self.adaptive: dict[str, Adaptive] = {}
        if method in ADAPTIVE:
            # Noise that suits each question needs a person's whole epsilon: one answer unless told otherwise.
            self.answers, self.method = answers or 1, method
            asked = dict(options)
            if isinstance(asked.get("people"), int):  # of all people, so many answer each question
                asked["people"] = max(1, asked["people"] * self.answers // len(self.domains))
            self.adaptive = {
                name: adaptive_steps(method, domain, self.epsilon / self.answers, asked)
                for name, domain in zip(self.names, self.domains, strict=True)
            }
            if not all(steps.first.numeric for steps in self.adaptive.values()):
                raise DiscreetError(f"pilot is {options['pilot']!r}; several means need a numeric pilot")
            return
        self.answers, self.mechanism = self._choose(answers)
        if not self.mechanism.numeric:
            raise DiscreetError(f"method is {method!r}; means need a numeric mechanism")
        self.method = self.mechanism.name

    def _choose(self, answers: int | None) -> tuple[int, Mechanism]:
        candidates = {}
        for k in range(1, len(self.domains) + 1) if answers is None else (answers,):
            built = self._build(self.epsilon / k)
            candidates[k] = ((built.worst_case_variance + self.spread) / k, built)
            if answers is None and k > 1 and candidates[k][0] > candidates[k - 1][0]:
                break  # the cost is convex in k: noise grows faster than the number of answers
        best = min(candidates, key=lambda k: candidates[k][0])
        return best, candidates[best][1]

    def _build(self, epsilon: float) -> Mechanism:
        if self._asked_method == "auto":
            return best_mean_mechanism(epsilon)
        return mechanism(self._asked_method, epsilon, **self._options)

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; choices are written as made."""
        return {
            "domains": [domain.to_dict() for domain in self.domains],
            "epsilon": self.epsilon,
            "method": self.method,
            "answers": self.answers,
            "names": list(self.names),
            "level": self.level,
            "spread": self.spread,
        } | self._options

    def expecting(self, people: int) -> "Means":
        """Return the plan for so many people: an adaptive one asks the fewer of them first, the more there are."""
        if not self.adaptive or {"people", "share"} & set(self._options):
            return self
        made = self.answers, self.names, self.level, self.spread
        return Means(self.domains, self.epsilon, self.method, *made, **self._options, people=people)

    def round(self, history: History) -> Round | None:
        """Return the next round, with one channel a question: one round, or two for the adaptive methods."""
        asked: dict[str, Mechanism] = {}
        share = 1.0
        if not self.adaptive:
            asked = dict.fromkeys(self.names, self.mechanism) if not history else {}
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
        rounds = 2 if self.adaptive else 1
        if len(history) != rounds or any(set(answered.tallies) != set(self.names) for answered in history):
            raise DiscreetError(f"means need {rounds} round(s) with the channels {', '.join(self.names)}")
        if self.adaptive:
            estimates = {
                name: steps.pooled(self, history[0], history[1], name, name) for name, steps in self.adaptive.items()
            }
        else:
            only = history[0]
            estimates = {name: mean_estimate(self, only.round.channel(name), only.tally(name)) for name in self.names}
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
