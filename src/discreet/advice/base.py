"""Option and Advice: one method with what it would give, and all of them ranked."""

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from discreet.advice.second_round import SecondRound
from discreet.plans.base import Plan
from discreet.plans.registry import read_plan
from discreet.text import thousands


@dataclass(frozen=True)
class Option:
    """One method with what it would give.

    Attributes
    ----------
    method : str
        Name, as the answer will say it.
    error : float
        Predicted error; `Advice.measure` says which.
    margin : float
        Predicted half width of the confidence interval (of the mean, for a distribution), sampling of people included.
    bits, report_bytes : float and int
        Of one report: bits on average, bytes on the wire.
    influence : float
        How many honest people one liar can outweigh.
    people_needed : int or None
        People needed for the wanted error, if one was given and can be reached.
    rounds : int
        How many rounds the collection takes; each person answers in one of them.
    precision : float
        Relative standard error of ``error`` itself: 0 where it is computed, above 0 where it was simulated.
    biased : bool
        Whether the answer stays wrong however many people there are: a baseline, ranked last.
    arguments : dict
        What the plan needs besides the question, to be built with this method.
    """

    method: str
    error: float
    margin: float
    bits: float
    report_bytes: int
    influence: float
    people_needed: int | None = None
    rounds: int = 1
    precision: float = 0.0
    biased: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return dict(self.__dict__)


@dataclass(frozen=True, repr=False)
class Advice:
    """Ranked options, best first.

    Attributes
    ----------
    measure : str
        What ``error`` is.
    basis : str
        For whom the errors are predicted.
    asked : dict
        The question as a plan's JSON-ready values, without a method.
    gain : callable
        Computes `second_round`.
    """

    question: str
    epsilon: float
    people: int
    options: tuple[Option, ...]
    measure: str
    basis: str
    asked: dict[str, Any]
    wanted: float | None = None
    gain: Callable[[], SecondRound | None] = field(default=lambda: None, repr=False, compare=False)

    @cached_property
    def second_round(self) -> SecondRound | None:
        """What a second round would gain, computed when it is first asked for; None where there is none to choose."""
        return self.gain()

    @property
    def best(self) -> Option:
        """The option of least predicted error."""
        return self.options[0]

    def plan(self, option: Option | None = None) -> Plan:
        """Return the plan of an option, of the best unless given.

        Examples
        --------
        >>> import discreet as dc
        >>> dc.advise("variance", epsilon=1, domain=dc.Interval(0, 9), people=1000, methods=["two-round"]).plan()
        <plan: variance by two-round, epsilon 1>
        """
        return read_plan(self.asked | (option or self.best).arguments)

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "question": self.question,
            "epsilon": self.epsilon,
            "people": self.people,
            "measure": self.measure,
            "basis": self.basis,
            "wanted_error": self.wanted,
            "options": [option.to_dict() for option in self.options],
        }

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        needed = any(option.people_needed for option in self.options)
        titles = ["method", "margin", "error", "bits", "rounds", *(["people needed"] if needed else [])]
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = ""
        for option in self.options:
            cells = [f"± {option.margin:.4g}", f"{option.error:.4g}", f"{option.bits:.1f}", str(option.rounds)]
            if needed:
                cells.append(thousands(option.people_needed) if option.people_needed else "–")
            name = html.escape(option.method) + (" (biased)" if option.biased else "")
            body += f"<tr><th style='text-align:left'>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        asked = f"{self.question}, ε = {self.epsilon:g}, {thousands(self.people)} people ({self.basis})"
        return (
            f"<p>{html.escape(asked)}</p><table><tr>{head}</tr>{body}</table><p>error: {html.escape(self.measure)}</p>"
        )

    def __str__(self) -> str:
        head = f"{self.question}, epsilon {self.epsilon:g}, {thousands(self.people)} people ({self.basis})"
        lines = [f"  {o.method:30} ±{o.margin:.4g}   error {o.error:.4g}   {o.bits:.1f} bits" for o in self.options]
        return "\n".join([head, *lines, f"error: {self.measure}"])
