"""Questionnaire: many questions, one epsilon; a person is asked some of them and sends one report.

    the report's id, which is public, decides which block of questions a person is asked; the answers to them are one
    category of one channel at the whole epsilon

Questions asked of different people add up their needs; questions asked together need the people of the most demanding
one, but more noise. `discreet.plans.questionnaire.designs` finds the blocks with the fewest people for the margins that
were asked for. Random sampling with fake data (RS+FD) is not offered: a record's epsilon is ln(k (e^epsilon - 1) + 1)
for k questions, not epsilon.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.plans.base import Channel, History, Plan, Round
from discreet.plans.mean.plan import RANDOM_SAMPLE
from discreet.plans.options import check_choice
from discreet.plans.questionnaire.answer import GivenNumber, QuestionnaireAnswer
from discreet.plans.questionnaire.answering import answer_question, asked_columns, make_table, read_block
from discreet.plans.questionnaire.designs import Block, Column, Part, alone, channel_of, columns_of, partition
from discreet.plans.questionnaire.estimates import Joint, Shares
from discreet.plans.questionnaire.form import Form
from discreet.plans.questionnaire.questions import Choice, Question, Ticks, listed
from discreet.plans.questionnaire.reading import read_rows

METHODS = ("blocks", "one-question")
"""How people are asked."""


class Questionnaire(Plan[QuestionnaireAnswer]):
    """Many questions, of which each person is asked a few, within one epsilon.

    Parameters
    ----------
    questions : sequence of Choice, Number and Ticks
        What is asked. Lists among them are taken apart, such as those of `Choice.matrix`.
    epsilon : float
        Privacy of each person: of their whole report.
    method : str
        "blocks" asks questions together where that needs fewer people, "one-question" never does, except for tables;
        "auto" is "blocks".
    tables : sequence of (str, str), optional
        Pairs of questions whose table is wanted; they are asked of the same people.
    refusal : bool
        Whether people may prefer not to say, where a question does not decide for itself.
    level : float
        Of the intervals, and of the margins that the questions want.

    Attributes
    ----------
    people : int
        How many people are needed for all margins.
    blocks : tuple of Block
        Which questions are asked together, of which share of the people.

    Examples
    --------
    >>> import discreet as dc
    >>> survey = dc.Questionnaire(
    ...     [dc.Choice("smokes"), dc.Choice("sleep", ["well", "so-so", "badly"]), dc.Number("age", 18, 98)], epsilon=2
    ... )
    >>> survey.people, [block.questions for block in survey.blocks]
    (11844, [('smokes', 'sleep'), ('age',)])
    >>> rows = [{"smokes": "no", "sleep": "well", "age": 40}, {"smokes": "yes", "sleep": "badly", "age": 60}] * 10_000
    >>> answer = dc.simulate(survey, rows, seed=1)
    >>> answer["age"]
    <mean: 49.96 ± 1.00 (95%); 4755 reports, epsilon 2, piecewise>
    >>> [row["label"] for row in answer["sleep"].rows()]
    ['well', 'so-so', 'badly']
    """

    question = "questionnaire"

    def __init__(
        self,
        questions: Sequence[Question | Sequence[Question]],
        epsilon: float,
        method: str = "auto",
        *,
        tables: Sequence[tuple[str, str]] = (),
        refusal: bool = False,
        level: float = 0.95,
    ) -> None:
        super().__init__(epsilon, level)
        check_choice("method", method, ("auto", *METHODS))
        self.method = METHODS[0] if method == "auto" else method
        if not isinstance(refusal, bool):
            raise DiscreetError(f"refusal must be True or False, not {refusal!r}")
        asked = listed(questions, refusal)
        self.refusal = refusal
        self.tables = tuple(_pair(pair) for pair in tables)
        self._check_conditions(asked)
        in_tables = {name for pair in self.tables for name in pair}
        decided, columns = [], []
        for one in asked:
            question, own = columns_of(one, self.epsilon, self.level, in_tables & set(one.parts))
            decided.append(question)
            columns += own
        self.questions: tuple[Question, ...] = tuple(decided)
        self.columns: tuple[Column, ...] = tuple(columns)
        for name in in_tables:
            self.place(name)

    @classmethod
    def from_survey(
        cls,
        survey: Any,
        epsilon: float,
        *,
        margin: float = 0.02,
        tables: Sequence[tuple[str, str]] = (),
        refusal: bool = True,
        level: float = 0.95,
    ) -> "Questionnaire":
        """Build a questionnaire from the document of a survey tool.

        Parameters
        ----------
        survey : dict, str or path
            A SurveyJS document, as text or parsed; or a file: SurveyJS in JSON, or a plain list of questions in CSV or
            YAML. See `discreet.plans.questionnaire.survey`.
        epsilon : float
            Privacy of each person.
        margin : float
            Wanted half width of every share; of numbers, as a part of their range. An element may have a ``margin`` of
            its own.
        tables, refusal, level
            See `Questionnaire`. Everything may be refused unless ``refusal`` is False.
        """
        from discreet.plans.questionnaire.survey import read_survey

        return cls(read_survey(survey, margin=margin), epsilon, tables=tables, refusal=refusal, level=level)

    def _check_conditions(self, asked: Sequence[Question]) -> None:
        names = [question.name for question in asked]
        for question in asked:
            for name in question.condition.names if question.condition else ():
                if name == question.name:
                    raise DiscreetError(f"when of {question.name!r} must be about other questions")
                if name not in names:
                    raise DiscreetError(
                        f"when of {question.name!r} must be about a question of this survey, not {name!r}"
                    )

    def place(self, name: str) -> tuple[int, str | None]:
        """Return the column of a question that can be in a table and, of ticks, the option."""
        for i, column in enumerate(self.columns):
            question = column.question
            if isinstance(question, Choice) and question.name == name:
                return i, None
            if isinstance(question, Ticks) and not column.is_set:
                for option in column.options:
                    if question.parts[option] == name:
                        return i, str(question.options[option])
        known = [q.name for q in self.questions if isinstance(q, Choice)]
        known += [part for q in self.questions if isinstance(q, Ticks) for part in q.parts]
        raise DiscreetError(f"a table needs two choices or options, such as {', '.join(known[:4])}, not {name!r}")

    # -- design ----------------------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> list[Part]:
        pairs = [(self.place(a)[0], self.place(b)[0]) for a, b in self.tables]
        return partition(self.columns, self.epsilon, pairs, together=self.method == METHODS[0])

    @cached_property
    def people(self) -> int:
        """How many people are needed for all margins together."""
        return math.ceil(sum(part.need for part in self._parts))

    @property
    def people_one_each(self) -> int:
        """How many people would be needed if each were asked one question."""
        return math.ceil(sum(self.people_alone.values()))

    @cached_property
    def people_alone(self) -> dict[str, float]:
        """How many people each question would need by itself."""
        needs: dict[str, float] = {question.name: 0.0 for question in self.questions}
        for column in self.columns:
            needs[column.question.name] += alone(column, self.epsilon)
        return needs

    @cached_property
    def _round(self) -> Round:
        channels = []
        for part in self._parts:
            mechanism, encoder = channel_of(self.columns, part, self.epsilon)
            channels.append(Channel(self._key(part.columns), mechanism, encoder, part.need))
        return Round(1, tuple(channels), form=Form.of(self.questions, self.columns))

    def _key(self, columns: Sequence[int]) -> str:
        return " + ".join(self.columns[i].name for i in columns)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Which questions are asked together, of which share of the people, and with what."""
        total = sum(part.need for part in self._parts)
        return tuple(
            Block(
                tuple(self.columns[i].name for i in part.columns),
                math.ceil(part.need),
                part.need / total,
                channel.mechanism.name,
                part.threshold,
            )
            for part, channel in zip(self._parts, self._round.channels, strict=True)
        )

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments, JSON-ready."""
        return {
            "questions": [question.to_dict() for question in self.questions],
            "epsilon": self.epsilon,
            "method": self.method,
            "tables": [list(pair) for pair in self.tables],
            "refusal": self.refusal,
            "level": self.level,
        }

    # -- asking ----------------------------------------------------------------------------------------------

    def read_rows(self, values: Any) -> Floats:
        """Return people's answers as rows of symbols and numbers: from dicts, a data frame, or columns by name."""
        return read_rows(self.columns, values)

    def row(self, answers: Mapping[str, Any]) -> list[float | int | None]:
        """Return one person's answers as the row that a device privatises, JSON-ready.

        Examples
        --------
        >>> import discreet as dc
        >>> survey = dc.Questionnaire([dc.Choice("smokes"), dc.Number("age", 18, 98)], epsilon=2, refusal=True)
        >>> survey.row({"smokes": "no", "age": 40}), survey.row({"smokes": None, "age": None})
        ([1, 40.0], [2, None])
        """
        cells = self.read_rows([answers])[0].tolist()
        return [
            (None if math.isnan(cell) else cell) if column.symbols == 0 else int(cell)
            for cell, column in zip(cells, self.columns, strict=True)
        ]

    def round(self, history: History) -> Round | None:
        """Return the only round: a channel for each block."""
        return None if history else self._round

    # -- answering -------------------------------------------------------------------------------------------

    def estimate(self, history: History) -> QuestionnaireAnswer:
        """Return the answers to all questions whose blocks have enough reports."""
        if len(history) != 1:
            raise DiscreetError("a questionnaire has one round")
        answered = history[0]
        found: dict[str, Shares | GivenNumber] = {}
        too_few: dict[str, str] = {}
        joints: list[Joint] = []
        methods: dict[str, list[str]] = {}
        fewest: dict[str, int] = {}
        for channel in answered.round.channels:
            own = [self.columns[i] for i in asked_columns(channel)]
            for column in own:
                name, n = column.question.name, answered.tally(channel.key).n
                methods.setdefault(name, []).append(channel.mechanism.name)
                fewest[name] = min(n, fewest.get(name, n))
            try:
                joints += read_block(self, answered, channel, own, found)
            except DiscreetError as error:
                too_few |= {column.question.name: str(error) for column in own}
        answers = {
            question.name: answer_question(self, question, found, ", ".join(dict.fromkeys(methods[question.name])))
            for question in self.questions
            if question.name not in too_few
        }
        if not answers:
            raise DiscreetError(f"no question has an answer: {next(iter(too_few.values()))}")
        return QuestionnaireAnswer(
            question=self.question,
            answers=answers,
            too_few=too_few,
            blocks=tuple(tuple(self.columns[i].name for i in joint.columns) for joint in joints),
            fewest=fewest,
            tabled=partial(make_table, self, tuple(joints)),
            level=self.level,
            n=answered.n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=(RANDOM_SAMPLE, "each interval holds for itself, not for all questions together"),
            details={"n": {channel.key: answered.tally(channel.key).n for channel in answered.round.channels}},
        )


def _pair(pair: Any) -> tuple[str, str]:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or pair[0] == pair[1]:
        raise DiscreetError(f"tables must be pairs of different questions, not {pair!r}")
    return str(pair[0]), str(pair[1])
