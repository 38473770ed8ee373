"""Count-mean sketch: a hashed one-hot vector whose bits are flipped like Basic RAPPOR's.

    P(flip) = 1 / (e^(epsilon/2) + 1);  f_v = (width/(width-1)) (mean - 1/width)
                                        [Apple 2017; discrete-comparison, section II, with its formulas corrected]

Without a sketch (the paper's one-hot version) it *is* `basic-rappor`; the paper's flip 1/(e^epsilon/2 + 1) and factor
c with e^epsilon are misprints. With ``hashes`` functions of ``width`` buckets, the client draws one of the functions,
which is public, hashes its category and flips the bits of that bucket's one-hot vector. A report (function, bits)
supports v if the bit of v's bucket is one. With P1 and P0 the probabilities of a one in and outside the bucket, and
exactly pairwise independent hash functions, p = P1 and q = P0 + (P1 - P0)/width over the choice of the functions.

*Privacy holds for every function*: given it, the bits are a unary encoding, whose ratio is P1(1-P0) / (P0(1-P1)).
The functions of one document are fixed by its seed, so for one document collisions are a fixed error, not noise:
`frequency_variance` includes both and exceeds the noise for large n (`mean_variance` is the limit of many functions),
and the certificate does not claim unbiasedness. For a few hundred categories a sketch is no better than without.
"""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet import compiling
from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.mechanisms.arithmetic import check_listable, check_whole
from discreet.mechanisms.categorical.basic_rappor import symmetric
from discreet.mechanisms.categorical.hash_family import smallest_family
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.public_coin import PublicCoin
from discreet.mechanisms.shapes.unary import Unary
from discreet.operators import Incidence, Operator
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL, check_epsilon
from discreet.tallies import Tally
from discreet.wire import Fields

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random


MOST_LANES = 1 << 15
"""All functions' counters together have at most this many lanes, so that they stay in cache; or reports are sorted."""


class Sketch(PublicCoin, Oracle):
    """A public hash function and a unary encoding of the bucket; a report is a row (function, lanes of bits).

    Parameters
    ----------
    hashes : int
        Number of hash functions, a power of two.
    seed : int
        Decides which hash functions.
    bits : Unary
        The encoding of the buckets; its size is the sketch's width, a power of two.
    """

    kind = "sketch"

    def __init__(self, name: str, epsilon: float, size: int, hashes: int, seed: int, bits: Unary) -> None:
        super().__init__(name, epsilon, size)
        for label, count in (("hashes", hashes), ("width", bits.size)):
            if not (1 <= count <= 1 << 16 and count & (count - 1) == 0):
                raise DiscreetError(f"{label} must be a power of two up to 2^16, not {count}")
        self.hashes, self.seed, self.bits, self.width = int(hashes), int(seed), bits, bits.size
        self.levels = self.hashes.bit_length() - 1
        self.family = smallest_family(self._size, self.width)
        self.alphabet = self.hashes << self.width
        self.words_per_report = 1 + bits.words_per_report
        self.certificate.require(name)

    def _certify(self) -> Certificate:
        return Certificate(self.bits.certificate.ratio, self.epsilon, None, self.alphabet)

    @property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q) over the choice of the hash functions."""
        one, other = self.bits.support_law
        return one, other + (one - other) * self.family.collision

    def _seed_of(self, function: int) -> int:
        """Return the hash seed of one function: SHA-256 of the document's seed and the function's number."""
        digest = hashlib.sha256(f"discreet sketch {self.seed} {function}".encode()).digest()
        return int.from_bytes(digest[:8], "little") % self.family.seeds

    @cached_property
    def _seeds(self) -> Words:
        return np.array([self._seed_of(function) for function in range(self.hashes)], dtype=np.uint64)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law over all (function, bits)."""
        check_listable(self.name, self.alphabet)
        rows = [self.bits.law(self.family.bucket(index, self._seed_of(j))) for j in range(self.hashes)]
        return [probability / self.hashes for row in rows for probability in row]

    def indices(self, reports: Any) -> Counts:
        """Return the number of each report, as `law` counts them."""
        rows = self.check_reports(reports)
        return np.asarray((rows[:, 0] << np.uint64(self.width)) + rows[:, 1], dtype=np.int64)

    def _empty(self, n: int) -> AnyArray:
        return np.empty((n, 1 + self.bits.lanes), dtype=np.uint64)

    def coins(self, reports: AnyArray) -> AnyArray:
        """Return the hash function of each report."""
        return np.asarray(reports[:, 0])

    def _one(self, value: float, words: Sequence[int]) -> AnyArray:
        function = words[0] >> 64 - self.levels if self.levels else 0
        bucket = self.family.bucket(int(value), self._seed_of(function))
        return np.concatenate([np.array([function], dtype=np.uint64), np.asarray(self.bits._one(bucket, words[1:]))])

    def _prepare(self, words: Words) -> list[Any]:
        """Draw a hash function, and the bits as the unary encoding does."""
        rows = words.reshape(-1, self.words_per_report)
        functions = (rows[:, 0] >> np.uint64(64 - self.levels)).tolist() if self.levels else [0] * len(rows)
        return list(zip(functions, self.bits._prepare(rows[:, 1:].reshape(-1)), strict=True))

    def _finish(self, value: Any, drawn: Any) -> AnyArray:
        function, bits = drawn
        report = np.empty(1 + self.bits.lanes, dtype=np.uint64)
        report[0] = function
        report[1:] = self.bits._finish(self.family.bucket(value, self._seeds.item(function)), bits)
        return report

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        functions = words[:: self.words_per_report] >> np.uint64(64 - self.levels) if self.levels else np.zeros(1, int)
        rows = self.bits._empty(len(values))
        buckets = self.family.bucket_many(values, np.resize(self._seeds[functions], len(values)))
        self.bits._many(buckets, words, rows, skipped=1)
        out[:, 0], out[:, 1:] = functions, rows

    def check_reports(self, reports: Any) -> AnyArray:
        """Return reports as rows (function, lanes), or say what is wrong."""
        array = np.asarray(reports)
        if array.size == 0:
            return self._empty(0)
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != 1 + self.bits.lanes or array.dtype != np.uint64:
            raise DiscreetError(
                f"reports must be rows of {1 + self.bits.lanes} uint64 words, not of type {array.dtype} and shape "
                f"{array.shape}"
            )
        self.bits.check_tail(array)
        if (array[:, 0] >= self.hashes).any():
            raise DomainError(
                f"hash functions of reports must be between 0 and {self.hashes - 1}, not {array[:, 0].max()}"
            )
        return np.ascontiguousarray(array)

    def _count(self, reports: AnyArray) -> Counts:
        is_small = self.hashes * self.bits.lanes <= MOST_LANES
        if is_small and compiling.pays("counting sketches", 2e-9 * 64 * reports.size):
            from discreet.mechanisms.kernels.bits import count_sketch

            counts = np.zeros((self.hashes, 64 * self.bits.lanes), dtype=np.int64)
            count_sketch(reports, counts)
            return counts[:, : self.width].reshape(-1)
        return self._count_sorted(reports)

    def _count_sorted(self, reports: AnyArray) -> Counts:
        """Sort reports by their function and count function by function."""
        functions = reports[:, 0].astype(np.min_scalar_type(self.hashes))  # short, so numpy sorts it by radix
        each = np.bincount(functions, minlength=self.hashes)
        parts = np.split(np.argsort(functions, kind="stable"), np.cumsum(each)[:-1])
        room = np.empty((each.max(), reports.shape[1]), dtype=np.uint64)  # reused for every function
        gathered = (np.take(reports, part, axis=0, out=room[: len(part)], mode="clip")[:, 1:] for part in parts)
        return np.concatenate([self.bits._count(np.ascontiguousarray(rows)) for rows in gathered])

    def _draw(self, inputs: AnyArray, shares: Floats, people: int, random: "Random") -> Counts:
        from discreet.mechanisms.draws import mass, multinomial

        held = multinomial(people, self._scatter(mass(self, inputs, shares)), random).reshape(self.hashes, self.width)
        return self.bits.flip(held, held.sum(axis=1, keepdims=True), random).reshape(-1)

    def support_counts(self, tally: Tally) -> Counts:
        """Return the ones in each value's bucket, over all functions."""
        sketch = self.check_tally(tally).counts.reshape(self.hashes, self.width)
        return self._gather(sketch)

    def _gather(self, sketch: AnyArray) -> AnyArray:
        """Return the sum over functions of the cell that each value falls in."""
        result = np.zeros(self._size, dtype=sketch.dtype)
        for j in range(self.hashes):
            result += sketch[j, self.family.bucket_all(self._size, self._seed_of(j))]
        return result

    def _scatter(self, f: Floats) -> Floats:
        """Return the mass in each cell of the sketch."""
        every = range(self.hashes)
        rows = [np.bincount(self.family.bucket_all(self._size, self._seed_of(j)), f, self.width) for j in every]
        return np.concatenate(rows)

    def _operator(self) -> Operator:
        low, high = self.bits.q / self.hashes, self.bits.p / self.hashes
        shape = self.hashes * self.width, self._size
        return Incidence(shape, low, high, self._scatter, lambda g: self._gather(g.reshape(self.hashes, self.width)))

    def frequency_variance(self, frequencies: Any, n: int) -> Floats:
        """Return the variance of each estimated frequency over noise, drawn functions *and* choice of functions.

        (p1-q1)^-2 (1-1/m)^-2 { noise + (p1-q1)^2 (1/m)(1-1/m) [(1-f)/n + (sum of others' f^2 - (1-f)/n)/k] }
        """
        f = np.asarray(frequencies, dtype=np.float64)
        one, other, share = self.bits.p, self.bits.q, float(self.family.collision)
        noise = ((f + (1 - f) * share) * one * (1 - one) + (1 - f) * (1 - share) * other * (1 - other)) / n
        rest = (1 - f) / n
        crowd = share * (1 - share) * (rest + ((f**2).sum() - f**2 - rest) / self.hashes)
        return np.asarray((noise + (one - other) ** 2 * crowd) / ((one - other) * (1 - share)) ** 2)

    def support_covariance(self, frequencies: Any) -> Floats:
        """Return the covariance of one report's support, for the functions that are in use.

        Two categories in one bucket share its bit; in different buckets their bits are independent given the input.
        """
        f = np.asarray(frequencies, dtype=np.float64)
        one, other = self.bits.p, self.bits.q
        both = np.zeros((self._size, self._size))
        for j in range(self.hashes):
            bucket = self.family.bucket_all(self._size, self._seed_of(j))
            held = np.bincount(bucket, f, self.width)[bucket]
            apart = one * other * (held[:, None] + held) + other**2 * (1 - held[:, None] - held)
            together = np.equal.outer(bucket, bucket)
            both += np.where(together, other + (one - other) * held, apart)
        both /= self.hashes
        hit = np.diag(both)
        return np.asarray(both - np.outer(hit, hit))

    @property
    def report_bytes(self) -> int:
        """Number of bytes per packed report: the function's number and one bit per bucket."""
        return -(-self.levels // 8) + self.bits.report_bytes

    def pack(self, reports: Any) -> bytes:
        """Pack reports: the function's number, little-endian, and one bit per bucket."""
        rows = self.check_reports(reports)
        number = np.ascontiguousarray(rows[:, :1]).astype("<u8").view(np.uint8)[:, : -(-self.levels // 8)]
        bits = np.frombuffer(self.bits.pack(rows[:, 1:]), dtype=np.uint8).reshape(len(rows), -1)
        return np.hstack([number, bits]).tobytes()

    def unpack(self, data: bytes) -> AnyArray:
        """Read packed reports; anything that `pack` could not have written raises `WireError`."""
        if len(data) % self.report_bytes:
            raise WireError(f"packed reports must have a multiple of {self.report_bytes} bytes, not {len(data)}")
        table, cut = np.frombuffer(data, dtype=np.uint8).reshape(-1, self.report_bytes), -(-self.levels // 8)
        number = np.zeros((len(table), 8), dtype=np.uint8)
        number[:, :cut] = table[:, :cut]
        rows = np.hstack([number.view("<u8").astype(np.uint64), self.bits.unpack(table[:, cut:].tobytes())])
        try:
            return self.check_reports(rows)
        except DomainError as error:
            raise WireError(str(error)) from None

    def _document(self) -> dict[str, Any]:
        bits = {"width": self.width, "hit": self.bits.hit, "ones": self.bits.ones, "digits": self.bits.digits}
        return {"size": self._size, "hashes": self.hashes, "seed": self.seed} | bits

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        numbers = fields.integer("hit", 0, TOTAL), fields.integer("ones", 0, TOTAL), fields.integer("digits", 1, 48)
        bits = Unary(name, epsilon, fields.integer("width", 2, 1 << 16), *numbers)
        size, hashes = fields.integer("size", 2, 1 << 24), fields.integer("hashes", 1, 1 << 16)
        return cls(name, epsilon, size, hashes, fields.integer("seed", 0), bits)


@register("count-mean-sketch", question="frequency", paper="discrete-comparison.II")
def count_mean_sketch(
    epsilon: float, size: int, hashes: int | None = None, width: int | None = None, seed: int = 0
) -> Unary | Sketch:
    """Count-mean sketch: one-hot, or Apple's with ``hashes`` functions of ``width`` buckets (powers of two).

    Examples
    --------
    >>> count_mean_sketch(2.0, size=8).p == count_mean_sketch(2.0, size=8, hashes=64, width=16).p
    True
    """
    epsilon, size = check_epsilon(epsilon), check_whole("size", size, 2)
    if hashes is None and width is None:
        return symmetric("count-mean-sketch", epsilon, size)
    if hashes is None or width is None:
        raise DiscreetError("hashes and width must be given together; the one-hot version takes neither")
    hashes, seed = check_whole("hashes", hashes, 1), check_whole("seed", seed, 0)
    bits = symmetric("count-mean-sketch", epsilon, check_whole("width", width, 2))
    return Sketch("count-mean-sketch", epsilon, size, hashes, seed, bits)
