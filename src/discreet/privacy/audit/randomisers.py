"""Audits of any randomiser, and of our mechanisms, by their samples alone."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.errors import DiscreetError
from discreet.privacy.audit.bounds import CONFIDENCE, Audit, ratio_bound
from discreet.privacy.audit.search import Extra, Search
from discreet.privacy.audit.subjects import Randomiser, Setting, Subject
from discreet.privacy.entropy import Entropy, system_entropy

DEFAULT_INPUTS: tuple[Any, ...] = (0.0, 0.01, 0.3, 0.7, 0.99, 1.0)
"""Inputs that lie in [0, 1] and in [-1, 1], some near the ends, where tails are often wrong."""
SAMPLES = 1_000_000
"""Fresh reports of each input of the chosen pair, unless given."""
SECONDS = 45.0
"""An audit takes about this long at most, unless given."""
BATCH_SIZES = (1, 2, 10, 100, 1000)
"""Sizes of small batches that are tried beside large ones, unless given."""
_EXPLORING = 0.2
"""Share of the time for ranking the candidates."""
_MOST_EXPLORED = 100_000
"""Most reports of each input in each setting that rank the candidates."""


@dataclass(frozen=True)
class RandomiserAudit(Audit):
    """What an audit of any randomiser found.

    Attributes
    ----------
    claim : float
        The epsilon that the randomiser is said to keep.
    view : str
        What was looked at in the reports, and how they were drawn.
    hits : (int, int)
        How often the event was seen from each input of the pair.
    n : (int, int)
        Number of fresh reports of each input.
    tried : int
        Number of settings, pairs and views that were searched.
    seconds : float
        Time that the audit took.
    """

    claim: float
    view: str
    hits: tuple[int, int]
    n: tuple[int, int]
    tried: int
    seconds: float

    @property
    def is_refuted(self) -> bool:
        """Whether the claim is proven to be false."""
        return self.refutes(self.claim)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as values ready for JSON."""
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
            f"{self.claim:g} is {verdict}: by {self.view}, an event was seen {self.hits[0]} times in {self.n[0]} "
            "reports "
            f"of {self.pair[0]} and {self.hits[1]} times in {self.n[1]} reports of {self.pair[1]}"
        )


def _json_ready(x: Any) -> Any:
    x = x.item() if isinstance(x, np.generic) else x
    return list(x) if isinstance(x, tuple) else x if isinstance(x, (int, float, str, bool, list)) else repr(x)


def audit_randomiser(
    randomiser: Randomiser,
    claim: float,
    inputs: Sequence[Any] = DEFAULT_INPUTS,
    *,
    samples: int = SAMPLES,
    batch: bool = False,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    calls: int = 1,
    fresh: bool = False,
    confidence: float = CONFIDENCE,
    seconds: float = SECONDS,
    entropy: Entropy | None = None,
    extra: Extra | None = None,
) -> RandomiserAudit:
    """Search inputs and events for the largest epsilon that samples of a randomiser prove.

    Parameters
    ----------
    randomiser : callable
        ``randomiser(x) -> report``: a number, text, bytes, or a tuple or array of those.
    claim : float
        The epsilon that it is said to keep.
    inputs : sequence
        Inputs to compare, each with every other.
    samples : int
        Number of fresh reports of each input of the chosen pair, on average: a fair coin decides which input each
        report is of. Fewer if ``seconds`` do not suffice.
    batch : bool
        Whether the randomiser takes an array of inputs and returns as many independent reports.
    batch_sizes : sequence of int
        With ``batch``: small batches of these sizes are tried too, because a fault may show in those only.
    calls : int
        How often each person is asked; their answers are judged together (for claims that survive repetition).
    fresh : bool
        Whether ``randomiser()`` makes a new person's randomiser (for permanent answers).
    confidence : float
        Probability with which the bound holds.
    seconds : float
        About how long the audit may take.
    entropy : Entropy, optional
        Source of the coin; a seeded one is for simulation.
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
        raise DiscreetError(f"claim must be a number of at least 0, not {claim!r}")
    if len(inputs) < 2:
        raise DiscreetError("inputs must have at least two entries, because an audit compares two")
    if samples < 100 or calls < 1:
        raise DiscreetError(f"samples must be at least 100 and calls at least 1, not {samples} and {calls}")
    if batch and (calls > 1 or fresh):
        raise DiscreetError("batch cannot be combined with calls or fresh: it is for single answers")
    subject = Subject(randomiser, inputs[0], batch, calls, fresh)
    settings = subject.settings(batch_sizes)
    wanted = max(100, samples // calls)
    first = max(50, min(2000, samples // 10) // calls)
    for setting in settings:
        subject.reports(inputs[0], 20, setting)  # so that imports and compilation are not timed
        subject.forget(setting)
        subject.reports(inputs[0], first // 4, setting)

    def affordable(share: float, setting: Setting) -> int:
        """Return how many reports fit into a share of the time."""
        return int(share * seconds * subject.speed(setting))

    search = Search(subject, list(inputs), extra, wanted)
    explored = min(max(first, wanted // 10), _MOST_EXPLORED)
    for setting in settings:
        share = _EXPLORING / len(settings) / len(inputs)
        search.explore(setting, max(min(first, 200), min(explored, affordable(share, setting))))
    search.refine(affordable)
    n = search.counted(affordable, search.setting)
    reports = tosses(entropy or system_entropy(), 2 * n)
    hits = search.count(reports)
    return RandomiserAudit(
        ratio_bound(*hits, confidence),
        confidence,
        subject.drawn,
        search.pair,
        float(claim),
        search.view,
        hits,
        reports,
        search.tried,
        time.perf_counter() - started,
    )


def audit_mechanism(
    mechanism: Any,
    claim: float | None = None,
    *,
    points: int = 5,
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seconds: float = SECONDS,
    entropy: Entropy | None = None,
) -> RandomiserAudit:
    """Audit one of our mechanisms by its samples alone.

    Parameters
    ----------
    mechanism : Mechanism
        Some of its own inputs are compared: the ends, the middle and some between.
    claim : float, optional
        The epsilon that it claims itself, unless given.
    points : int
        Number of inputs to compare.
    samples, confidence, seconds
        As in `audit_randomiser`.
    entropy : Entropy, optional
        Source of the reports; a seeded one makes the audit repeatable.

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

    def supported(reports: Any, a: Any, b: Any) -> AnyArray:
        # Each report has its own hash function: only its author can tell which values a report supports.
        seeds, buckets = np.divmod(np.asarray(reports).astype(np.uint64), np.uint64(family.buckets))  # type: ignore[union-attr]
        told = [buckets == family.bucket_many(np.full(len(seeds), x), seeds).astype(np.uint64) for x in (a, b)]  # type: ignore[union-attr]
        return np.asarray(2 * told[0].astype(np.int64) + told[1])

    hashed = family is not None and np.asarray(mechanism.privatize(inputs[:1])).ndim == 1
    stated = mechanism.epsilon if claim is None else claim
    return audit_randomiser(
        lambda x: mechanism.privatize(x, entropy),
        stated,
        inputs,
        samples=samples,
        batch=True,
        confidence=confidence,
        seconds=seconds,
        entropy=entropy,
        extra=supported if hashed else None,
    )


def tosses(coin: Entropy, count: int) -> tuple[int, int]:
    """Return the number of heads and tails in ``count`` tosses of a fair coin."""
    words = coin.words(-(-count // 64)).copy()
    words[-1] >>= np.uint64(-count % 64)
    heads = int(np.bitwise_count(words).sum())
    return heads, count - heads
