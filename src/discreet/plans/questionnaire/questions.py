"""Questions of a questionnaire: one choice, a number, ticks; each may be refused, and may not apply to everyone.

A question has *symbols*: its options and, where they are wanted, "prefer not to say" and "does not apply". They are
answers like any other: a refusal is randomised too, so that nobody can see who refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.shapes.padded import MOST_ITEMS, MOST_OPTIONS
from discreet.plans.questionnaire.conditions import Condition, read_condition

REFUSED = "prefer not to say"
ABSENT = "does not apply"
YES_NO = ("yes", "no")
MARGIN = 0.02
"""The wanted half width of an interval unless given: 2 points of a share, 2 % of a number's range."""
MOST_LABELS = 1024
"""The most options of a choice."""


@dataclass(frozen=True)
class Question:
    """What all questions have in common.

    Attributes
    ----------
    name : str
        A name of its own.
    margin : float
        The wanted half width of the interval: of each share, or of the mean in its own unit. A question that matters
        more has a smaller margin.
    when : str, optional
        A condition on other answers, such as ``"drinks = 'yes'"``; to people who do not fulfil it the question does
        not apply.
    refusal : bool, optional
        Whether people may prefer not to say; as the questionnaire says unless given.
    text : str, optional
        The question as people read it; its name unless given.
    """

    name: str
    margin: float = field(default=MARGIN, kw_only=True)
    when: str | None = field(default=None, kw_only=True)
    refusal: bool | None = field(default=None, kw_only=True)
    text: str = field(default="", kw_only=True)

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise DiscreetError(f"name of a question must be a text, not {self.name!r}")
        if isinstance(self.margin, bool) or not isinstance(self.margin, (int, float)) or not self.margin > 0:
            raise DiscreetError(f"margin of {self.name!r} must be a number above 0, not {self.margin!r}")
        if self.refusal is not None and not isinstance(self.refusal, bool):
            raise DiscreetError(f"refusal of {self.name!r} must be True or False, not {self.refusal!r}")
        if self.when is not None:
            read_condition(self.when)

    @property
    def condition(self) -> Condition | None:
        """The condition, read."""
        return None if self.when is None else read_condition(self.when)

    @property
    def extras(self) -> tuple[str, ...]:
        """The symbols besides the options."""
        return (REFUSED,) * bool(self.refusal) + (ABSENT,) * (self.when is not None)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names under which parts of the answer are found, besides the question's own."""
        return ()

    def own(self) -> dict[str, Any]:
        """Return what only this kind of question has, JSON-ready."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; `read_question` reads them."""
        shared = {"margin": self.margin, "when": self.when, "refusal": self.refusal, "text": self.text}
        return (
            {"kind": self.kind, "name": self.name} | self.own() | {k: v for k, v in shared.items() if v or v is False}
        )


@dataclass(frozen=True)
class Choice(Question):
    """One of some options: yes or no, a list, a rating.

    Parameters
    ----------
    name : str
        A name of its own.
    options : sequence
        The options, "yes" and "no" unless given. If all are numbers, the answer has their mean too.
    margin, when, refusal, text
        See `Question`.

    Examples
    --------
    >>> Choice("smokes")
    Choice(name='smokes', margin=0.02, when=None, refusal=None, text='', options=('yes', 'no'))
    >>> [question.name for question in Choice.matrix("service", ["speed", "price"], [1, 2, 3, 4, 5])]
    ['service/speed', 'service/price']
    """

    options: Sequence[Any] = YES_NO
    kind = "choice"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "options", Categories(self.options).labels)
        _check_labels(self.name, self.options, MOST_LABELS)

    @classmethod
    def matrix(
        cls,
        name: str,
        rows: Iterable[str],
        options: Sequence[Any],
        *,
        margin: float = MARGIN,
        when: str | None = None,
        refusal: bool | None = None,
        text: str = "",
    ) -> "list[Choice]":
        """Return a question for each row of a matrix, named "name/row", all with the same options."""
        return [
            cls(f"{name}/{row}", options, margin=margin, when=when, refusal=refusal, text=f"{text or name}: {row}")
            for row in rows
        ]

    @property
    def scale(self) -> tuple[float, ...] | None:
        """The options as numbers, if they are."""
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in self.options)
        return tuple(float(one) for one in self.options) if numbers else None

    def own(self) -> dict[str, Any]:
        """Return the options."""
        return {"options": list(self.options)}


@dataclass(frozen=True)
class Number(Question):
    """A number between two ends; the answer is the mean of those who give one.

    Parameters
    ----------
    name : str
        A name of its own.
    low, high : float
        What is counted; numbers beyond are clipped.
    margin : float, optional
        Wanted half width of the mean's interval, in the number's own unit; 2 % of the range unless given.
    when, refusal, text
        See `Question`.

    Examples
    --------
    >>> Number("age", 18, 98).margin
    1.6
    """

    low: float = 0.0
    high: float = 1.0
    margin: float = field(default=0.0, kw_only=True)
    kind = "number"

    def __post_init__(self) -> None:
        domain = Interval(self.low, self.high)
        if self.margin == 0.0 and not isinstance(self.margin, bool):
            object.__setattr__(self, "margin", MARGIN * domain.width)
        super().__post_init__()

    @property
    def domain(self) -> Interval:
        """From low to high."""
        return Interval(self.low, self.high)

    def own(self) -> dict[str, Any]:
        """Return the ends."""
        return {"low": self.low, "high": self.high}


@dataclass(frozen=True)
class Ticks(Question):
    """Any of some options: tick all that apply.

    Parameters
    ----------
    name : str
        A name of its own; the option "cough" of "symptoms" is found as "symptoms/cough".
    options : sequence of str
        What can be ticked.
    most : int, optional
        How many ticks count at most. Whoever ticks more keeps that many of them, drawn on the device, so that shares
        come out too small: say it on the page. Few ticks need fewer people.
    together : int or "set", optional
        How many options are asked of one person together, or "set" for all of them with ``most``; chosen by exact
        variance unless given.
    margin, when, refusal, text
        See `Question`. A refusal is one for all options.

    Examples
    --------
    >>> Ticks("symptoms", ["cough", "fever"]).parts
    ('symptoms/cough', 'symptoms/fever')
    """

    options: Sequence[str] = ()
    most: int | None = None
    together: int | str | None = field(default=None, kw_only=True)
    kind = "ticks"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "options", Categories(self.options).labels)
        _check_labels(self.name, self.options, MOST_OPTIONS - 2)
        for name, value in (("most", self.most), ("together", self.together)):
            if value is None or (name == "together" and value == "set"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= len(self.options):
                raise DiscreetError(
                    f"{name} of {self.name!r} must be a whole number from 1 to {len(self.options)}, not {value!r}"
                )
        if self.together == "set" and (self.most is None or len(self.options) + 2 + self.most > MOST_ITEMS):
            raise DiscreetError(
                f"together='set' of {self.name!r} needs most, at most {MOST_ITEMS - 2} with the options"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """The name of each option's share."""
        return tuple(f"{self.name}/{option}" for option in self.options)

    def own(self) -> dict[str, Any]:
        """Return the options and how they are asked."""
        asked = {"most": self.most, "together": self.together}
        return {"options": list(self.options)} | {key: value for key, value in asked.items() if value is not None}


KINDS: dict[str, type[Question]] = {"choice": Choice, "number": Number, "ticks": Ticks}


def read_question(values: Any) -> Question:
    """Build the question that `Question.to_dict` wrote."""
    if isinstance(values, Question):
        return values
    if not isinstance(values, Mapping) or values.get("kind") not in KINDS:
        raise DiscreetError(f"kind of a question must be one of {', '.join(KINDS)}, not {values!r}"[:200])
    fields = {str(key): value for key, value in values.items() if key != "kind"}
    try:
        return KINDS[str(values["kind"])](**fields)
    except TypeError as error:
        raise DiscreetError(f"question {fields.get('name')!r} cannot be made of these fields: {error}") from None


def listed(questions: Any, refusal: bool) -> tuple[Question, ...]:
    """Return the questions in one list, each with its own say about refusals, or say what is wrong with them."""
    found: list[Question] = []
    for one in questions if isinstance(questions, (list, tuple)) else [questions]:
        found += one if isinstance(one, list) else [one]
    if not found or not all(isinstance(one, Question) for one in found):
        raise DiscreetError("questions must be a list of Choice, Number and Ticks, at least one")
    asked = tuple(one if one.refusal is not None else _allowing(one, refusal) for one in found)
    names = [name for one in asked for name in (one.name, *one.parts)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DiscreetError(f"questions must have different names; {twice!r} is there twice")
    return asked


def _allowing(question: Question, refusal: bool) -> Question:
    return replace(question, refusal=refusal)


def _check_labels(name: str, labels: Sequence[Any], most: int) -> None:
    if len(labels) > most:
        raise DiscreetError(f"options of {name!r} must be at most {most}, not {len(labels)}")
    for label in labels:
        if label in (REFUSED, ABSENT):
            raise DiscreetError(f"options of {name!r} must not contain {label!r}; use refusal=True, or when")


__all__ = ["ABSENT", "REFUSED", "Choice", "Number", "Question", "Ticks", "listed", "read_question"]
