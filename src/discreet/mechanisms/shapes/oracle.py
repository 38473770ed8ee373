"""Oracle: what all frequency oracles share. A report stands for a set of categories, its *support*.

    p = P(v in support | v),  q = P(v in support | another),  f_v = (c_v/n - q) / (p - q)        [Wang et al. 2017]

c_v is the number of reports that support v. p and q are exact fractions of the integers that the sampler uses.
`PublicOracle` is an oracle whose reports begin with a coin that need not be secret (a hash seed, a row of a matrix):
given the coin, the rest is epsilon-LDP, so it does not matter for privacy who tosses it. The server may fix it by the
report's id, which leaves a liar less to choose and saves sending it.
"""

import hashlib
import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Array, Mechanism
from discreet.privacy.entropy import Entropy, system_entropy
from discreet.privacy.exact import TOTAL, exp_below

if TYPE_CHECKING:
    from discreet.operators import Operator

_STEP = 1 << 14


class Oracle(Mechanism):
    """A mechanism over categories 0..size-1.

    Parameters
    ----------
    size : int
        Number of categories, at least 2.
    """

    numeric = False
    largest = 1 << 24
    """The largest size that the shape takes."""

    def __init__(self, name: str, epsilon: float, size: int) -> None:
        super().__init__(name, epsilon)
        if not 2 <= size <= self.largest:
            raise DiscreetError(f"size is {size}; allowed is a whole number from 2 to {self.largest}")
        self._size = int(size)

    @property
    def size(self) -> int:
        """Number of categories."""
        return self._size

    @cached_property
    def inputs(self) -> Array:
        """0..size-1."""
        return np.arange(self._size)

    @abstractmethod
    def _operator(self) -> "Operator":
        """Return A with E[tally]/n = A f."""

    def operator(self, bins: int | None = None) -> "Operator":
        """Return A with E[tally]/n = A f, f the vector of frequencies."""
        if bins not in (None, self._size):
            raise DiscreetError(f"bins is {bins}; {self.name} has {self._size} categories")
        return self._operator()


class PublicOracle(Oracle):
    """An oracle whose reports begin with a public coin: the first of its words."""

    @abstractmethod
    def coins(self, reports: Array) -> Array:
        """Return the public part of each report: what its public word alone decides."""

    def public_word(self, report_id: bytes) -> int:
        """Return the public word that belongs to a report id: anyone can compute it, nobody can choose it.

        The first 8 bytes of SHA-256(mechanism id, report id), little-endian.
        """
        return int.from_bytes(hashlib.sha256(bytes.fromhex(self.id) + report_id).digest()[:8], "little")

    def privatize(self, x: Any, entropy: Entropy | None = None, public: Any = None) -> Any:
        """Randomise canonical inputs; ``public`` gives the public word of each report (see `public_word`).

        Without ``public`` the client tosses that coin too. As many secret words are drawn either way.
        """
        if public is None:
            return super().privatize(x, entropy)
        source = system_entropy() if entropy is None else entropy
        if isinstance(x, (float, int, np.generic)):
            return self._one(self._check_one(x), [int(public), *self._words_of_one(source)[1:]])
        values = self.check_inputs(x)
        coins = np.asarray(public, dtype=np.uint64)
        if coins.shape != values.shape:
            raise DiscreetError(f"public has shape {coins.shape}; allowed is one word for each of {len(values)} inputs")
        out = self._empty(len(values))
        for start in range(0, len(values), _STEP):
            part = slice(start, start + _STEP)
            words = source.words(len(values[part]) * self.words_per_report).copy()
            words[:: self.words_per_report] = coins[part]
            self._many(values[part], words, out[part])
        return out


def parity(number: int) -> int:
    """Return the parity of the ones of ``number``; (-1)**parity(i & j) is an entry of the Hadamard matrix."""
    return number.bit_count() & 1


def listed(name: str, alphabet: int) -> None:
    """Refuse to list a law that is too long to be of use."""
    if alphabet > 1 << 16:
        raise DiscreetError(f"the law of {name} has {alphabet} entries; it is listed up to 2^16")


def largest_hit(epsilon: float, inside: int, outside: int, uneven: Fraction = Fraction(1)) -> int:
    """Return the largest hit with (hit/inside) / ((2^48 - hit)/outside) * uneven <= e^epsilon: rounded towards privacy.

    The probability hit/2^48 is shared by ``inside`` reports, the rest by ``outside`` ones, evenly up to ``uneven``.
    """
    odds = exp_below(epsilon) / uneven * Fraction(inside, outside)
    return math.floor(TOTAL * odds / (1 + odds))


def unevenness(*bounds: int) -> Fraction:
    """Return how much too likely one number of `below` can be, beside another, with any of these bounds.

    Each number has one in ``bound`` to within 2^-64; a power of two divides 2^64 and is even.
    """
    worst = Fraction(max((bound for bound in bounds if bound & (bound - 1)), default=0), 1 << 64)
    return (1 + worst) / (1 - worst)


def below(word: int, bound: int) -> int:
    """Return a number in 0..bound-1, each with probability 1/bound to within 2^-64: floor(word * bound / 2^64)."""
    return word * bound >> 64


def below_law(number: int, bound: int) -> Fraction:
    """Return the exact probability of `below` giving ``number``."""
    return Fraction(-(-((number + 1) << 64) // bound) + (-(number << 64) // bound), 1 << 64)
