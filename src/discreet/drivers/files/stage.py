"""A stage: one pass over the data, in which the next round of each question is asked."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.drivers.files.cells import Cell
from discreet.drivers.files.collection import Collection, Reports
from discreet.drivers.files.counted import Counted
from discreet.drivers.files.values import Mask, Values, read_values
from discreet.errors import DiscreetError, DomainError
from discreet.plans.base import Channel, Round
from discreet.privacy.entropy import Entropy, system_entropy

MISSING = ("drop", "error")


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
                asked_with = channel.mechanism, channel.encoder
                self.cells[column, channel.key] = Cell(name, column, asked.number, channel.key, *asked_with)
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
        assignment: "Words | None" = None,
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

    @property
    def draws(self) -> int:
        """How often `map_batch` asks the assignment for a word for each row; the same in every stage."""
        return self._is_sampled + sum(self._is_timed(column) for column in self.collection.questions)

    @property
    def _is_sampled(self) -> bool:
        """Whether each person answers one of several questions."""
        return self.collection.budget == "sample" and len(self.collection.questions) > 1

    def _drawn_column(self, rows: int, draw: "Words") -> npt.NDArray[np.uint64] | None:
        return _uniform(draw.words(rows), len(self.collection.questions)) if self._is_sampled else None

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


class Words(Protocol):
    """Where the words come from that decide who is asked what: an `Entropy`, or `Drawn` beforehand."""

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Return the next word of each of so many rows."""
        ...


class Drawn:
    """Words that were drawn beforehand, in the order in which `Stage.map_batch` asks for them."""

    def __init__(self, words: Iterable[npt.NDArray[np.uint64]]) -> None:
        self._words = iter(words)

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Return the next words; there are as many as rows."""
        return next(self._words)


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


def new_assignment(entropy: Entropy | None) -> bytes:
    """Return a key for the stream that draws who is asked what."""
    return os.urandom(32) if entropy is None else entropy.read(32)
