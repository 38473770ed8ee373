"""Reports: what a table of reports holds, written into its metadata so that it can be read without anything else.

The document has the questions and, for each of their rounds, the round's own document (`discreet.messages.rounds`): the
plan is told what was really asked, even if this version of discreet would ask otherwise. Documents of version 1, which
had the mechanisms but not the encoders, are read as well.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.domains import Categories, Encoded, Image, Total
from discreet.drivers.arrow import pa
from discreet.drivers.tables.cells import Cell, Tallies, tally_cells
from discreet.drivers.tables.collection import Collection
from discreet.errors import DiscreetError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.messages.rounds import read_round, write_round
from discreet.plans.answers import Answer
from discreet.plans.base import Answered, Channel, Plan, Round, group_key
from discreet.plans.encoders import accepted
from discreet.plans.groups import Groups
from discreet.plans.registry import read_plan
from discreet.privacy.ledger import Loss
from discreet.tallies import Tally

KEY = b"discreet"
"""Where the document is in the metadata of an Arrow schema."""
SPARK_KEY = b"org.apache.spark.sql.parquet.row.metadata"
"""Where Spark keeps its own schema, with the columns' metadata, in a Parquet file."""
VERSION = 2


class Reports:
    """What a table of reports holds: the questions, the rounds as they were asked, and a column for each channel.

    Parameters
    ----------
    collection : Collection
        The questions.
    rounds : mapping, optional
        The rounds of each question that were asked so far.
    names : mapping, optional
        The column of each (question, round, channel); by the usual rule unless given.
    """

    def __init__(
        self,
        collection: Collection,
        rounds: Mapping[str, Sequence[Round]] | None = None,
        names: Mapping[tuple[str, int, str], str] | None = None,
    ) -> None:
        self.collection = collection
        self.rounds = {name: tuple((rounds or {}).get(name, ())) for name in collection.questions}
        self.cells = tuple(self._cells(names or {}))
        self._first: dict[str, Any] | None = None  # the document, where it is of version 1

    def _cells(self, names: Mapping[tuple[str, int, str], str]) -> Iterable[Cell]:
        asked = [(name, one) for name, rounds in self.rounds.items() for one in rounds]
        for name, one in sorted(asked, key=lambda pair: pair[1].number):  # stage by stage
            is_alone = one.number == 1 and len(one.channels) == 1 and one.share >= 1
            for channel in one.channels:
                usual = name if is_alone else f"{name}/{one.number}/{channel.key}"
                column = names.get((name, one.number, channel.key), usual)
                yield Cell(column, name, one.number, channel.key, channel.mechanism)

    def cells_of(self, question: str, number: int) -> list[Cell]:
        """Return the columns of one round of a question, in the order of its channels."""
        return [cell for cell in self.cells if (cell.question, cell.round) == (question, number)]

    @property
    def schema(self) -> Any:
        """The Arrow schema, the document in its metadata."""
        fields = [pa.field(cell.name, cell.type) for cell in self.cells]
        return pa.schema(fields, metadata={KEY: self.to_json().encode()})

    def tally_batch(self, batch: Any) -> Tallies:
        """Count a batch of reports."""
        return tally_cells(self.cells, batch)

    def tally_by(self, batch: Any, column: str) -> dict[Any, Tallies]:
        """Count a batch of reports for each value of a public column beside them; rows without a value are left out."""
        values = batch.column(column).dictionary_encode()
        codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        found: dict[Any, Tallies] = {}
        for code, label in enumerate(values.dictionary.to_pylist()):
            if label is None:
                continue
            found[label] = self.tally_batch(batch.filter(pa.array(codes == code)))
        return found

    def estimate_by(self, tallies: Mapping[Any, Tallies], column: str) -> dict[str, Answer]:
        """Answer every question for each value of a public column, from the tallies of each."""
        labels = sorted(tallies, key=lambda label: (str(type(label)), label))
        if len(labels) < 2:
            raise DiscreetError(f"column {column!r} must have at least 2 different values, not {len(labels)}")
        by = Categories(labels)
        histories = {label: self.histories(tallies[label]) for label in labels}
        answers: dict[str, Answer] = {}
        for name, plan in self.collection.questions.items():
            if isinstance(plan, Groups):
                raise DiscreetError(f"{name!r} was asked by {plan.name}; it cannot be divided again")
            rounds = [
                Answered(
                    parts[0].round.by_group(by),
                    {
                        group_key(label, key): tally
                        for label, part in zip(labels, parts, strict=True)
                        for key, tally in part.tallies.items()
                    },
                )
                for parts in zip(*(histories[label][name] for label in labels), strict=True)
            ]
            answers[name] = Groups(plan, by, name=column).estimate(rounds)
        return answers

    def histories(self, tallies: Mapping[str, Tally]) -> dict[str, list[Answered]]:
        """Return the rounds of each question as they were asked, with their tallies: what plans are told."""
        histories: dict[str, list[Answered]] = {}
        for name, plan in self.collection.questions.items():
            history = histories[name] = []
            for asked in self.rounds[name]:
                cells = self.cells_of(name, asked.number)
                counted = {cell.key: tallies.get(cell.name) or cell.mechanism.tally([]) for cell in cells}
                history.append(Answered(_with_encoders(asked, plan, history), counted))
        return histories

    def estimate(self, tallies: Mapping[str, Tally]) -> dict[str, Answer]:
        """Answer every question."""
        answers: dict[str, Answer] = {}
        for name, history in self.histories(tallies).items():
            try:
                answers[name] = self.collection.questions[name].estimate(history)
            except DiscreetError as error:
                raise DiscreetError(f"column {name!r}: {error}") from None
        return answers

    # -- the document -------------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """Return the questions and the rounds, JSON-ready. It holds nothing that depends on the values."""
        if self._first is not None:
            return self._first
        return {
            "discreet-reports": VERSION,
            "budget": self.collection.budget,
            "epsilon": str(self.collection.epsilon),
            "questions": [{"name": name, "plan": plan.to_dict()} for name, plan in self.collection.questions.items()],
            "rounds": [
                {
                    "question": name,
                    "columns": [cell.name for cell in self.cells_of(name, asked.number)],
                    "round": write_round(asked),
                }
                for name, rounds in self.rounds.items()
                for asked in rounds
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
            version = document["discreet-reports"]
            if version not in _READERS:
                known = " and ".join(map(str, _READERS))
                raise WireError(f"the reports are of version {version!r}; this version of discreet reads {known}")
            made = _READERS[version](document)
        except DiscreetError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WireError(f"the reports' document cannot be read: {type(error).__name__} {error}") from None
        for name, rounds in made.rounds.items():
            _check_claims(name, made.collection.questions[name], rounds)
        return made

    @staticmethod
    def of_schema(schema: Any, where: str = "the table") -> "Reports":
        """Read the document from a schema's metadata."""
        return Reports.from_json(document_of(schema, where))


def _read(document: Any) -> Reports:
    plans = {str(item["name"]): read_plan(item["plan"]) for item in document["questions"]}
    rounds: dict[str, list[Round]] = {name: [] for name in plans}
    names: dict[tuple[str, int, str], str] = {}
    for item in document["rounds"]:
        question, asked = item["question"], read_round(item["round"])
        if question not in plans or asked.number != len(rounds[question]) + 1:
            raise WireError(f"the document has round {asked.number} of {question!r}, which was not asked before it")
        for channel, column in zip(asked.channels, item["columns"], strict=True):
            names[question, asked.number, channel.key] = str(column)
        rounds[question].append(asked)
    return Reports(Collection(plans, document["budget"], document["epsilon"]), rounds, names)


def _read_first(document: Any) -> Reports:
    """Read a document of version 1: a mechanism for each column, and no encoders."""
    plans = {str(item["column"]): read_plan(item["plan"]) for item in document["questions"]}
    channels: dict[tuple[str, int], list[Channel]] = {}
    shares: dict[tuple[str, int], float] = {}
    names: dict[tuple[str, int, str], str] = {}
    for item in document["reports"]:
        question, number, key = str(item["question"]), int(item["round"]), str(item["channel"])
        if question not in plans:
            raise WireError(f"column {item['name']!r} answers {question!r}, which is not asked")
        mechanism = Mechanism.from_document(item["mechanism"])
        channels.setdefault((question, number), []).append(Channel(key, mechanism, _NotWritten(accepted(mechanism))))
        shares[question, number] = float(item["share"])
        names[question, number, key] = str(item["name"])
    rounds: dict[str, list[Round]] = {name: [] for name in plans}
    for (question, number), listed in sorted(channels.items()):
        rounds[question].append(Round(number, tuple(listed), shares[question, number]))
    made = Reports(Collection(plans, document["budget"], document["epsilon"]), rounds, names)
    made._first = document
    return made


_READERS = {1: _read_first, VERSION: _read}


@dataclass(frozen=True)
class _NotWritten:
    """Stands for an encoder that a document of version 1 does not have."""

    image: Image

    def encode(self, values: Any) -> Encoded:
        raise WireError("reports of version 1 do not say how values were encoded")

    def encode_total(self, values: Any) -> Total:
        raise WireError("reports of version 1 do not say how values were encoded")

    def to_dict(self) -> dict[str, Any]:
        raise WireError("reports of version 1 do not say how values were encoded")


def _with_encoders(asked: Round, plan: Plan, history: Sequence[Answered]) -> Round:
    """Return a round with its encoders; where the document has none, with those that its plan asks with now."""
    if not any(isinstance(channel.encoder, _NotWritten) for channel in asked.channels):
        return asked
    now = plan.round(history)
    if now is None:
        raise WireError(f"the document has round {asked.number}, which its plan does not have")
    return replace(asked, channels=tuple(replace(one, encoder=now.channel(one.key).encoder) for one in asked.channels))


def _check_claims(name: str, plan: Plan, rounds: Iterable[Round]) -> None:
    """Refuse rounds whose answers of one person together exceed the plan's epsilon."""
    for asked in rounds:
        for channel in asked.channels:
            if channel.mechanism.epsilon > plan.epsilon:
                raise WireError(
                    f"channel {channel.key!r} of {name!r} has epsilon {channel.mechanism.epsilon:g}; "
                    f"its plan allows {plan.epsilon:g}"
                )
        for drawn in range(len(asked.channels) if asked.answers > 1 else 0):
            loss = sum((Loss(one.mechanism.certificate.ratio) for one in asked.answered(drawn)), Loss())
            if not loss.within(Fraction(plan.epsilon)):
                raise WireError(
                    f"one person's answers to {name!r} have epsilon {float(loss.total):g} together; "
                    f"its plan allows {plan.epsilon:g}"
                )


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
