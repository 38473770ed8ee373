"""Views of reports: each turns a batch of reports into small whole numbers whose histograms are compared.

A report may be a number, text, bytes, or a tuple or array of those; it becomes columns of integers or floats. Views
look at what attacks look at: values, whole reports, the last bits and the granularity of floats, membership in the set
of reports that an input was seen to give, and the sum of evidence over many columns (bits, attributes, repetitions).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError

MOST_VALUES = 1 << 14
"""A column with more different values than this is looked at in bins, and for values that repeat."""
_MOST_REPEATED = 1 << 10
"""Most values that repeat, the most frequent ones, which are told apart in such a column."""
SIZED = (str, bytes, bytearray, tuple, list)
"""Types of reports that have a length of their own."""
_BINS = 256
"""Number of bins of a column."""
_COARSE = 32
"""Number of bins of a column that is looked at together with its last bits."""
_ZEROS = 15
"""More trailing zero bits than this count as this many."""
_RARE = 0.01
"""A value or bit with a smaller share of the reports than this is a rare part."""
_SIGNIFICANT = 4.5
"""Standard deviations by which a feature must differ between two inputs to count as evidence."""


def columns_of(reports: Any) -> list[AnyArray]:
    """Return a batch of reports as columns of integers or floats, with one entry per report.

    Examples
    --------
    >>> [column.tolist() for column in columns_of([(1, 0.5), (2, 0.25)])]
    [[1, 2], [0.5, 0.25]]
    >>> [column.tolist() for column in columns_of([b"ab", b"ac"])]
    [[97, 97], [98, 99]]
    """
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biuf":
        rows = reports.reshape(len(reports), -1)
        return [_plain(rows[:, j]) for j in range(rows.shape[1])]
    listed = list(reports)
    if not listed:
        raise DiscreetError("the randomiser must return at least one report")
    first = listed[0]
    if isinstance(first, (bool, int, float, np.generic)) and all(np.ndim(item) == 0 for item in listed):
        return [_scalars(listed)]
    if isinstance(first, (bytes, bytearray)) and len({len(item) for item in listed}) == 1 and len(first):
        return columns_of(np.frombuffer(b"".join(listed), dtype=np.uint8).reshape(len(listed), -1))
    if isinstance(first, np.ndarray) and first.size and len({np.shape(item) for item in listed}) == 1:
        return columns_of(np.stack(listed))
    if isinstance(first, (tuple, list)) and len(first) and len({len(item) for item in listed}) == 1:
        return [column for part in zip(*listed, strict=True) for column in columns_of(list(part))]
    return [np.array([digest(item) for item in listed], dtype=np.uint64)]  # text, or of varying length


def _plain(column: AnyArray) -> AnyArray:
    if column.dtype.kind == "f":
        return np.ascontiguousarray(column, dtype=np.float64)
    return np.ascontiguousarray(column, dtype=np.uint64 if column.dtype == np.uint64 else np.int64)


def _scalars(listed: list[Any]) -> AnyArray:
    try:
        array = np.asarray(listed)
    except (OverflowError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf":
        return _plain(array)
    return np.array([digest(item) for item in listed], dtype=np.uint64)


def digest(item: Any) -> int:
    """Return a 64-bit number of a report of any type; equal reports have equal numbers."""
    text = item.tobytes() if isinstance(item, np.ndarray) else repr(item).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def whole(columns: Sequence[AnyArray]) -> Words:
    """Return one 64-bit word for each whole report; equal reports have equal words."""
    word = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        word = (word ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        word ^= word >> np.uint64(29)
    return word


@dataclass(frozen=True)
class View:
    """A named way to look at reports: ``codes(columns)`` are whole numbers from 0 to size - 1."""

    name: str
    size: int
    codes: Callable[[Sequence[AnyArray]], Counts]


def _vocabulary(name: str, known: AnyArray, pick: Callable[[Sequence[AnyArray]], AnyArray]) -> View:
    """Return the view where each known value has its own code, and all others share one."""
    return View(name, len(known) + 1, lambda columns: _places(known, pick(columns)))


def _repeated(name: str, column: AnyArray, pick: Callable[[Sequence[AnyArray]], AnyArray]) -> list[View]:
    """Return the view of the values that were seen more than once: a plain leak among reports that never repeat."""
    values, counts = np.unique(column, return_counts=True)
    again = np.flatnonzero(counts > 1)
    kept = again[np.argsort(-counts[again], kind="stable")[:_MOST_REPEATED]]
    return [_vocabulary(name, values[np.sort(kept)], pick)] if len(kept) else []


def _edges(column: AnyArray, bins: int) -> AnyArray:
    return np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1], method="nearest"))


def trailing_zeros(column: Floats) -> Counts:
    """Return how many of the lowest bits of each float's significand are zero."""
    bits = column.view(np.uint64)
    significand = (bits & np.uint64((1 << 52) - 1)) | np.uint64(1 << 52)
    lowest = significand & (~significand + np.uint64(1))
    return np.bitwise_count(lowest - np.uint64(1)).astype(np.int64)


def _float_views(place: int, column: AnyArray) -> list[View]:
    fine, coarse = _edges(column, _BINS), _edges(column, _COARSE)
    where = f" of column {place}" if place else ""

    def zeros(columns: Sequence[AnyArray]) -> Counts:
        return np.minimum(trailing_zeros(columns[place]), _ZEROS)

    def binned(columns: Sequence[AnyArray], edges: AnyArray) -> Counts:
        return _bins(edges, columns[place])

    def exponent(columns: Sequence[AnyArray]) -> Counts:
        power = np.clip(np.frexp(columns[place])[1], -64, 63).astype(np.int64) + 64
        return np.asarray(power * 2 + (columns[place] < 0), dtype=np.int64)

    def low_bits(columns: Sequence[AnyArray]) -> Counts:
        return (columns[place].view(np.uint64) & np.uint64(7)).astype(np.int64)

    steps, cells = _ZEROS + 1, len(coarse) + 1
    return [
        View(f"value{where}", len(fine) + 1, lambda c: binned(c, fine)),
        View(f"value and trailing zero bits{where}", cells * steps, lambda c: binned(c, coarse) * steps + zeros(c)),
        View(f"magnitude and trailing zero bits{where}", 256 * steps, lambda c: exponent(c) * steps + zeros(c)),
        View(f"value and last three bits{where}", cells * 8, lambda c: binned(c, coarse) * 8 + low_bits(c)),
    ]


def common_views(columns: Sequence[AnyArray]) -> list[View]:
    """Return the views that do not depend on the pair of inputs, fitted to a first sample of all inputs."""
    found: list[View] = []
    for place in range(min(len(columns), 8)):  # of more columns, `evidence` sees the sum
        column = columns[place]
        where = f" of column {place}" if place else ""
        distinct = np.unique(column)
        if _is_small(distinct, column):
            found.append(_vocabulary(f"value{where}", distinct, itemgetter(place)))
        else:
            found += _repeated(f"value that repeats{where}", column, itemgetter(place))
        if column.dtype.kind != "f" and len(distinct) > 64:  # neighbours together: less noise than one by one
            edges = _edges(column, _BINS)
            found.append(View(f"value in bins{where}", len(edges) + 1, partial(_binned_column, place, edges)))
        if column.dtype.kind == "f" and np.isfinite(column).all() and len(distinct) > 64:
            found += _float_views(place, column)
    if len(columns) > 1:
        words = np.unique(whole(columns))
        if _is_small(words, columns[0]):
            found.append(_vocabulary("whole report", words, whole))
        else:
            found += _repeated("whole report that repeats", whole(columns), whole)
    part = rarest_part(columns)
    return [*found, part] if part is not None else found


def _is_small(distinct: AnyArray, column: AnyArray) -> bool:
    return len(distinct) <= min(MOST_VALUES, max(64, len(column) // 4))


def _binned_column(place: int, edges: AnyArray, columns: Sequence[AnyArray]) -> Counts:
    return _bins(edges, columns[place])


def _bins(edges: AnyArray, column: AnyArray) -> Counts:
    return np.searchsorted(edges, column, side="right").astype(np.int64)


def _places(known: AnyArray, column: AnyArray) -> Counts:
    place = np.minimum(np.searchsorted(known, column), len(known) - 1)
    return np.where(known[place] == column, place, len(known)).astype(np.int64)


def _bit(bit: int, column: AnyArray) -> Counts:
    return ((column.view(np.uint64) >> np.uint64(bit)) & np.uint64(1)).astype(np.int64)


# -- views of a pair -------------------------------------------------------------------------------------


def membership(first: Sequence[AnyArray], second: Sequence[AnyArray]) -> View | None:
    """Return the view 'was this very report seen from the first, from the second?', if reports repeat at all."""
    seen = [np.unique(whole(columns)) for columns in (first, second)]
    if all(len(words) > 0.98 * len(first[0]) for words in seen):
        return None

    def codes(columns: Sequence[AnyArray]) -> Counts:
        words = whole(columns)
        known = [(_places(set_, words) < len(set_)).astype(np.int64) for set_ in seen]
        return np.asarray(2 * known[0] + known[1], dtype=np.int64)

    return View("reports that were seen before", 4, codes)


def _features(columns: Sequence[AnyArray]) -> list[tuple[int, int, Callable[[AnyArray], Counts]]]:
    """Return (column, size, codes) of small features: values, bins, or the bits of wide integers."""
    found: list[tuple[int, int, Callable[[AnyArray], Counts]]] = []
    for place, column in enumerate(columns):
        distinct = np.unique(column[:: max(1, len(column) // 20_000)])
        if len(distinct) <= 64:
            found.append((place, len(distinct) + 1, partial(_places, distinct)))
        elif column.dtype.kind == "f":
            edges = _edges(column, 64)
            found.append((place, len(edges) + 1, partial(_bins, edges)))
        else:
            used = int(np.bitwise_or.reduce(column.view(np.uint64)))
            found += [(place, 2, partial(_bit, bit)) for bit in range(64) if used >> bit & 1]
    return found


def rarest_part(columns: Sequence[AnyArray]) -> View | None:
    """Return the view 'which is the rarest value of a column, or bit, that this report has?'.

    A bit that should be constant is rare when it leaks, however many other bits there are.
    """
    parts, shares = [], []
    for place, size, code in _features(columns):
        counts = np.bincount(code(columns[place]), minlength=size)
        for value in np.flatnonzero((counts > 0) & (counts < _RARE * len(columns[place]))):
            parts.append((place, code, value))
            shares.append(counts[value])
    if not parts:
        return None
    order = np.argsort(-np.array(shares), kind="stable")  # the rarest last, so that it has the last word
    ranked = [parts[i] for i in order]

    def codes(columns: Sequence[AnyArray]) -> Counts:
        found = np.zeros(len(columns[0]), dtype=np.int64)
        for rank, (place, code, value) in enumerate(ranked, start=1):
            found[code(columns[place]) == value] = rank
        return found

    return View("rarest part", len(ranked) + 1, codes)


def differences(first: Sequence[AnyArray], second: Sequence[AnyArray]) -> list[AnyArray]:
    """Return columns that show what two reports have in common: equal words or equal noise cancel out."""
    if first[0].dtype.kind == "f" and len(first) == 1:
        return [np.round(first[0] - second[0], 9)]
    words = [(a.view(np.uint64), b.view(np.uint64)) for a, b in zip(first, second, strict=True)]
    return [whole([a ^ b for a, b in words]), whole([a - b for a, b in words])]


def evidence(first: Sequence[AnyArray], second: Sequence[AnyArray]) -> View | None:
    """Return the sum of log-likelihood ratios over columns and bits that tell the two inputs apart, in bins."""
    both = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
    n, kept = len(first[0]), []
    for place, size, code in _features(both):
        counts = [np.bincount(code(columns[place]), minlength=size) for columns in (first, second)]
        p, q = ((count + 0.5) / (n + 1) for count in counts)
        z = np.abs(p - q) / np.sqrt((p * (1 - p) + q * (1 - q)) / n)
        if z.max() > _SIGNIFICANT:
            kept.append((place, code, np.log(p / q)))
    if len(kept) < 2:
        return None

    def score(columns: Sequence[AnyArray]) -> Floats:
        total = np.zeros(len(columns[0]))
        for place, code, weight in kept:
            total += weight[code(columns[place])]
        return np.round(total, 9)

    edges = _edges(np.concatenate([score(first), score(second)]), _BINS)
    return View(
        f"evidence of {len(kept)} columns or bits",
        len(edges) + 1,
        lambda columns: _bins(edges, score(columns)),
    )
