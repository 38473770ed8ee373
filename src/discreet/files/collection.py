"""A collection: questions to the columns of a table, and how one budget covers them.

Two pure functions do everything, on any engine that moves Arrow record batches (files, data frames, Spark):
`Stage.map_batch` turns a batch of values into a batch of reports, `Reports.tally_batch` counts a batch of reports, and
`merge` adds the counts. A stage is one round of every question that still has one; most plans have a single round.

With several questions the budget is *split* (everybody answers every question; their epsilons add up) or *sampled*
(everybody answers one question, drawn at random, with the whole epsilon: usually better from three questions on).

Columns of reports are unsigned integers, or packed bytes where a report is a bit vector. A null means: not asked.
Whether somebody has a value at all is not hidden; give missing values a category of their own if it should be.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.files.cells import Cell, Tallies
from discreet.files.values import Mask, Values, read_values
from discreet.mechanisms.base import Mechanism
from discreet.plans.base import Channel, Plan, Round
from discreet.plans.registry import QUESTIONS, read_plan
from discreet.privacy.entropy import Entropy, system_entropy
from discreet.privacy.ledger import rational, shown, total
from discreet.tallies import Tally

KEY = b"discreet"
VERSION = 1
BUDGETS = ("split", "sample")
MISSING = ("drop", "error")


@dataclass(frozen=True)
class Counted:
    """What was seen while privatising. It is exact, hence private: for the owner of the data, never in the reports."""

    rows: int = 0
    written: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    clipped_low: dict[str, int] = field(default_factory=dict)
    clipped_high: dict[str, int] = field(default_factory=dict)
    reports: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counted") -> "Counted":
        def add(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
            return a | {key: a.get(key, 0) + value for key, value in b.items()}

        return Counted(
            self.rows + other.rows,
            self.written + other.written,
            add(self.missing, other.missing),
            add(self.clipped_low, other.clipped_low),
            add(self.clipped_high, other.clipped_high),
            add(self.reports, other.reports),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "rows": self.rows,
            "written": self.written,
            "columns": {
                column: {
                    "reports": count,
                    "missing": self.missing.get(column, 0),
                    "clipped_low": self.clipped_low.get(column, 0),
                    "clipped_high": self.clipped_high.get(column, 0),
                }
                for column, count in self.reports.items()
            },
        }


class Collection:
    """Questions to columns, within one budget.

    Parameters
    ----------
    questions : mapping
        A plan for each column that is asked.
    budget : str
        "split" (everybody answers everything, the plans' epsilons add up) or "sample" (everybody answers one
        question at random, and spends its epsilon).
    epsilon : number or fraction, optional
        The most that a person may spend in all; needed to ask several questions, so that nobody adds up by accident.

    Examples
    --------
    >>> import discreet as dc
    >>> wage, age = dc.Interval(0, 500_000), dc.Interval(0, 120)
    >>> questions = {"wage": dc.Mean(wage, epsilon=1, method="duchi"), "age": dc.Mean(age, epsilon=1, method="duchi")}
    >>> Collection(questions, budget="sample", epsilon=1)
    <collection: mean of wage, mean of age; each person answers 1 of 2, epsilon 1 in all>
    >>> Collection(questions, budget="split", epsilon=1)
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: questions cost epsilon 2 together; the budget is 1 (split it, or use budget='sample')
    """

    def __init__(
        self, questions: Mapping[str, Plan], budget: str = "split", epsilon: Fraction | float | str | None = None
    ) -> None:
        if not isinstance(questions, Mapping) or not questions:
            raise DiscreetError("questions is empty or no mapping; allowed is a plan for each column, by its name")
        if budget not in BUDGETS:
            raise DiscreetError(f"budget is {budget!r}; allowed are {', '.join(BUDGETS)}")
        for column, plan in questions.items():
            if not isinstance(column, str) or not column:
                raise DiscreetError(f"column is {column!r}; allowed is the name of a column")
            if not isinstance(plan, Plan):
                raise DiscreetError(f"the question to {column!r} is {plan!r}; allowed is a plan such as Mean(…)")
            if plan.question not in QUESTIONS:
                raise DiscreetError(
                    f"the question to {column!r} is {plan.question}, which cannot be read back from a file; "
                    f"allowed are {', '.join(sorted(QUESTIONS))}"
                )
            if not isinstance(getattr(plan, "domain", None), (Interval, Categories)):
                raise DiscreetError(
                    f"the question to {column!r} is {plan.question}, which asks several columns at once; "
                    "give each column a plan of its own and budget='sample'"
                )
        self.questions = dict(questions)
        self.budget = budget
        costs = [rational(plan.epsilon) for plan in self.questions.values()]
        self.epsilon = max(costs) if budget == "sample" else total(*costs)
        if epsilon is None and len(self.questions) > 1:
            raise DiscreetError(
                f"{len(self.questions)} questions need a budget: give epsilon={shown(self.epsilon)}, "
                "what one person spends in all"
            )
        if epsilon is not None and self.epsilon > rational(epsilon):
            raise DiscreetError(
                f"questions cost epsilon {shown(self.epsilon)} together; the budget is {shown(rational(epsilon))} "
                "(split it, or use budget='sample')"
            )

    def __repr__(self) -> str:
        asked = ", ".join(f"{plan.question} of {column}" for column, plan in self.questions.items())
        several = len(self.questions) > 1 and self.budget == "sample"
        how = f"; each person answers 1 of {len(self.questions)}" if several else ""
        return f"<collection: {asked}{how}, epsilon {shown(self.epsilon)} in all>"

    def stage(self, previous: "Reports | None" = None, tallies: Mapping[str, Tally] | None = None) -> "Stage | None":
        """Return the next stage, or None when every question has had its rounds."""
        past = previous or Reports(self, ())
        grouped = past.rounds(tallies or {})
        rounds = {column: plan.round(grouped[column]) for column, plan in self.questions.items()}
        alive = {column: asked for column, asked in rounds.items() if asked is not None}
        return Stage(self, alive, past) if alive else None


class Stage:
    """One pass over the data: the next round of each question that has one."""

    def __init__(self, collection: Collection, rounds: Mapping[str, Round], past: "Reports") -> None:
        self.collection, self.past = collection, past
        self.rounds = dict(rounds)
        self._spans = {column: self._span(column, asked) for column, asked in rounds.items()}
        self.cells: dict[tuple[str, str], Cell] = {}
        for column, asked in self.rounds.items():
            alone = len(asked.channels) == 1 and asked.number == 1 and self._spans[column] == (0, 1 << 64)
            for channel in asked.channels:
                name = column if alone else f"{column}/{asked.number}/{channel.key}"
                self.cells[column, channel.key] = Cell(name, column, asked.number, channel.key, channel.mechanism)
        self.reports = Reports(collection, (*past.cells, *self.cells.values()), past.shares | self._shares())

    def _shares(self) -> dict[tuple[str, int], float]:
        return {(column, asked.number): asked.share for column, asked in self.rounds.items()}

    def _span(self, column: str, asked: Round) -> tuple[int, int]:
        """Return the part of the 64-bit words whose people this round asks."""
        before = sum(self.past.shares.get((column, number), 0.0) for number in range(1, asked.number))
        start = round(min(before, 1.0) * (1 << 64))
        return start, (1 << 64) if asked.share >= 1 else min(1 << 64, round((before + asked.share) * (1 << 64)))

    @property
    def is_last(self) -> bool:
        """Whether this stage asks everybody who is left, so that none can follow."""
        return all(span[1] == 1 << 64 for span in self._spans.values())

    @property
    def schema(self) -> Any:
        """The Arrow schema of the batches of this stage, without the document."""
        return pa.schema([pa.field(cell.name, cell.type) for cell in self.cells.values()])

    def map_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Privatise record batches; the shape that Spark's `mapInArrow` wants."""
        for batch in batches:
            yield self.map_batch(batch)[0]

    def map_batch(
        self,
        batch: Any,
        *,
        missing: str = "drop",
        entropy: Entropy | None = None,
        assignment: Entropy | None = None,
        first_row: int = 0,
    ) -> tuple[Any, Counted]:
        """Turn a batch of values into a batch of reports.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            Holds at least the columns that are asked.
        missing : str
            "drop" (count and leave out) or "error".
        entropy : Entropy, optional
            Of the reports; the operating system's unless given.
        assignment : Entropy, optional
            Draws who is asked what, independently of all values. Stages after the first need the same stream again.
        first_row : int
            Number of the batch's first row, for messages.

        Returns
        -------
        (pyarrow.RecordBatch, Counted)
        """
        if missing not in MISSING:
            raise DiscreetError(f"missing is {missing!r}; allowed are {', '.join(MISSING)}")
        source = system_entropy() if entropy is None else entropy
        draw = source if assignment is None else assignment
        rows = batch.num_rows
        columns: list[Any] = []
        counted = Counted(rows=rows)
        answered = np.zeros(rows, dtype=bool)
        everybody = False
        asked_column = self._drawn_column(rows, draw)
        for place, (column, plan) in enumerate(self.collection.questions.items()):
            # The words are drawn whether or not the question is in this stage: the next stage draws the same.
            chosen = None if asked_column is None else asked_column == place
            timing = draw.words(rows) if self._is_timed(column) else None
            if column not in self.rounds:
                continue
            if timing is not None:
                start, stop = self._spans[column]
                inside = (timing >= np.uint64(start)) & (timing <= np.uint64(stop - 1))
                chosen = inside if chosen is None else chosen & inside
            values = read_values(batch, column, plan, first_row)
            absent = values.missing if chosen is None else values.missing & chosen
            lost = int(absent.sum())
            if lost:
                if missing == "error":
                    raise DomainError(
                        f"column {column!r}, row {first_row + int(np.flatnonzero(absent)[0])}: the value is missing; "
                        "missing='drop' counts such rows and leaves them out"
                    )
                chosen = ~absent if chosen is None else chosen & ~absent
            everybody |= chosen is None
            if chosen is not None:
                answered |= chosen
            made, low, high = self._ask(column, values, chosen, rows, source, first_row)
            columns += made
            counted += Counted(
                missing={column: lost},
                clipped_low={column: low},
                clipped_high={column: high},
                reports={column: rows if chosen is None else int(chosen.sum())},
            )
        result = pa.record_batch(columns, schema=self.schema)
        if not everybody and not answered.all():
            result = result.filter(pa.array(answered))
        return result, counted + Counted(written=result.num_rows)

    def _is_timed(self, column: str) -> bool:
        """Whether the column's plan asks different people in different rounds."""
        return self.reports.shares.get((column, 1), 1.0) < 1

    def _drawn_column(self, rows: int, draw: Entropy) -> npt.NDArray[np.uint64] | None:
        count = len(self.collection.questions)
        if self.collection.budget != "sample" or count == 1:
            return None
        return _uniform(draw.words(rows), count)

    def _ask(
        self,
        column: str,
        values: Values,
        chosen: Mask | None,
        rows: int,
        source: Entropy,
        first_row: int,
    ) -> tuple[list[Any], int, int]:
        channels = self.rounds[column].channels
        groups = _channel_groups(channels, rows, source)
        made, low, high = [], 0, 0
        for place, channel in enumerate(channels):
            group = chosen
            if groups is not None:
                group = (groups == place) if chosen is None else (groups == place) & chosen
            raw = values.of(group)
            if len(raw):
                try:
                    encoded = channel.encoder.encode(raw)
                except DomainError as error:
                    raise DomainError(values.explain(group, first_row, str(error))) from None
                inputs, low, high = encoded.inputs, low + encoded.clipped_low, high + encoded.clipped_high
                inputs = (
                    inputs if values.codes is None else inputs[values.codes[slice(None) if group is None else group]]
                )
            else:
                inputs = np.empty(0, dtype=np.float64 if channel.mechanism.numeric else np.int64)
            reports = channel.mechanism.privatize(inputs, source)
            made.append(self.cells[column, channel.key].to_arrow(reports, group, rows))
        return made, low, high


def _uniform(words: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.uint64]:
    """Return numbers 0..count-1 from the upper halves of words."""
    return np.asarray(((words >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


def _channel_groups(channels: tuple[Channel, ...], rows: int, draw: Entropy) -> npt.NDArray[np.int64] | None:
    """Draw the channel of each row by the channels' shares."""
    if len(channels) == 1:
        return None
    shares = np.array([channel.share for channel in channels], dtype=np.float64)
    cuts = (np.cumsum(shares / shares.sum())[:-1] * 2.0**64).astype(np.uint64)
    return np.searchsorted(cuts, draw.words(rows), side="right")


class Reports:
    """What a table of reports holds: the questions and, for each column, its mechanism.

    Written into the table's metadata as a JSON document, so that the table can be read without anything else.
    """

    def __init__(
        self, collection: Collection, cells: Iterable[Cell], shares: Mapping[tuple[str, int], float] | None = None
    ) -> None:
        self.collection = collection
        self.cells = tuple(cells)
        self.shares = dict(shares or {})

    @property
    def schema(self) -> Any:
        """The Arrow schema, the document in its metadata."""
        fields = [pa.field(cell.name, cell.type) for cell in self.cells]
        return pa.schema(fields, metadata={KEY: self.to_json().encode()})

    def tally_batch(self, batch: Any) -> Tallies:
        """Count a batch of reports."""
        tallies = {}
        for cell in self.cells:
            try:
                column = batch.column(cell.name)
            except KeyError:
                raise WireError(f"the reports lack the column {cell.name!r}") from None
            try:
                tallies[cell.name] = cell.mechanism.tally(cell.from_arrow(column))
            except DiscreetError as error:
                raise WireError(f"column {cell.name!r}: {error}") from None
        return tallies

    def rounds(self, tallies: Mapping[str, Tally]) -> dict[str, list[dict[str, Tally]]]:
        """Return the tallies as plans want them: for each question a list of rounds."""
        grouped: dict[str, list[dict[str, Tally]]] = {column: [] for column in self.collection.questions}
        for cell in sorted(self.cells, key=lambda cell: cell.round):
            rounds = grouped[cell.question]
            while len(rounds) < cell.round:
                rounds.append({})
            empty = Tally(cell.mechanism.id, 0, cell.mechanism.tally([]).counts)
            rounds[cell.round - 1][cell.key] = tallies.get(cell.name, empty)
        return grouped

    def estimate(self, tallies: Mapping[str, Tally]) -> dict[str, Any]:
        """Answer every question."""
        grouped = self.rounds(tallies)
        answers = {}
        for column, plan in self.collection.questions.items():
            try:
                answers[column] = plan.estimate(grouped[column])
            except DiscreetError as error:
                raise DiscreetError(f"column {column!r}: {error}") from None
        return answers

    # -- the document -------------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """Return the questions and the mechanisms, JSON-ready. It holds nothing that depends on the values."""
        return {
            "discreet-reports": VERSION,
            "budget": self.collection.budget,
            "epsilon": str(self.collection.epsilon),
            "questions": [
                {"column": column, "plan": plan.to_dict()} for column, plan in self.collection.questions.items()
            ],
            "reports": [
                {
                    "name": cell.name,
                    "question": cell.question,
                    "round": cell.round,
                    "channel": cell.key,
                    "share": self.shares.get((cell.question, cell.round), 1.0),
                    "mechanism": cell.mechanism.to_document(),
                }
                for cell in self.cells
            ],
        }

    def to_json(self) -> str:
        """Return the document as text."""
        try:
            return json.dumps(self.to_document(), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise DiscreetError(f"the questions cannot be written as JSON: {error}") from None

    @staticmethod
    def from_json(text: str | bytes) -> "Reports":
        """Read a document; every mechanism's certificate is computed again."""
        try:
            document = json.loads(text)
            if document["discreet-reports"] != VERSION:
                raise WireError(f"the reports are of version {document['discreet-reports']}; this one reads {VERSION}")
            plans = {item["column"]: read_plan(item["plan"]) for item in document["questions"]}
            collection = Collection(plans, document["budget"], document["epsilon"])
            cells = [
                Cell(
                    str(item["name"]),
                    str(item["question"]),
                    int(item["round"]),
                    str(item["channel"]),
                    Mechanism.from_document(item["mechanism"]),
                )
                for item in document["reports"]
            ]
            shares = {(item["question"], item["round"]): float(item["share"]) for item in document["reports"]}
        except DiscreetError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WireError(f"the reports' document cannot be read: {type(error).__name__} {error}") from None
        for cell in cells:
            if cell.question not in plans:
                raise WireError(f"column {cell.name!r} answers {cell.question!r}, which is not asked")
            _adopt(plans[cell.question], cell)
        return Reports(collection, cells, shares)

    @staticmethod
    def of_schema(schema: Any, where: str = "the table") -> "Reports":
        """Read the document from a schema's metadata."""
        text = (schema.metadata or {}).get(KEY)
        if text is None:
            raise WireError(f"{where} holds no reports of discreet: its metadata have no document")
        return Reports.from_json(text)


def _adopt(plan: Plan, cell: Cell) -> None:
    """Let the plan decode with the very mechanism that made the reports.

    A solver of another version may choose slightly other weights for the same plan; those of the document are right.
    """
    if cell.mechanism.epsilon > plan.epsilon:
        raise WireError(
            f"column {cell.name!r} has epsilon {cell.mechanism.epsilon:g}; its plan allows {plan.epsilon:g}"
        )
    if cell.round > 1:
        return  # follows from the tallies of the rounds before
    asked = plan.round([])
    if asked is not None and asked.channel(cell.key).mechanism.id == cell.mechanism.id:
        return
    if asked is not None and len(asked.channels) == 1 and hasattr(plan, "mechanism"):
        plan.mechanism = cell.mechanism
        again = plan.round([])
        if again is not None and again.channels[0].mechanism.id == cell.mechanism.id:
            return
    raise WireError(f"column {cell.name!r} was made with another mechanism than this version of discreet would use")


def new_assignment(entropy: Entropy | None) -> bytes:
    """Return a key for the stream that draws who is asked what."""
    return os.urandom(32) if entropy is None else entropy.read(32)
