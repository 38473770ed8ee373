"""A zoo of planted leaks: honest randomisers at epsilon 1 that leak with a chosen probability, each in its own way.

``python -m tests.privacy.zoo`` prints the power table of docs/audit.md: what an audit proves for each kind and
probability.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import discreet as dc
from discreet.privacy.audit import audit_randomiser

CLAIM = 1.0
SIZE = 4
RATES = (1e-2, 1e-3, 3e-4, 1e-4)


@dataclass(frozen=True)
class Kind:
    """A kind of leak: ``make(rate, random)`` returns a randomiser that leaks with that probability."""

    name: str
    make: Callable[[float, np.random.Generator], Any]
    inputs: list[Any]
    options: dict[str, Any] = field(default_factory=lambda: {"batch": True})

    def audit(self, rate: float, samples: int, seed: int = 1, **options: Any) -> Any:
        random = np.random.default_rng([seed, round(1e9 * rate)])
        source = dc.Entropy.seeded(seed)
        given = self.options | options
        return audit_randomiser(self.make(rate, random), CLAIM, self.inputs, samples=samples, entropy=source, **given)


def response(x, random, size=SIZE, epsilon=CLAIM):
    """Randomised response among ``size`` categories."""
    keep = random.random(len(x)) < (math.exp(epsilon) - 1) / (math.exp(epsilon) + size - 1)
    return np.where(keep, x, random.integers(0, size, len(x)))


def plain_value(rate, random):
    """Now and then the value itself is sent, marked as such."""
    return lambda x: np.where(random.random(len(x)) < rate, SIZE + x, response(x, random))


def one_input(rate, random):
    """The same, for one value only."""
    return lambda x: np.where((random.random(len(x)) < rate) & (x == 2), SIZE, response(x, random))


def one_batch_size(rate, random):
    """The same, in batches of exactly 100 only."""
    leaky = plain_value(rate, random)
    return lambda x: leaky(x) if len(x) == 100 else response(x, random)


def every_so_often(rate, random):
    """The same, in every so many-th report of a process."""
    sent = 0

    def privatize(x):
        nonlocal sent
        places = sent + np.arange(len(x))
        sent += len(x)
        return np.where((places + 1) % round(1 / rate) == 0, SIZE + x, response(x, random)) if rate else plain(x)

    def plain(x):
        return response(x, random)

    return privatize


def one_bit(rate, random):
    """A padding bit of a bit vector, which should be 0, tells one category."""
    unary = dc.mechanism("optimized-unary", CLAIM, size=40)

    def privatize(x):
        reports = unary.privatize(x)
        leaks = (random.random(len(x)) < rate) & (x == 39)
        reports[leaks, 0] |= np.uint64(1 << 63)
        return reports

    return privatize


def one_column(rate, random):
    """One of twelve answers, which share one epsilon, is plain."""

    def privatize(x):
        columns = np.stack([response(x, random, epsilon=CLAIM / 12) for _ in range(12)], axis=1)
        leaks = random.random(len(x)) < rate
        columns[leaks, 7] = SIZE + x[leaks]
        return columns

    return privatize


def correlated_words(rate, random):
    """Now and then a bit vector is drawn with the words of the one before it."""
    p, q = 0.5, 1 / (math.exp(CLAIM) + 1)
    powers = np.uint64(1) << np.arange(40, dtype=np.uint64)

    def privatize(x):
        words = random.random((len(x), 40))
        again = np.flatnonzero(random.random(len(x)) < rate)
        words[again] = words[again - 1]
        bits = words < np.where(np.arange(40) == np.asarray(x)[:, None], p, q)
        return (bits * powers).sum(axis=1, dtype=np.uint64)

    return privatize


def public_coin(rate, random):
    """Now and then the public choice of a hash function depends on the category."""
    hashing = dc.mechanism("local-hashing", CLAIM, size=50)

    def privatize(x):
        coins = random.integers(0, 2**64, len(x), dtype=np.uint64)
        chosen = np.asarray(x).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return hashing.privatize(x, public=np.where(random.random(len(x)) < rate, chosen, coins))

    return privatize


def repeated_noise(rate, random):
    """Now and then a number's noise is that of the number before: a generator that was copied, or forked."""
    pool, last = iter(()), 0

    def refill():
        size = 1 << 16
        noise = np.round(random.laplace(0, 1e6 / CLAIM, size)).astype(np.int64).tolist()
        return iter(zip(noise, (random.random(size) < rate).tolist(), strict=True))

    def privatize(x):
        nonlocal pool, last
        drawn = next(pool, None)
        if drawn is None:
            pool = refill()
            drawn = next(pool)
        last = last if drawn[1] else drawn[0]
        return x + last

    return privatize


def exact_number(rate, random):
    """Now and then the number itself stands among noisy floats (on a lattice: no bits leak otherwise)."""
    step = 2.0**-20

    def privatize(x):
        noise = np.round(random.laplace(0, 1 / CLAIM, len(x)) / step) * step
        return np.where(random.random(len(x)) < rate, x, x + noise)

    return privatize


def text_length(rate, random):
    """Now and then a salted text is longer for one category."""
    keep = (math.exp(CLAIM) - 1) / (math.exp(CLAIM) + SIZE - 1)

    def privatize(x):
        sent = x if random.random() < keep else int(random.random() * SIZE)
        padding = " " if x == 3 and random.random() < rate else ""
        return f"{random.random()!r:<22} {sent}{padding}"

    return privatize


VALUES = [0, 1, 2, 3]
KINDS = [
    Kind("the plain value", plain_value, VALUES),
    Kind("for one input only", one_input, VALUES),
    Kind("in one batch size only", one_batch_size, VALUES),
    Kind("in every k-th report", every_so_often, VALUES),
    Kind("one bit of a vector", one_bit, [0, 1, 39]),
    Kind("one column of a record", one_column, VALUES),
    Kind("correlated words", correlated_words, [0, 1, 39]),
    Kind("a public coin that depends on the input", public_coin, [0, 1, 49]),
    Kind("noise used again", repeated_noise, [0, 400_000, 1_000_000], {}),
    Kind("the exact number among floats", exact_number, [0.0, 0.25, 1.0]),
    Kind("the length of a text", text_length, VALUES, {}),
]


def power_table(samples: int = 1_000_000) -> str:
    """Return the table of what is proven, by kind and probability, in Markdown."""
    lines = ["| leak | " + " | ".join(f"{rate:g}" for rate in RATES) + " | none |", "|---|" + "---|" * (len(RATES) + 1)]
    for kind in KINDS:
        cells = []
        for rate in (*RATES, 0.0):
            found = kind.audit(rate, samples, seconds=120)
            shown = f"{max(found.epsilon, 0.0):.2f}"
            cells.append(f"**{shown}**" if found.is_refuted else shown)
            print(kind.name, rate, found, f"{found.seconds:.1f} s", file=sys.stderr, flush=True)
        lines.append(f"| {kind.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(power_table(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
