"""The search for the pair of inputs and the event that tell most; every step uses fresh reports."""

import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Counts
from discreet.errors import DiscreetError
from discreet.privacy.audit import views

Randomiser = Callable[..., Any]
"""What is audited: ``randomiser(x) -> report``, or for a batch of inputs, or ``randomiser()`` for a new person."""
Extra = Callable[[Any, Any, Any], AnyArray]
"""A view of its own: ``extra(reports, x, x')`` gives small whole numbers."""
FINALISTS = 6
"""Number of candidates (pairs and views) that are refined."""
_CHUNK = 1 << 17
"""The event is counted in this many reports at a time."""
_SIGMAS = 3.7
"""Standard deviations by which the promise of an event is reduced for the fresh reports that will measure it."""
_LUCK = 2.0
"""Standard deviations by which it is reduced for the luck of having been chosen."""
_MOST_CELLS = 30_000_000
"""Most numbers (reports times columns) that are kept of one input while candidates are refined."""


class Subject:
    """Draws reports of a randomiser and measures how long that takes."""

    def __init__(self, randomiser: Randomiser, batch: bool, calls: int, fresh: bool) -> None:
        self._randomiser, self._batch, self._calls, self._fresh = randomiser, batch, calls, fresh
        self.drawn, self.seconds = 0, 0.0

    def reports(self, x: Any, n: int) -> Any:
        """Return n reports of an input."""
        start = time.perf_counter()
        try:
            found = self._draw(x, n)
        except DiscreetError:
            raise
        except Exception as error:
            raise DiscreetError(
                f"the randomiser failed on input {x!r} ({type(error).__name__}: {error}); give inputs that it accepts"
            ) from error
        self.drawn += n * self._calls
        self.seconds += time.perf_counter() - start
        return found

    def _draw(self, x: Any, n: int) -> Any:
        if self._batch and self._calls == 1:
            found = self._randomiser(np.full(n, x) if np.ndim(x) == 0 else np.tile(np.asarray(x), (n, 1)))
            if len(found) != n:
                raise DiscreetError(
                    f"a randomiser for batches must return one report per input, not {len(found)} for {n}"
                )
            return found
        if self._calls == 1 and not self._fresh:
            return [self._randomiser(x) for _ in range(n)]
        people = (self._randomiser() if self._fresh else self._randomiser for _ in range(n))
        return [tuple(person(x) for _ in range(self._calls)) for person in people]


class Search:
    """Narrows all pairs and views down to one event: explore, refine, count."""

    def __init__(self, subject: Subject, inputs: list[Any], extra: Extra | None, samples: int) -> None:
        self._subject, self._inputs, self._extra, self._samples = subject, inputs, extra, samples
        self._ranked: list[tuple[float, int, int, str]] = []
        self._views: list[views.View] = []
        self.tried = 0

    def explore(self, n: int) -> None:
        """Rank all ordered pairs and views by the bound that they promise."""
        raw = [self._subject.reports(x, n) for x in self._inputs]
        tables = [views.columns_of(reports) for reports in raw]
        if len({len(table) for table in tables}) != 1:  # lengths differ by input: compare whole reports
            tables = [[np.array([views.digest(item) for item in reports], dtype=np.uint64)] for reports in raw]
        self._views = views.common_views([np.concatenate(parts) for parts in zip(*tables, strict=True)])
        codes = [[view.codes(table) for view in self._views] for table in tables]
        self._ranked = []
        for i, j in itertools.permutations(range(len(self._inputs)), 2):
            for v, view in enumerate(self._views):
                self._rank(i, j, view, codes[i][v], codes[j][v])
            half = n // 2
            for view in self._pair_views(i, j, [c[:half] for c in tables[i]], [c[:half] for c in tables[j]]):
                self._rank(i, j, view, *self._codes_of(view, (i, j), (raw[i], raw[j]), (tables[i], tables[j])))
        self._ranked.sort(key=lambda item: -item[0])
        self.tried = len(self._ranked)

    def _pair_views(self, i: int, j: int, first: Any, second: Any) -> list[views.View]:
        found = [make(first, second) for make in (views.membership, views.evidence)]
        if self._extra is not None:
            found.append(views.View("the author's event", 64, lambda columns: np.zeros(0, dtype=np.int64)))
        return [view for view in found if view is not None]

    def _codes_of(self, view: views.View, pair: Any, raw: Any, tables: Any) -> list[Counts]:
        if self._extra is not None and view.name == "the author's event":
            a, b = (self._inputs[k] for k in pair)
            return [np.asarray(self._extra(reports, a, b)).astype(np.int64) for reports in raw]
        return [view.codes(table) for table in tables]

    def _rank(self, i: int, j: int, view: views.View, first: Counts, second: Counts) -> float:
        """Choose the event with one half, predict the bound with the other."""
        _, bound = _choose(view.size, first, second, self._samples)
        self._ranked.append((bound, i, j, view.name))
        return bound

    def refine(self, n: int) -> None:
        """Fit the best candidates again with more reports and keep the best."""
        best: tuple[float, Any] = (-math.inf, None)
        cache: dict[int, tuple[Any, Any]] = {}
        for _, i, j, name in _diverse(self._ranked):
            for k in (i, j):
                if k not in cache:
                    reports = self._subject.reports(self._inputs[k], self._capped(n))
                    cache[k] = (reports, views.columns_of(reports))
            (raw_i, table_i), (raw_j, table_j) = cache[i], cache[j]
            half = len(table_i[0]) // 2
            candidates = [view for view in self._views if view.name == name]
            if not candidates:
                halves = [[column[:half] for column in table] for table in (table_i, table_j)]
                candidates = [view for view in self._pair_views(i, j, *halves) if _same(view.name, name)]
            for view in candidates:
                codes = self._codes_of(view, (i, j), (raw_i, raw_j), (table_i, table_j))
                event, bound = _choose(view.size, codes[0], codes[1], self._samples)
                if bound > best[0]:
                    best = (bound, (i, j, view, event))
        if best[1] is None:
            raise DiscreetError("no event was found that tells the inputs apart; give more samples or other inputs")
        self._best = best[1]

    def _capped(self, n: int) -> int:
        width = len(views.columns_of(self._subject.reports(self._inputs[0], 2)))
        return max(200, min(n, _MOST_CELLS // width))

    def count(self, n: tuple[int, int]) -> tuple[int, int]:
        """Count the event in fresh reports, n[0] of the first input of the pair and n[1] of the second."""
        i, j, view, event = self._best
        hits = []
        for k, left in zip((i, j), n, strict=True):
            count = 0
            while left:
                part = min(left, _CHUNK)
                raw = self._subject.reports(self._inputs[k], part)
                table = views.columns_of(raw)
                count += int(event[self._codes_of(view, (i, j), (raw,), (table,))[0]].sum())
                left -= part
            hits.append(count)
        return hits[0], hits[1]

    @property
    def pair(self) -> tuple[Any, Any]:
        """The inputs that were chosen."""
        return self._inputs[self._best[0]], self._inputs[self._best[1]]

    @property
    def view(self) -> str:
        """What is looked at in the reports of the chosen pair."""
        return str(self._best[2].name)


def _same(name: str, other: str) -> bool:
    return name.split(" of ")[0] == other.split(" of ")[0]


def _diverse(ranked: list[tuple[float, int, int, str]]) -> list[tuple[float, int, int, str]]:
    """Return the best candidates, at most three of the same view."""
    chosen: list[tuple[float, int, int, str]] = []
    for item in ranked:
        if sum(_same(item[3], other[3]) for other in chosen) < 3:
            chosen.append(item)
        if len(chosen) == FINALISTS:
            break
    return chosen


def _choose(size: int, first: Counts, second: Counts, n: int) -> tuple[npt.NDArray[np.bool_], float]:
    """Choose an event; return it and the bound that it promises in n fresh reports of each input.

    The first halves rank the codes by their likelihood ratio, the second halves say how many of them to take: chosen by
    the same reports, small lucky codes would win.
    """
    half = len(first) // 2
    ranking = [np.bincount(codes[:half], minlength=size) for codes in (first, second)]
    order = np.argsort(-np.log((ranking[0] + 0.5) / (ranking[1] + 0.5)), kind="stable")
    rest = len(first) - half
    hits, misses = (np.cumsum(np.bincount(codes[half:], minlength=size)[order]) for codes in (first, second))
    p, q = (hits + 0.5) / (rest + 1), (misses + 0.5) / (rest + 1)
    trials = min(n, 2 * rest)
    doubt = np.sqrt(1 / p + 1 / q) * (_SIGMAS / math.sqrt(trials) + _LUCK / math.sqrt(rest))
    promised = np.log(p / q) - doubt
    best = int(np.argmax(promised))
    event = np.zeros(size, dtype=bool)
    event[order[: best + 1]] = True
    return event & (ranking[0] > 0), float(promised[best])
