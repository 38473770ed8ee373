"""Empirical audit: a lower bound on epsilon, proven from samples alone.

Two inputs, many reports of each. Some reports choose the event that tells the inputs apart best: a level set of the
likelihood ratio. Fresh ones measure it: a fair coin says for every report which input it is of, so that each occurrence
of the event is the first input's with probability p / (p + q), whatever else happens; the Clopper-Pearson bound of that
proportion bounds p / q, and the true epsilon is at least its logarithm with probability ``confidence``. An audit can
refute a claim; only a certificate can prove one.
"""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.privacy import views
from discreet.privacy.entropy import Entropy, system_entropy

CONFIDENCE = 0.9999


@dataclass(frozen=True)
class Audit:
    """Result of an audit: ``epsilon`` is a lower bound that holds with probability ``confidence``."""

    epsilon: float
    confidence: float
    samples: int
    pair: tuple[Any, Any]

    def refutes(self, claim: float) -> bool:
        """Whether the samples prove that ``claim`` is false."""
        return self.epsilon > claim


def clopper_pearson(hits: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact two-sided interval for a probability of which ``hits`` of ``n`` were seen.

    Examples
    --------
    >>> low, high = clopper_pearson(50, 100, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.3983, 0.6017)
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def lower_bound(first: int, second: int, n: int, confidence: float = CONFIDENCE) -> float:
    """Return the proven lower bound on epsilon when an event came ``first`` and ``second`` times in n reports each."""
    low = clopper_pearson(first, n, confidence)[0]
    high = clopper_pearson(second, n, confidence)[1]
    return math.log(low / high) if low > 0 else -math.inf


def ratio_bound(first: int, second: int, confidence: float = CONFIDENCE) -> float:
    """Return the proven lower bound on epsilon when an event came so often from inputs that a fair coin chose.

    Tighter than `lower_bound`, which needs two intervals for as many reports of each input.

    Examples
    --------
    >>> round(ratio_bound(278_122, 168_763), 4), round(lower_bound(278_122, 168_763, 1_000_000), 4)
    (0.4881, 0.4847)
    """
    from scipy.special import betaincinv

    share = float(betaincinv(first, second + 1, 1 - confidence)) if first else 0.0
    return math.log(share / (1 - share)) if share > 0 else -math.inf


def best_event(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the set of reports that separates two histograms best: a level set of their likelihood ratio.

    The histograms may be counts of a first sample, or the expected counts of a known law.
    """
    score = np.log((first + 0.5) / (second + 0.5))
    order = np.argsort(-score, kind="stable")
    hits, misses = np.cumsum(first[order]), np.cumsum(second[order])
    n = max(float(first.sum()), 1.0)
    # A normal approximation of the bound is enough to choose; fresh samples measure.
    p, q = (hits + 0.5) / (n + 1), (misses + 0.5) / (n + 1)
    approximate = np.log(p / q) - 4 * np.sqrt((1 - p) / (p * n) + (1 - q) / (q * n))
    return np.sort(order[: int(np.argmax(approximate)) + 1])


def audit_event(
    draw: Callable[[float], tuple[int, int]], pair: tuple[float, float], confidence: float = CONFIDENCE
) -> Audit:
    """Audit one pair of inputs with a fixed event; ``draw(x)`` returns (hits, reports) of fresh reports of x."""
    (first, n), (second, _) = draw(pair[0]), draw(pair[1])
    return Audit(lower_bound(first, second, n, confidence), confidence, 2 * n, pair)


# -- any randomiser ---------------------------------------------------------------------------------------

Randomiser = Callable[..., Any]
DEFAULT_INPUTS: tuple[Any, ...] = (0.0, 0.01, 0.3, 0.7, 0.99, 1.0)
"""In [0, 1] and in [-1, 1]; near the ends too, where tails go wrong."""
_FINALISTS = 6
_CHUNK = 1 << 17
_SIGMAS = 3.7
_LUCK = 2.0
_MOST_CELLS = 30_000_000


@dataclass(frozen=True)
class RandomiserAudit(Audit):
    """What an audit of any randomiser found.

    Attributes
    ----------
    claim : float
        What the randomiser is said to keep.
    view : str
        What was looked at in the reports.
    hits : (int, int)
        How often the event came from each input of the pair.
    n : (int, int)
        How many fresh reports of each there were.
    tried : int
        How many pairs and views were searched.
    """

    claim: float
    view: str
    hits: tuple[int, int]
    n: tuple[int, int]
    tried: int
    seconds: float

    @property
    def is_refuted(self) -> bool:
        """Whether the claim is proven false."""
        return self.refutes(self.claim)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "claim": self.claim,
            "epsilon_at_least": self.epsilon if math.isfinite(self.epsilon) else None,
            "refuted": self.is_refuted,
            "confidence": self.confidence,
            "pair": [_json_ready(x) for x in self.pair],
            "view": self.view,
            "hits": list(self.hits),
            "n": list(self.n),
            "samples": self.samples,
            "tried": self.tried,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        verdict = "REFUTED" if self.is_refuted else "not refuted"
        return (
            f"epsilon is at least {max(self.epsilon, 0.0):.4f} (confidence {self.confidence:.2%}); the claim "
            f"{self.claim:g} is {verdict}: by {self.view}, an event came {self.hits[0]} times in {self.n[0]} reports "
            f"of {self.pair[0]} and {self.hits[1]} times in {self.n[1]} reports of {self.pair[1]}"
        )


def _json_ready(x: Any) -> Any:
    x = x.item() if isinstance(x, np.generic) else x
    return list(x) if isinstance(x, tuple) else x if isinstance(x, (int, float, str, bool, list)) else repr(x)


class _Subject:
    """Draws reports of a randomiser and keeps the time."""

    def __init__(self, randomiser: Randomiser, batch: bool, calls: int, fresh: bool) -> None:
        self._randomiser, self._batch, self._calls, self._fresh = randomiser, batch, calls, fresh
        self.drawn, self.seconds = 0, 0.0

    def reports(self, x: Any, n: int) -> Any:
        start = time.perf_counter()
        try:
            found = self._draw(x, n)
        except DiscreetError:
            raise
        except Exception as error:
            raise DiscreetError(
                f"the randomiser failed on input {x!r} ({type(error).__name__}: {error}); name inputs that it takes"
            ) from error
        self.drawn += n * self._calls
        self.seconds += time.perf_counter() - start
        return found

    def _draw(self, x: Any, n: int) -> Any:
        if self._batch and self._calls == 1:
            found = self._randomiser(np.full(n, x) if np.ndim(x) == 0 else np.tile(np.asarray(x), (n, 1)))
            if len(found) != n:
                raise DiscreetError(f"the randomiser gave {len(found)} reports for {n} inputs; is it for batches?")
            return found
        if self._calls == 1 and not self._fresh:
            return [self._randomiser(x) for _ in range(n)]
        people = (self._randomiser() if self._fresh else self._randomiser for _ in range(n))
        return [tuple(person(x) for _ in range(self._calls)) for person in people]


def audit_randomiser(
    randomiser: Randomiser,
    claim: float,
    inputs: Sequence[Any] = DEFAULT_INPUTS,
    *,
    samples: int = 1_000_000,
    batch: bool = False,
    calls: int = 1,
    fresh: bool = False,
    confidence: float = CONFIDENCE,
    seconds: float = 45.0,
    entropy: Entropy | None = None,
    extra: Callable[[Any, Any, Any], npt.NDArray[Any]] | None = None,
) -> RandomiserAudit:
    """Search inputs and events for the largest epsilon that samples of a randomiser prove.

    Parameters
    ----------
    randomiser : callable
        ``randomiser(x) -> report``: a number, text, bytes, or a tuple or array of those.
    claim : float
        The epsilon that it is said to keep.
    inputs : sequence
        Inputs to compare, every pair of them.
    samples : int
        Fresh reports of each input of the chosen pair, on average: of all of them together, a fair coin says which
        input each is of. Fewer if ``seconds`` do not suffice.
    batch : bool
        Whether the randomiser takes an array of inputs and returns as many independent reports.
    calls : int
        How often each person is asked; their answers are judged together (for claims that survive repetition).
    fresh : bool
        Whether ``randomiser()`` makes a new person's randomiser (for permanent answers).
    confidence : float
        Probability with which the bound holds.
    entropy : Entropy, optional
        Of the coin; a seeded one is for simulation.
    extra : callable, optional
        ``extra(reports, x, x')`` gives small whole numbers: a view that only the author of a mechanism can know.

    Returns
    -------
    RandomiserAudit

    Examples
    --------
    >>> import discreet as dc
    >>> honest = dc.mechanism("randomized-response", epsilon=1, size=3)
    >>> found = audit_randomiser(honest.privatize, 1.0, [0, 1, 2], samples=20_000, batch=True)
    >>> found.is_refuted, found.epsilon > 0.8
    (False, True)
    >>> audit_randomiser(lambda x: round(x), 1.0, [0.0, 1.0], samples=2000).is_refuted
    True
    """
    started = time.perf_counter()
    if isinstance(claim, bool) or not isinstance(claim, (int, float)) or not claim >= 0:
        raise DiscreetError(f"claim is {claim!r}; allowed is a number from 0")
    if len(inputs) < 2:
        raise DiscreetError("inputs has fewer than two entries; an audit compares two")
    if samples < 100 or calls < 1:
        raise DiscreetError(f"samples is {samples} and calls is {calls}; at least 100 and 1 are needed")
    if batch and (calls > 1 or fresh):
        raise DiscreetError("batch is for single answers; ask persons one by one with calls")
    subject = _Subject(randomiser, batch, calls, fresh)
    search = _Search(subject, list(inputs), extra, confidence, max(100, samples // calls))
    coin = entropy or system_entropy()
    subject.reports(inputs[0], 20)  # imports, compilation
    subject.drawn, subject.seconds = 0, 0.0
    first = max(50, min(2000, samples // 10) // calls)
    search.explore(first)
    affordable = seconds * subject.drawn / calls / max(subject.seconds, 1e-9)
    n = int(max(100, min(samples // calls if calls > 1 else samples, affordable * 0.5 / 2)))
    wider = int(min(max(first, n // 20), 50_000, max(first, affordable * 0.2 / len(inputs))))
    if wider > 2 * first:
        search.explore(wider)
    search.refine(int(max(first, min(n // 2, affordable * 0.3 / (2 * _FINALISTS)))))
    return search.measure(_tosses(coin, 2 * n), claim, started)


def audit_mechanism(
    mechanism: Any, claim: float | None = None, *, points: int = 5, entropy: Entropy | None = None, **options: Any
) -> RandomiserAudit:
    """Audit one of our mechanisms by its samples alone; ``options`` as in `audit_randomiser`.

    Parameters
    ----------
    mechanism : Mechanism
        Its own inputs are compared: ends, middle and some between.
    claim : float, optional
        What it claims itself, unless given.
    points : int
        How many inputs.
    entropy : Entropy, optional
        Of the reports; a seeded one makes the audit repeatable.

    Examples
    --------
    >>> import discreet as dc
    >>> audit_mechanism(dc.mechanism("duchi", epsilon=1), samples=20_000).is_refuted
    False
    """
    size = len(mechanism.inputs)
    places = np.unique(np.linspace(0, size - 1, min(points, size)).round().astype(int))
    inputs = [mechanism.inputs[i].item() for i in places]
    family = getattr(mechanism, "family", None)

    def supported(reports: Any, a: Any, b: Any) -> npt.NDArray[Any]:
        # A hash function per report: only its author can tell which values a report speaks for.
        seeds, buckets = np.divmod(np.asarray(reports).astype(np.uint64), np.uint64(family.buckets))  # type: ignore[union-attr]
        told = [buckets == family.bucket_many(np.full(len(seeds), x), seeds).astype(np.uint64) for x in (a, b)]  # type: ignore[union-attr]
        return np.asarray(2 * told[0].astype(np.int64) + told[1])

    hashed = family is not None and np.asarray(mechanism.privatize(inputs[:1])).ndim == 1
    stated = mechanism.epsilon if claim is None else claim
    return audit_randomiser(
        lambda x: mechanism.privatize(x, entropy),
        stated,
        inputs,
        batch=True,
        entropy=entropy,
        extra=supported if hashed else None,
        **options,
    )


class _Search:
    """From all pairs and views to one event: explore, refine, measure; always on fresh reports."""

    def __init__(self, subject: _Subject, inputs: list[Any], extra: Any, confidence: float, samples: int) -> None:
        self._subject, self._inputs, self._extra = subject, inputs, extra
        self._confidence, self._samples = confidence, samples
        self._ranked: list[tuple[float, int, int, str]] = []
        self._views: list[views.View] = []
        self.tried = 0

    def explore(self, n: int) -> None:
        """Rank all ordered pairs and views by the bound they promise."""
        raw = [self._subject.reports(x, n) for x in self._inputs]
        tables = [views.columns_of(reports) for reports in raw]
        if len({len(table) for table in tables}) != 1:  # lengths differ by input: compare whole reports
            tables = [[np.array([views._digest(item) for item in reports], dtype=np.uint64)] for reports in raw]
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

    def _codes_of(self, view: views.View, pair: Any, raw: Any, tables: Any) -> list[views.Codes]:
        if view.name == "the author's event":
            a, b = (self._inputs[k] for k in pair)
            return [np.asarray(self._extra(reports, a, b)).astype(np.int64) for reports in raw]
        return [view.codes(table) for table in tables]

    def _rank(self, i: int, j: int, view: views.View, first: views.Codes, second: views.Codes) -> float:
        """Choose the event with one half, predict the bound with the other."""
        _, bound = _choose(view.size, first, second, self._samples)
        self._ranked.append((bound, i, j, view.name))
        return bound

    def refine(self, n: int) -> None:
        """Fit the finalists again to more reports and keep the best."""
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
            raise DiscreetError("no event could be found; give more samples or other inputs")
        self._best = best[1]

    def _capped(self, n: int) -> int:
        width = len(views.columns_of(self._subject.reports(self._inputs[0], 2)))
        return max(200, min(n, _MOST_CELLS // width))

    def measure(self, n: tuple[int, int], claim: float, started: float) -> RandomiserAudit:
        """Count the event in fresh reports, n[0] of one input and n[1] of the other."""
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
        return RandomiserAudit(
            ratio_bound(hits[0], hits[1], self._confidence),
            self._confidence,
            self._subject.drawn,
            (self._inputs[i], self._inputs[j]),
            float(claim),
            view.name,
            (hits[0], hits[1]),
            n,
            self.tried,
            time.perf_counter() - started,
        )


def _tosses(coin: Entropy, count: int) -> tuple[int, int]:
    """Return the heads and tails of ``count`` tosses of a fair coin."""
    words = coin.words(-(-count // 64)).copy()
    words[-1] >>= np.uint64(-count % 64)
    heads = int(np.bitwise_count(words).sum())
    return heads, count - heads


def _same(name: str, other: str) -> bool:
    return name.split(" of ")[0] == other.split(" of ")[0]


def _diverse(ranked: list[tuple[float, int, int, str]]) -> list[tuple[float, int, int, str]]:
    """Return the best candidates, at most three of the same view."""
    chosen: list[tuple[float, int, int, str]] = []
    for item in ranked:
        if sum(_same(item[3], other[3]) for other in chosen) < 3:
            chosen.append(item)
        if len(chosen) == _FINALISTS:
            break
    return chosen


def _choose(size: int, first: views.Codes, second: views.Codes, n: int) -> tuple[npt.NDArray[np.bool_], float]:
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
