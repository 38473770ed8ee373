"""Entropy: the only source of randomness, uint64 words from an AES-256-CTR keystream.

The key comes from the operating system. The same key gives the same words in a browser (WebCrypto AES-CTR,
128-bit counter from zero, words little-endian), so one key is one test vector in every language.

A stream must never be used twice: two workers with the same stream would send correlated noise. So an `Entropy`
refuses to be pickled or copied, and after a fork the child draws a new key (a seeded one refuses to continue; see
`discreet.privacy.forks`). Every thread has a stream of its own, with a key of its own, so that threads do not wait for
each other. A seeded `Entropy` has one stream, in the order in which it is asked; `divide` gives each thread its part.
"""

import hashlib
import hmac
import math
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from discreet.arrays import Words
from discreet.errors import DiscreetError
from discreet.privacy.forks import HERE, forget_all, guard

KEPT_WORDS = 1 << 18
"""A thread keeps memory for this many words: they stay in cache between the cipher and the sampler, and are enough for
what is done between two draws, with the interpreter's lock, not to matter."""
_ZEROS = memoryview(bytes(8 * KEPT_WORDS))
_BLOCK = 16
"""Bytes of a block of the cipher."""


class Room:
    """Memory for random words that is filled in place, again and again: fresh memory would cost page faults."""

    def __init__(self, count: int) -> None:
        self._all = np.zeros(count + _BLOCK // 8, dtype="<u8")  # the cipher wants a spare block
        self.bytes = self._all.view(np.uint8).data
        self.words = self._all[:count]
        self.words.flags.writeable = False  # as other words are, so that the same compiled kernel serves

    def wipe(self, count: int) -> None:
        """Overwrite the first words: whoever finds them beside the reports could undo the noise."""
        self._all[:count] = 0


_kept = threading.local()


@contextmanager
def room(count: int) -> Iterator[Room]:
    """Lend this thread's own memory for at most ``count`` words; afterwards it is wiped."""
    kept: Room | None = _kept.__dict__.pop("room", None)  # nobody else has it as long as it is lent
    lent = Room(max(count, KEPT_WORDS)) if kept is None or count > len(kept.words) else kept
    try:
        yield lent
    finally:
        lent.wipe(count)
        if len(lent.words) == KEPT_WORDS:
            _kept.room = lent
        elif kept is not None:
            _kept.room = kept


def _keystream(key: bytes, start: int = 0) -> CipherContext:
    """Return the keystream of a key, from byte number ``start`` on."""
    block, rest = divmod(start, _BLOCK)
    cipher = Cipher(algorithms.AES256(key), modes.CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
    cipher.update(_ZEROS[:rest])
    return cipher


class Entropy:
    """A stream of cryptographic random 64-bit words.

    ``Entropy()`` is keyed by the operating system; every privatisation uses such a stream unless given another.

    Examples
    --------
    >>> Entropy.seeded(7).words(2)
    array([11569277488771908396,  2450700706913259302], dtype=uint64)
    >>> fresh = Entropy()
    >>> bool((fresh.words(4) == fresh.words(4)).any())
    False
    """

    _has_own_source: ClassVar[bool] = False
    """Whether a subclass draws its bytes or words in a way of its own."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._has_own_source = cls.read is not Entropy.read or cls.words is not Entropy.words

    def __init__(self) -> None:
        self._start(None)

    def _start(self, key: bytes | None, place: int = 0, end: int | None = None) -> None:
        self._key, self._place, self._end, self._lock = key, place, end, threading.Lock()
        self._streams = threading.local()
        self._stream = None if key is None else _keystream(key, place)
        guard(self)

    @classmethod
    def from_key(cls, key: bytes) -> "Entropy":
        """Return the stream of a given 32-byte key: for test vectors and derived keys; never use a key twice."""
        if not isinstance(key, bytes) or len(key) != 32:
            raise DiscreetError("key must be a bytes object of exactly 32 bytes")
        entropy = cls.__new__(cls)
        entropy._start(key)
        return entropy

    @classmethod
    def seeded(cls, seed: int, stream: int = 0) -> "Entropy":
        """Return a reproducible stream, for simulation and tests only: it protects nobody.

        ``stream`` gives independent streams for the same seed (one per worker).
        """
        for name, number in (("seed", seed), ("stream", stream)):
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
                raise DiscreetError(f"{name} must be a whole number of at least 0, not {number!r}")
        return cls.from_key(hashlib.sha256(f"discreet simulation {seed} {stream}".encode()).digest())

    @classmethod
    def memoised(cls, secret: bytes, task: str, value: float | str, *, public: bytes | str) -> "Entropy":
        """Return the stream that belongs to one person's answer to one question.

        A person who is asked the same again and has the same value sends the same report, so that repetition reveals
        nothing more (but a *changed* value shows as a changed report). The secret never leaves the device.

        Parameters
        ----------
        secret : bytes
            At least 16 random bytes of the device.
        task : str
            The question: campaign and round.
        value : float or str
            What the person holds.
        public : bytes or str
            Everything else that the collector knows or chooses: the mechanism's id, and the report's id or its public
            coin where those are used. The same words under another coin would show the same value from another side;
            a few such reports identify it.

        Notes
        -----
        The key is HMAC-SHA256(secret, length of name, name, value), where the name is the task, a zero byte and
        ``public`` (bytes in hexadecimal).

        Examples
        --------
        >>> secret = bytes(range(32))
        >>> first = Entropy.memoised(secret, "mood", 0.5, public="mechanism 1, report 1").words(1)
        >>> bool(first == Entropy.memoised(secret, "mood", 0.5, public="mechanism 1, report 1").words(1))
        True
        >>> bool(first == Entropy.memoised(secret, "mood", 0.5, public="mechanism 1, report 2").words(1))
        False
        """
        if not isinstance(secret, bytes) or len(secret) < 16:
            raise DiscreetError("secret must be a bytes object of at least 16 random bytes")
        bound = public.hex() if isinstance(public, bytes) else public
        if not isinstance(bound, str) or not bound or "\0" in bound:
            raise DiscreetError("public must be bytes or a text without zero characters, and not empty")
        name = f"{task}\0{bound}".encode()
        message = len(name).to_bytes(4, "little") + name + _value_bytes(value)
        return cls.from_key(hmac.new(secret, message, hashlib.sha256).digest())

    @property
    def reproducible(self) -> bool:
        """Whether the words can be reproduced from a seed or a key."""
        return self._key is not None

    def read(self, count: int) -> bytes:
        """Return the next ``count`` bytes of the keystream."""
        zeros = _ZEROS[:count] if count <= len(_ZEROS) else memoryview(bytes(count))
        if self._key is None:
            return self._thread_stream().update(zeros)
        with self._lock:
            return self._advance(count).update(zeros)

    def words(self, count: int) -> Words:
        """Return the next ``count`` 64-bit words (little-endian from the keystream)."""
        return np.frombuffer(self.read(8 * count), dtype="<u8")

    def fill(self, place: Room, count: int) -> Words:
        """Draw the next ``count`` words into ``place`` and return them: a view, valid until it is filled again."""
        if self._has_own_source:
            return self.words(count)
        size = 8 * count
        zeros = _ZEROS[:size] if size <= len(_ZEROS) else memoryview(bytes(size))
        if self._key is None:
            self._thread_stream().update_into(zeros, place.bytes)
        else:
            with self._lock:
                self._advance(size).update_into(zeros, place.bytes)
        return place.words[:count]

    def divide(self, counts: Sequence[int]) -> "list[Entropy]":
        """Return a source for each part of some work, for threads: together they give the words that this one would.

        Parameters
        ----------
        counts : sequence of int
            Number of words that each part draws, in order. This source goes on after them.

        Examples
        --------
        >>> parts = Entropy.seeded(7).divide([1, 3])
        >>> whole = Entropy.seeded(7).words(4)
        >>> bool((np.concatenate([parts[0].words(1), parts[1].words(3)]) == whole).all())
        True
        """
        if self._has_own_source:
            return [_Given(self.words(count).tobytes()) for count in counts]
        if self._key is None:
            return [self] * len(counts)  # each thread has its own stream anyway
        parts = []
        with self._lock:
            for count in counts:
                start = self._place
                self._advance(8 * count)
                part = Entropy.__new__(Entropy)
                part._start(self._key, start, self._place)
                parts.append(part)
            self._stream = _keystream(self._key, self._place)
        return parts

    def report_id(self) -> bytes:
        """Return a fresh 128-bit report id, which cannot be linked to anything."""
        return self.read(16)

    def _thread_stream(self) -> CipherContext:
        """Return this thread's keystream; its key is the operating system's."""
        if not HERE[0]:
            forget_all()
        try:
            return self._streams.cipher  # type: ignore[no-any-return]
        except AttributeError:
            self._streams.cipher = found = _keystream(os.urandom(32))
            return found

    def _advance(self, count: int) -> CipherContext:
        """Return the keystream of the given key, ``count`` bytes of which are used up by this.

        Refuse in a process that would repeat the words of another, and at the end of a part, where the next begins.
        """
        if not HERE[0]:
            forget_all()
        if self._stream is None:
            raise DiscreetError(
                "this reproducible Entropy was made before a fork and would repeat its words in two processes; make "
                "one per process with Entropy.seeded(seed, stream=worker)"
            )
        if self._end is not None and self._place + count > self._end:
            raise DiscreetError("this part of a divided Entropy is used up; divide it into larger parts")
        self._place += count
        return self._stream

    def forget(self) -> None:
        """Drop the streams, because this is another process; called after a fork."""
        self._stream, self._streams, self._lock = None, threading.local(), threading.Lock()

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("Entropy cannot be pickled or copied, because the copy would repeat its words; make a new one")

    __reduce_ex__ = __reduce__ = __copy__ = __deepcopy__ = __getstate__ = _refuse


def _value_bytes(value: float | str) -> bytes:
    """Return one spelling of a value, whatever its type: 1, 1.0 and numpy's 1.0 must give the same report."""
    if isinstance(value, str):
        return b"text " + value.encode(errors="surrogatepass")
    if isinstance(value, (int, float, np.integer, np.floating)):
        try:
            number = float(value) + 0.0  # -0.0 is 0.0
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return b"number " + number.hex().encode()
    raise DiscreetError("the value of a memoised answer must be a text or a finite number")


class _Given(Entropy):
    """Words that another source has drawn: a part of what it divided."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    def read(self, count: int) -> bytes:
        """Return the next bytes."""
        if not HERE[0]:
            forget_all()
        if count > len(self._data):
            raise DiscreetError("this part of a divided Entropy is used up; divide it into larger parts")
        found, self._data = self._data[:count], self._data[count:]
        return found

    def forget(self) -> None:
        """Drop the words, because this is another process."""
        super().forget()
        self._data = b""


_SYSTEM: list[Entropy] = []


def system_entropy() -> Entropy:
    """Return this process's shared stream, keyed by the operating system."""
    if not _SYSTEM:
        _SYSTEM.append(Entropy())
    return _SYSTEM[0]
