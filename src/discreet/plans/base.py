"""Plan, Round, Channel, Answered: the pure state machine that every driver (simulation, files, service, Spark) runs.

`plan.round(history)` gives the next round, or None when the question can be answered; `plan.estimate(history)` answers
it. The history holds the rounds that were really asked, with their tallies: an estimate reads mechanisms and encoders
from there, so a campaign that was started with an older version is answered from its own documents. A plan holds no
data and does no input or output.

A round may have several channels: groups of people, drawn at random, who are asked differently (an attribute, a layer
of a hierarchy). Each person answers in exactly one channel of one round, once, with the whole epsilon (or in several
that divide it: `Round.answers`).
"""

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Generic, Self

import numpy as np

from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric, Oracle, require_numeric, require_oracle
from discreet.plans.answers import Answer
from discreet.plans.encoders import Encoder, accepted
from discreet.plans.rows import Rows
from discreet.privacy.exact import check_epsilon
from discreet.tallies import Tally

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from discreet.plans.questionnaire.form import Form

    A = TypeVar("A", bound=Answer, covariant=True, default=Answer)
else:
    from typing import TypeVar

    A = TypeVar("A", bound=Answer, covariant=True)


@dataclass(frozen=True)
class Channel:
    """How one group of people answers: encoder, then mechanism, and together total (`discreet.plans.encoders`).

    A channel whose encoder does not fit its mechanism exactly is refused: it would fail for some values only.

    Attributes
    ----------
    key : str
        Name of the group within its round.
    mechanism : Mechanism
        What randomises the answer.
    encoder : Encoder
        What turns the raw value into the mechanism's input.
    share : float
        The group's part of the round, relative to the other groups.
    """

    key: str
    mechanism: Mechanism
    encoder: Encoder
    share: float = 1.0

    def __post_init__(self) -> None:
        image, needed = self.encoder.image, accepted(self.mechanism)
        if image != needed:
            raise DiscreetError(
                f"the encoder of channel {self.key!r} gives {image}; its mechanism {self.mechanism.name} takes {needed}"
            )


MOST_GROUPS = 1 << 12
"""The most groups of one round."""


def group_key(label: Any, key: str) -> str:
    """Return the key of a public group's channel."""
    return f"{label}/{key}"


def group_place(label: Any, by: Categories) -> int:
    """Return the number of a public group; labels differ as texts, so a text says which one is meant."""
    names = [str(known) for known in by.labels]
    if str(label) not in names:
        raise DiscreetError(f"group must be one of the {by.size} groups, not {label!r}")
    return names.index(str(label))


@dataclass(frozen=True)
class Round:
    """One round of questions.

    Attributes
    ----------
    number : int
        From 1.
    share : float
        The part of all people that this round asks; they are drawn at random among those not yet asked.
    answers : int
        How many channels each person answers: the one drawn and those after it, around the end. The plan divides
        epsilon between them, so that all answers of a person together cost epsilon.
    by : Categories, optional
        Public groups: what a person's group is decides which channels they may answer. Channels are listed group by
        group, as many for each and asked alike (`by_group`); within a group they are drawn as usual.
    form : Form, optional
        What a questionnaire asks, in words: a device shows the questions of the channel that its id draws.
    """

    number: int
    channels: tuple[Channel, ...]
    share: float = 1.0
    answers: int = 1
    by: Categories | None = None
    form: "Form | None" = None

    def __post_init__(self) -> None:
        if self.by is not None and len(self.channels) % self.by.size:
            raise DiscreetError(f"a round by {self.by.size} groups must have as many channels for each of them")

    def by_group(self, by: Categories) -> "Round":
        """Return the round as public groups are asked it: all of them alike, in channels of their own."""
        channels = tuple(
            replace(channel, key=group_key(label, channel.key)) for label in by.labels for channel in self.channels
        )
        return replace(self, channels=channels, by=by)

    def of_group(self, label: Any) -> "Round":
        """Return the round as the people of one public group are asked it."""
        if self.by is None:
            raise DiscreetError("a question by group needs rounds that were asked by group")
        first = self.by.labels.index(label) * self.block
        lead = len(group_key(label, ""))
        channels = tuple(replace(one, key=one.key[lead:]) for one in self.channels[first : first + self.block])
        return replace(self, channels=channels, by=None)

    @property
    def block(self) -> int:
        """Number of channels among which a person's is drawn: all of them, or those of the person's public group."""
        return len(self.channels) // (1 if self.by is None else self.by.size)

    @property
    def shares(self) -> list[float]:
        """The channels' parts of the round, relative to each other."""
        return [channel.share for channel in self.channels]

    def answered(self, drawn: int) -> list[Channel]:
        """Return the channels that a person answers for whom channel number ``drawn`` was drawn."""
        first = drawn - drawn % self.block
        return [self.channels[first + (drawn - first + i) % self.block] for i in range(self.answers)]

    def channel(self, key: str) -> Channel:
        """Return the channel of that key."""
        for channel in self.channels:
            if channel.key == key:
                return channel
        raise DiscreetError(f"round {self.number} has no channel {key!r}")


@dataclass(frozen=True)
class Answered:
    """A round as it was asked, with the tallies of its answers.

    Attributes
    ----------
    round : Round
        The channels that were really sent, not those that today's version would make.
    tallies : mapping
        The tally of each channel, by the channel's key.
    """

    round: Round
    tallies: Mapping[str, Tally]

    @property
    def n(self) -> int:
        """Number of answers in all channels."""
        return sum(tally.n for tally in self.tallies.values())

    def tally(self, key: str, least: int = 0) -> Tally:
        """Return the tally of a channel, after checking that it belongs to the channel's mechanism."""
        if key not in self.tallies:
            raise DiscreetError(f"round {self.round.number} needs a tally of channel {key!r}")
        tally = self.round.channel(key).mechanism.check_tally(self.tallies[key])
        if tally.n < least:
            raise DiscreetError(f"channel {key!r} needs at least {least} reports, not {tally.n}")
        return tally

    def numeric(self, key: str) -> Numeric:
        """Return the mechanism of a channel for numbers."""
        return require_numeric(self.round.channel(key).mechanism, f"Channel {key!r}")

    def oracle(self, key: str) -> Oracle:
        """Return the frequency oracle of a channel for categories."""
        return require_oracle(self.round.channel(key).mechanism, f"Channel {key!r}")


History = Sequence[Answered]
"""The rounds so far, in the order in which they were asked."""


class Plan(ABC, Generic[A]):
    """A question and how it is answered; ``Plan[NumberAnswer]`` is one that returns a number."""

    question: str
    epsilon: float
    level: float
    method: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in cls.__dict__:
            cls.__init__ = _told_typos(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, epsilon: float, level: float) -> None:
        self.epsilon = check_epsilon(epsilon)
        if not isinstance(level, (int, float)) or not 0 < level < 1:
            raise DiscreetError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
        self.level = float(level)

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments, JSON-ready: `discreet.plans.registry.read_plan` builds the plan again."""

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        return {"question": self.question} | self.arguments()

    def expecting(self, people: int) -> Self:
        """Return the plan for this many people: itself, unless their number decides how they are divided into rounds.

        Drivers that know the number beforehand (a simulation, a campaign) call it first.
        """
        return self

    def read_rows(self, values: Any) -> Rows:
        """Return what people hold as an array with one entry per person, for those who hold the data themselves."""
        if isinstance(values, np.ndarray):
            return values
        rows = np.asarray(values)
        if rows.ndim == 1 and rows.dtype.kind == "U" and not all(isinstance(value, str) for value in values):
            rows = np.empty(len(rows), dtype=object)  # numpy would write a missing label as the text "nan"
            rows[:] = list(values)
        return rows

    @abstractmethod
    def round(self, history: History) -> Round | None:
        """Return the round that follows the rounds so far, or None when there is none."""

    @abstractmethod
    def estimate(self, history: History) -> A:
        """Answer the question from the rounds that were asked; nothing is solved or drawn again."""

    def watch(self, history: History, people: int) -> A:
        """Answer the question for somebody who looks more than once while reports come in.

        The answer is that of `estimate`; its intervals hold at all numbers of reports together, and ``assumed`` says
        so. Where reports are decoded one by one (means, frequencies, means within a range) they are exact, from
        `discreet.estimation.watched`; elsewhere they are widened for large samples, or, where even that is not known
        to be right, hold for one look only.

        Parameters
        ----------
        history : sequence of Answered
            The rounds so far.
        people : int
            How many people are expected in all: said before the first look, and the same at every look. There the
            intervals are narrowest, about 1.5 times as wide as those of `estimate`.

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Mean(dc.Interval(0, 10), epsilon=1, method="duchi")
        >>> asked = plan.round([])
        >>> source = asked.channels[0].mechanism
        >>> reports = source.privatize([0.0] * 5000, entropy=dc.Entropy.seeded(1))
        >>> history = [Answered(asked, {"all": source.tally(reports)})]
        >>> plan.estimate(history), plan.watch(history, people=10_000)
        (<mean: 5.20 ± 0.30 (95%); ...>, <mean: 5.20 ± 0.45 (95%); ...>)
        """
        return self.estimate(history).widened(checked_people(people))

    def __repr__(self) -> str:
        return f"<plan: {self.question} by {self.method}, epsilon {self.epsilon:g}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(str(k))}</th><td>{html.escape(str(v))}</td></tr>"
            for k, v in self.to_dict().items()
        )
        return f"<table>{rows}</table>"

    def only(self, history: History) -> tuple[Channel, Tally]:
        """Return the channel and the tally of a plan with one round and one channel."""
        if len(history) != 1 or len(history[0].round.channels) != 1:
            raise DiscreetError(f"{self.question} by {self.method} has one round with one channel")
        channel = history[0].round.channels[0]
        return channel, history[0].tally(channel.key)


def _told_typos(init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor name the option that was probably meant; its signature stays as it is."""
    parameters = list(signature(init).parameters.values())[1:]
    known = [parameter.name for parameter in parameters]
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)

    @wraps(init)
    def checked(self: Any, *arguments: Any, **options: Any) -> None:
        for name in options:
            if name not in known and not takes_any:
                near = get_close_matches(name, known, 1)
                meant = f"did you mean {near[0]!r}?" if near else f"its options are {', '.join(known)}"
                raise DiscreetError(f"{type(self).__name__} has no option {name!r}; {meant}")
        init(self, *arguments, **options)

    return checked


def checked_people(people: object) -> int:
    """Return a planned number of people, or say what is wrong with it."""
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise DiscreetError(f"people must be a whole number from 1 on, the people expected in all, not {people!r}")
    return people
