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
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.domains import Categories, Interval
from discreet.drivers.files.cells import Cell, Tallies, tally_cells
from discreet.errors import DiscreetError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.plans.base import Answered, Channel, Plan, Round
from discreet.plans.encoders import Encoder, read_encoder, write_encoder
from discreet.plans.registry import QUESTIONS, read_plan
from discreet.privacy.ledger import rational, shown, total
from discreet.tallies import Tally

if TYPE_CHECKING:
    from discreet.drivers.files.stage import Stage

KEY = b"discreet"
SPARK_KEY = b"org.apache.spark.sql.parquet.row.metadata"
"""Where Spark keeps its own schema, with the columns' metadata, in a Parquet file."""
VERSION = 1
BUDGETS = ("split", "sample")


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
        from discreet.drivers.files.stage import Stage

        past = previous or Reports(self, ())
        histories = past.histories(tallies or {})
        rounds = {column: plan.round(histories[column]) for column, plan in self.questions.items()}
        alive = {column: asked for column, asked in rounds.items() if asked is not None}
        return Stage(self, alive, past) if alive else None


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
        return tally_cells(self.cells, batch)

    def histories(self, tallies: Mapping[str, Tally]) -> dict[str, list[Answered]]:
        """Return the rounds of each question as they were asked, with their tallies: what plans are told."""
        return {column: self._history(column, plan, tallies) for column, plan in self.collection.questions.items()}

    def _history(self, column: str, plan: Plan, tallies: Mapping[str, Tally]) -> list[Answered]:
        own = [cell for cell in self.cells if cell.question == column]
        history: list[Answered] = []
        for number in sorted({cell.round for cell in own}):
            cells = [cell for cell in own if cell.round == number]
            channels = tuple(Channel(cell.key, cell.mechanism, _encoder(cell, plan, history)) for cell in cells)
            counted = {cell.key: tallies.get(cell.name) or cell.mechanism.tally([]) for cell in cells}
            history.append(Answered(Round(number, channels, self.shares.get((column, number), 1.0)), counted))
        return history

    def estimate(self, tallies: Mapping[str, Tally]) -> dict[str, Any]:
        """Answer every question."""
        histories = self.histories(tallies)
        answers = {}
        for column, plan in self.collection.questions.items():
            try:
                answers[column] = plan.estimate(histories[column])
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
                | ({} if cell.encoder is None else {"encoder": write_encoder(cell.encoder)})
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
                    read_encoder(item["encoder"]) if "encoder" in item else None,
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
            if cell.mechanism.epsilon > plans[cell.question].epsilon:
                raise WireError(
                    f"column {cell.name!r} has epsilon {cell.mechanism.epsilon:g}; "
                    f"its plan allows {plans[cell.question].epsilon:g}"
                )
        return Reports(collection, cells, shares)

    @staticmethod
    def of_schema(schema: Any, where: str = "the table") -> "Reports":
        """Read the document from a schema's metadata."""
        return Reports.from_json(document_of(schema, where))


def document_of(schema: Any, where: str = "the table") -> bytes:
    """Return the document in an Arrow schema's metadata: our own, or that of a column where Spark wrote the file."""
    metadata = schema.metadata or {}
    if KEY in metadata:
        return bytes(metadata[KEY])
    fields = json.loads(metadata[SPARK_KEY])["fields"] if SPARK_KEY in metadata else []
    for each in fields:
        if KEY.decode() in each["metadata"]:
            return str(each["metadata"][KEY.decode()]).encode()
    raise WireError(f"{where} holds no reports of discreet: its metadata have no document")


def _encoder(cell: Cell, plan: Plan, history: list[Answered]) -> Encoder:
    """Return the encoder that a column was asked with; for a file of 0.1, the one that its plan asks with now."""
    if cell.encoder is not None:
        return cell.encoder
    asked = plan.round(history)
    if asked is None:
        raise WireError(f"column {cell.name!r} is of round {cell.round}, which its plan does not have")
    return asked.channel(cell.key).encoder
