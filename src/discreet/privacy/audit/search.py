"""The search for the setting, the pair of inputs and the event that tell most; every step uses fresh reports.

Exploring ranks all candidates with few reports, in two ways: by what they prove already, and by what they would prove
if fresh reports looked the same (a rare leak has been seen a few times only, and proves nothing yet). Refining draws
many reports for the best of both lists: one half chooses the event, the held-out half says what it is worth by its
exact Clopper-Pearson bound in as many reports as will be counted. Bounds by a normal approximation are useless here:
they explode where an event was never seen from the other input, which is what a plain leak looks like.
"""

import itertools
import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Counts
from discreet.errors import DiscreetError
from discreet.privacy.audit import views
from discreet.privacy.audit.bounds import approximate_bounds, best_bound
from discreet.privacy.audit.subjects import PLAIN, Setting, Subject

Extra = Callable[[Any, Any, Any], AnyArray]
"""A view of its own: ``extra(reports, x, x')`` gives small whole numbers."""
REFINING, COUNTING = 0.3, 0.5
"""Shares of the time for refining the finalists and for counting the event."""
FINALISTS = 5
"""Number of candidates that are refined from each of the two lists."""
_SAME = 2
"""Most finalists with the same setting and view in one list."""
_GAIN = 0.25
"""By how much more than the plain setting another one must prove or promise to be refined."""
_LUCK = 2.0
"""Standard deviations by which counts are made less favourable before an event is chosen."""
_CHUNK = 1 << 17
"""The event is counted in this many reports at a time."""
_MOST_CELLS = 10_000_000
"""Most numbers (reports times columns) that are kept of one input while candidates are refined."""


class Candidate(NamedTuple):
    """A setting, an ordered pair of inputs and a view, with what their best event proves and promises."""

    proven: float
    promised: float
    setting: Setting
    pair: tuple[int, int]
    view: str


class Search:
    """Narrows all settings, pairs and views down to one event: explore each setting, refine, count."""

    def __init__(self, subject: Subject, inputs: list[Any], extra: Extra | None, samples: int) -> None:
        self._subject, self._inputs, self._extra, self._samples = subject, inputs, extra, samples
        self._candidates: list[Candidate] = []
        self._views: dict[Setting, list[views.View]] = {}

    @property
    def tried(self) -> int:
        """Number of settings, pairs and views that were explored."""
        return len(self._candidates)

    def explore(self, setting: Setting, n: int) -> None:
        """Judge all ordered pairs and views by n reports of each input."""
        raw = [self._subject.reports(x, n, setting) for x in self._inputs]
        if setting == PLAIN:
            self._subject.fit([item for reports in raw for item in reports[:1000]])
        tables = [self._subject.table(reports, setting) for reports in raw]
        fitted = views.common_views([np.concatenate(parts) for parts in zip(*tables, strict=True)])
        self._views[setting] = fitted
        codes = [[view.codes(table) for view in fitted] for table in tables]
        for i, j in itertools.permutations(range(len(self._inputs)), 2):
            for v, view in enumerate(fitted):
                self._judge(setting, (i, j), view, codes[i][v], codes[j][v])
            if setting == PLAIN:
                half = n // 2
                for view in self._pair_views([c[:half] for c in tables[i]], [c[:half] for c in tables[j]]):
                    found = self._codes_of(view, (i, j), (raw[i], raw[j]), (tables[i], tables[j]))
                    self._judge(setting, (i, j), view, *found)

    def _pair_views(self, first: Any, second: Any) -> list[views.View]:
        found = [make(first, second) for make in (views.membership, views.evidence)]
        if self._extra is not None:
            found.append(views.View("the author's event", 64, lambda columns: np.zeros(0, dtype=np.int64)))
        return [view for view in found if view is not None]

    def _codes_of(self, view: views.View, pair: Any, raw: Any, tables: Any) -> list[Counts]:
        if self._extra is not None and view.name == "the author's event":
            a, b = (self._inputs[k] for k in pair)
            return [np.asarray(self._extra(reports, a, b)).astype(np.int64) for reports in raw]
        return [view.codes(table) for table in tables]

    def _judge(self, setting: Setting, pair: tuple[int, int], view: views.View, first: Counts, second: Counts) -> None:
        """Choose the event with one half of the reports and say what the other half proves and promises."""
        _, hits, misses = _level_sets(view.size, first, second)
        growth = max(1.0, self._samples / max(len(first) - len(first) // 2, 1))
        proven, promised = (float(approximate_bounds(hits * k, misses * k).max()) for k in (1.0, growth))
        self._candidates.append(Candidate(proven, promised, setting, pair, view.name))

    def refine(self, affordable: Callable[[float, Setting], int]) -> None:
        """Fit the finalists again with many reports and keep the best event.

        ``affordable(share, setting)`` says how many reports fit into a share of the time.
        """
        best: tuple[float, Any] = (-math.inf, None)
        cache: dict[tuple[Setting, int], tuple[Any, list[AnyArray]]] = {}
        finalists = self._finalists()
        share = REFINING / len({(setting, k) for setting, pair, _ in finalists for k in pair})
        settings = dict.fromkeys(setting for setting, _, _ in finalists)
        # Fixed beforehand: the speed is measured anew with each draw, and both inputs of a pair need as many reports.
        refined = {s: self._capped(min(self._samples, affordable(share, s)), s) for s in settings}
        counted = {s: self.counted(affordable, s) for s in settings}
        for setting, (i, j), name in finalists:
            for k in (i, j):
                if (setting, k) not in cache:
                    reports = self._subject.reports(self._inputs[k], refined[setting], setting)
                    cache[setting, k] = (reports, self._subject.table(reports, setting))
            (raw_i, table_i), (raw_j, table_j) = cache[setting, i], cache[setting, j]
            half = len(table_i[0]) // 2
            growth = counted[setting] / half
            candidates = [view for view in self._views[setting] if view.name == name]
            if not candidates:
                halves = [[column[:half] for column in table] for table in (table_i, table_j)]
                candidates = [view for view in self._pair_views(*halves) if _same(view.name, name)]
            for view in candidates:
                codes = self._codes_of(view, (i, j), (raw_i, raw_j), (table_i, table_j))
                event, bound = _choose(view.size, codes[0], codes[1], growth)
                if bound > best[0] or best[1] is None:
                    best = (bound, (setting, i, j, view, event))
        if best[1] is None:
            raise DiscreetError("no event was found that tells the inputs apart; give more samples or other inputs")
        self._best = best[1]

    def _finalists(self) -> list[tuple[Setting, tuple[int, int], str]]:
        """Return the best candidates by what they prove, then by what they promise."""
        chosen: dict[tuple[Setting, tuple[int, int], str], None] = {}
        for score in (attrgetter("proven"), attrgetter("promised")):
            plain = max(score(c) for c in self._candidates if c.setting == PLAIN)
            listed: list[Candidate] = []
            for item in sorted(self._candidates, key=score, reverse=True):
                alike = sum(item.setting == c.setting and _same(item.view, c.view) for c in listed)
                if alike < _SAME and (item.setting == PLAIN or score(item) > plain + _GAIN):
                    listed.append(item)
                if len(listed) == FINALISTS:
                    break
            chosen |= dict.fromkeys((c.setting, c.pair, c.view) for c in listed)
        return list(chosen)

    def _capped(self, n: int, setting: Setting) -> int:
        width = len(self._subject.table(self._subject.reports(self._inputs[0], 2, setting), setting))
        return max(200, min(n, _MOST_CELLS // width))

    def counted(self, affordable: Callable[[float, Setting], int], setting: Setting) -> int:
        """Return how many reports of each input can be counted in a setting."""
        return max(100, min(self._samples, affordable(COUNTING / 2, setting)))

    def count(self, n: tuple[int, int]) -> tuple[int, int]:
        """Count the event in fresh reports, n[0] of the first input of the pair and n[1] of the second."""
        setting, i, j, view, event = self._best
        hits = []
        for k, left in zip((i, j), n, strict=True):
            count = 0
            while left:
                part = min(left, _CHUNK)
                raw = self._subject.reports(self._inputs[k], part, setting)
                table = self._subject.table(raw, setting)
                count += int(event[self._codes_of(view, (i, j), (raw,), (table,))[0]].sum())
                left -= part
            hits.append(count)
        return hits[0], hits[1]

    @property
    def setting(self) -> Setting:
        """How the reports of the chosen pair are drawn."""
        setting: Setting = self._best[0]
        return setting

    @property
    def pair(self) -> tuple[Any, Any]:
        """The inputs that were chosen."""
        return self._inputs[self._best[1]], self._inputs[self._best[2]]

    @property
    def view(self) -> str:
        """What is looked at in the reports of the chosen pair."""
        return f"{self._best[3].name}{self.setting}"


def _same(name: str, other: str) -> bool:
    return name.split(" of ")[0] == other.split(" of ")[0]


def _level_sets(size: int, first: Counts, second: Counts) -> tuple[AnyArray, Counts, Counts]:
    """Rank codes by their likelihood ratio in the first halves; count the leading ones in the second halves.

    Ranked and counted in the same reports, small lucky codes would win.
    """
    half = len(first) // 2
    ranking = [np.bincount(codes[:half], minlength=size) for codes in (first, second)]
    order = np.argsort(-np.log((ranking[0] + 0.5) / (ranking[1] + 0.5)), kind="stable")
    order = order[ranking[0][order] > 0]
    held_out = [np.bincount(codes[half:], minlength=size)[order] for codes in (first, second)]
    return order, np.cumsum(held_out[0]), np.cumsum(held_out[1])


def _choose(size: int, first: Counts, second: Counts, growth: float) -> tuple[npt.NDArray[np.bool_], float]:
    """Return the level set with the largest exact bound, and that bound.

    Counts of the held-out half are made less favourable by two standard deviations, for the luck of having been
    chosen, and multiplied by ``growth``, because more reports will be counted.
    """
    order, hits, misses = _level_sets(size, first, second)
    fewer, more = np.maximum(hits - _LUCK * np.sqrt(hits), 0.0), misses + _LUCK * np.sqrt(misses) + 1.0
    best, bound = best_bound(fewer * growth, more * growth)
    event = np.zeros(size, dtype=bool)
    event[order[: best + 1]] = True
    return event, bound
