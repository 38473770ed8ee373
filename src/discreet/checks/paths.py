"""The check that all samplers of a mechanism agree: one report, one from stock, a plain batch and a compiled batch.

A fault that strikes once in a thousand reports needs many reports to be seen, and a fault at the end of a range may
need one particular word. So at least `ROWS` reports are compared, as far as the time allows, and rows of *edge words*:
the smallest and largest words, and the neighbours of every whole number that the mechanism stores as a threshold.
"""

import time
from collections.abc import Iterator
from itertools import accumulate, cycle
from typing import Any

import numpy as np

from discreet import compiling
from discreet.arrays import AnyArray, Words
from discreet.checks.base import is_listable, require, some_inputs
from discreet.domains import OUTSIDE
from discreet.extras import has
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.privacy.entropy import Entropy

ROWS = 1 << 17
"""Number of reports that are compared on each path, if the time allows."""
_LEAST = 1 << 12
"""Number of reports that are compared however slow a path is."""
_SECONDS = 2.0
"""About how much processor time the reports of one path may take."""
_MOST_EDGES = 300
"""Most edge words; of more thresholds, some are taken evenly."""
_SAMPLED = 64
"""Most thresholds that are taken from one list."""


class Scripted(Entropy):
    """A source that gives the words it was told to: one sampler after the other draws the same ones."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._script, self._place = words.astype("<u8").tobytes(), 0

    def read(self, count: int) -> bytes:
        """Return the next bytes of the script."""
        self._place += count
        return self._script[self._place - count : self._place]


def check_paths_agree(mechanism: Mechanism, seed: int) -> int:
    """Check that all samplers give the same reports for the same words; return how many reports were compared.

    The number is smaller than `ROWS` where the plain sampler is slow; edge words are always compared.
    """
    inputs, words = edge_rows(mechanism, seed)
    _compare(mechanism, inputs, words, len(inputs))
    inputs = some_inputs(mechanism, ROWS)
    words = Entropy.seeded(seed).words(ROWS * mechanism.words_per_report)
    return _compare(mechanism, inputs, words, _LEAST)


def _compare(mechanism: Mechanism, inputs: AnyArray, words: Words, least: int) -> int:
    """Compare the paths on at least so many rows, and on as many more as the time allows."""
    width = mechanism.words_per_report
    singles, started = [], time.process_time()
    source = Scripted(words)
    for x in inputs.tolist():
        singles.append(mechanism.privatize(x, source))
        if len(singles) >= least and time.process_time() - started > _SECONDS:
            break
    single = np.array(singles)
    started = time.process_time()
    with compiling.using(compiled=False):
        plain = mechanism.privatize(inputs[:least], Scripted(words))
        seconds = (time.process_time() - started) / len(plain)
        rows = int(np.clip(_SECONDS / max(seconds, 1e-9), least, len(inputs)))
        plain = mechanism.privatize(inputs[:rows], Scripted(words[: rows * width]))
    _require_equal(mechanism, "single reports", single, "a batch", plain)
    _require_equal(mechanism, "single reports", single, "reports from stock", _from_stock(mechanism, inputs, words))
    if has("numba"):
        with compiling.using(compiled=True):
            compiled = mechanism.privatize(inputs[:rows], Scripted(words[: rows * width]))
        _require_equal(mechanism, "single reports", single, "a compiled batch", compiled)
        _require_equal(mechanism, "a plain batch", plain, "a compiled batch", compiled)
    return rows


def _from_stock(mechanism: Mechanism, inputs: AnyArray, words: Words) -> AnyArray:
    """Return the reports of `Mechanism.one`, whose stock is made of these words."""
    rows = min(len(inputs), _LEAST)
    stock = mechanism._stock
    stock.left[:] = mechanism._prepare(words[: rows * mechanism.words_per_report])[::-1]
    try:
        reports = [mechanism.one(x) for x in inputs[:rows].tolist()]
        require(not stock.left, mechanism, "one(x) must use up exactly one draw")
    finally:
        stock.forget()
    return np.array(reports)


def _require_equal(mechanism: Mechanism, one: str, first: AnyArray, other: str, second: AnyArray) -> None:
    rows = min(len(first), len(second))
    differ = (first[:rows] != second[:rows]).reshape(rows, -1).any(axis=1)
    require(
        not differ.any(),
        mechanism,
        f"{one} and {other} are different reports in {int(differ.sum())} of {rows} rows, first in row "
        f"{int(np.argmax(differ))}",
    )


# -- edges ------------------------------------------------------------------------------------------------


def edge_rows(mechanism: Mechanism, seed: int) -> tuple[AnyArray, Words]:
    """Return inputs and their words, where one word of each row, or all of them, are edge words."""
    width, edges = mechanism.words_per_report, edge_words(mechanism)
    places = sorted({*range(min(width, 4)), width - 1})
    given = cycle(_edge_inputs(mechanism))
    inputs, rows = [], []
    for place in [*places, None]:
        for edge in edges:
            inputs.append(next(given))
            rows.append((place, edge))
    words = Entropy.seeded(seed, stream=1).words(len(rows) * width).reshape(len(rows), width).copy()
    for i, (place, edge) in enumerate(rows):
        words[i, slice(None) if place is None else place] = edge
    return np.array(inputs), words.reshape(-1)


def edge_words(mechanism: Mechanism) -> list[int]:
    """Return the ends of the range of words, and words beside the thresholds of a mechanism."""
    fixed = {0, 1, (1 << 16) - 1, 1 << 16, (1 << 63) - 1, 1 << 63, (1 << 64) - (1 << 16), (1 << 64) - 1}
    thresholds = set()
    for number in {*_stored(mechanism), *_cumulative(mechanism)}:
        thresholds |= {number, number << 16}  # compared with whole words, or with their upper 48 bits
    for bound in (mechanism.size, mechanism.alphabet):
        thresholds |= {-(-(k << 64) // bound) for k in (1, 2, bound // 2, bound - 1)}
    beside = sorted({t + step for t in thresholds for step in (-1, 0, 1)} - fixed)
    beside = [word for word in beside if 0 <= word < 1 << 64]
    step = max(1, -(-len(beside) // _MOST_EDGES))
    return sorted(fixed) + beside[::step]


def _edge_inputs(mechanism: Mechanism) -> list[Any]:
    if not isinstance(mechanism, Numeric):
        return sorted({0, 1, mechanism.size // 2, mechanism.size - 2, mechanism.size - 1})
    knots = [k for k in _some(mechanism.inputs.tolist()) if -1 <= k <= 1]
    beside = {float(np.nextafter(k, end)) for k in knots for end in (-1.0, 1.0)}
    outside = {OUTSIDE} if isinstance(mechanism, Ranged) else set()
    return sorted({-1.0, 0.0, 1.0, *knots, *beside, *outside})


def _some(items: list[Any]) -> list[Any]:
    return items[:: max(1, -(-len(items) // _SAMPLED))] + items[-1:]


def _cumulative(mechanism: Mechanism) -> Iterator[int]:
    """Yield where the law of some inputs passes from one report to the next, in units of 2^-48."""
    if is_listable(mechanism):
        for index in {0, mechanism.size // 2, mechanism.size - 1}:
            yield from (int(p * (1 << 48)) for p in _some(list(accumulate(mechanism.law(index)))))


def _stored(thing: Any) -> Iterator[int]:
    """Yield the whole numbers that a mechanism stores, in its parts too."""
    if isinstance(thing, Mechanism):
        thing = list(thing.__getstate__().values())  # without its stock of draws
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "iu":
        thing = thing.reshape(-1).tolist()
    if isinstance(thing, (list, tuple)):
        for item in _some(list(thing)):
            yield from _stored(item)
    elif isinstance(thing, int) and not isinstance(thing, bool) and 1 < thing < 1 << 64:
        yield thing
