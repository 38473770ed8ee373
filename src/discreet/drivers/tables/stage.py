"""A stage: one pass over the data, in which the next round of each question is asked."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from discreet.arrays import Counts, Words
from discreet.drivers.arrow import pa
from discreet.drivers.tables.cells import Cell
from discreet.drivers.tables.collection import Collection
from discreet.drivers.tables.counted import Counted
from discreet.drivers.tables.reports import Reports
from discreet.drivers.tables.values import Mask, RowError, Values, read_question
from discreet.errors import DiscreetError
from discreet.plans import assignment
from discreet.plans.base import Round
from discreet.privacy.entropy import Entropy, system_entropy
from discreet.text import listed

MISSING = ("drop", "error")
"""What may be done about missing values: count them and leave them out, or stop at the first."""
_ALL = 1 << 64


class Stage:
    """One pass over the data: the next round of each question that has one."""

    def __init__(self, collection: Collection, rounds: Mapping[str, Round], past: Reports) -> None:
        self.collection, self.past, self.rounds = collection, past, dict(rounds)
        asked = {name: (*past.rounds[name], *([rounds[name]] if name in rounds else [])) for name in past.rounds}
        self.reports = Reports(collection, asked, {(c.question, c.round, c.key): c.name for c in past.cells})
        self.cells: dict[tuple[str, str], Cell] = {
            (name, cell.key): cell for name, one in rounds.items() for cell in self.reports.cells_of(name, one.number)
        }
        self._spans = {name: self._span(name, one) for name, one in rounds.items()}

    def _span(self, name: str, asked: Round) -> tuple[int, int]:
        """Return the part of the 64-bit words whose people this round asks."""
        before = sum(one.share for one in self.past.rounds[name])
        start = round(min(before, 1.0) * _ALL)
        return start, _ALL if asked.share >= 1 else min(_ALL, round((before + asked.share) * _ALL))

    @property
    def is_last(self) -> bool:
        """Whether this stage asks everybody who is left, so that none can follow."""
        return all(span[1] == _ALL for span in self._spans.values())

    @property
    def schema(self) -> Any:
        """The Arrow schema of the batches of this stage, without the document."""
        return pa.schema([pa.field(cell.name, cell.type) for cell in self.cells.values()])

    def map_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Privatise record batches; the shape that Spark's `mapInArrow` and Dask want."""
        for batch in batches:
            yield self.map_batch(batch)[0]

    def map_batch(
        self,
        batch: Any,
        *,
        missing: str = "drop",
        entropy: Entropy | None = None,
        assignment: "WordSource | None" = None,
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
        assignment : object with ``words(count)``, optional
            Draws who is asked what, independently of all values; called `Stage.draws` times. Stages after the first
            need the same words for the same people again.
        first_row : int
            Number of the batch's first row, for messages.

        Returns
        -------
        (pyarrow.RecordBatch, Counted)
        """
        if missing not in MISSING:
            raise DiscreetError(f"missing must be {listed(MISSING)}, not {missing!r}")
        source = system_entropy() if entropy is None else entropy
        draw = source if assignment is None else assignment
        rows = batch.num_rows
        columns: list[Any] = []
        counted = Counted(rows=rows)
        answered = np.zeros(rows, dtype=np.bool_)
        drawn_question = self._drawn_question(rows, draw)
        for place, (name, plan) in enumerate(self.collection.questions.items()):
            # The words are drawn whether or not the question is in this stage: the next stage draws the same.
            chosen = None if drawn_question is None else drawn_question == place
            timing = draw.words(rows) if self._is_timed(name) else None
            if name not in self.rounds:
                continue
            if timing is not None:
                start, stop = self._spans[name]
                inside = (timing >= np.uint64(start)) & (timing <= np.uint64(stop - 1))
                chosen = inside if chosen is None else chosen & inside
            values = read_question(batch, name, plan, first_row)
            made, seen, here = self._ask(name, values, chosen, source, first_row, missing)
            columns += made
            counted += seen
            answered |= here
        result = pa.record_batch(columns, schema=self.schema)
        if not answered.all():
            result = result.filter(pa.array(answered))
        return result, counted + Counted(written=result.num_rows)

    def _is_timed(self, name: str) -> bool:
        """Whether the question's plan asks different people in different rounds."""
        return any(asked.share < 1 for asked in self.reports.rounds[name][:1])

    @property
    def draws(self) -> int:
        """How often `map_batch` asks the assignment for a word for each row; the same in every stage."""
        return self._is_sampled + sum(self._is_timed(name) for name in self.collection.questions)

    @property
    def _is_sampled(self) -> bool:
        """Whether each person answers one of several questions."""
        return self.collection.budget == "sample" and len(self.collection.questions) > 1

    def _drawn_question(self, rows: int, draw: "WordSource") -> Words | None:
        return _uniform(draw.words(rows), len(self.collection.questions)) if self._is_sampled else None

    def _ask(
        self, name: str, values: Values, chosen: Mask | None, source: Entropy, first_row: int, missing: str
    ) -> tuple[list[Any], Counted, Mask]:
        """Privatise the chosen rows' answers to one question, each in the channels that are drawn for it."""
        asked, rows = self.rounds[name], len(values.missing)
        ends = assignment.thresholds(asked.shares[: asked.block])
        words = source.words(rows) if len(ends) > 1 else np.zeros(rows, dtype=np.uint64)
        drawn = assignment.drawn(words, ends) if len(ends) > 1 else None
        made, low, high, lost = [], 0, 0, 0
        if values.groups is not None:
            drawn = assignment.drawn_by_group(words, ends, values.groups)
            lost = self._without_group(name, values.groups, chosen, first_row, missing)
        answered = np.zeros(rows, dtype=np.bool_)
        for place, channel in enumerate(asked.channels):
            group = chosen
            if drawn is not None:
                own = assignment.answers(drawn, place, asked.block, asked.answers)
                group = own if chosen is None else own & chosen
            absent = values.missing_for(channel.encoder)
            if absent.any():
                absent = absent if group is None else absent & group
                if missing == "error" and absent.any():
                    raise RowError(
                        values.column_for(channel.encoder),
                        first_row + int(np.flatnonzero(absent)[0]),
                        "the value is missing; missing='drop' counts such rows and leaves them out",
                    )
                lost += int(absent.sum())
                group = ~absent if group is None else group & ~absent
            if rows and (group is None or group.any()):
                encoded = values.encode(channel.encoder, group, first_row)
                inputs, low, high = encoded.inputs, low + encoded.clipped_low, high + encoded.clipped_high
            else:
                inputs = np.empty(0, dtype=np.float64 if channel.mechanism.numeric else np.int64)
            reports = channel.mechanism.privatize(inputs, source)
            made.append(self.cells[name, channel.key].to_arrow(reports, group, rows))
            answered |= True if group is None else group
        seen = Counted(
            missing={name: lost},
            clipped_low={name: low},
            clipped_high={name: high},
            reports={name: int(answered.sum())},
        )
        return made, seen, answered

    def _without_group(self, name: str, groups: Counts, chosen: Mask | None, first_row: int, missing: str) -> int:
        """Return how many of the chosen rows lack their public group, or say which is the first."""
        absent = groups < 0 if chosen is None else (groups < 0) & chosen
        if missing == "error" and absent.any():
            raise RowError(
                getattr(self.collection.questions[name], "name", name),
                first_row + int(np.flatnonzero(absent)[0]),
                f"the group for question {name!r} is missing; missing='drop' counts such rows and leaves them out",
            )
        return int(absent.sum())


class WordSource(Protocol):
    """Where the words come from that decide who is asked what: an `Entropy`, or `Drawn` beforehand."""

    def words(self, count: int) -> Words:
        """Return the next words, one for each of ``count`` rows."""
        ...


class Drawn:
    """Words that were drawn beforehand, in the order in which `Stage.map_batch` asks for them."""

    def __init__(self, words: Iterable[Words]) -> None:
        self._words = iter(words)

    def words(self, count: int) -> Words:
        """Return the next words; there are as many as rows."""
        return next(self._words)


def _uniform(words: Words, count: int) -> Words:
    """Return numbers 0..count-1 from the upper halves of words."""
    return np.asarray(((words >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


def new_assignment(entropy: Entropy | None) -> bytes:
    """Return a key for the stream that draws who is asked what."""
    return os.urandom(32) if entropy is None else entropy.read(32)
