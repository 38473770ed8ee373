"""Entropy: the only source of randomness, uint64 words from an AES-256-CTR keystream.

The key comes from the operating system. The same key gives the same words in a browser (WebCrypto AES-CTR,
128-bit counter from zero, words little-endian), so one key is one test vector in every language.

A stream must never be used twice: two workers with the same stream would send correlated noise. So an `Entropy`
refuses to be pickled or copied, and after a fork the child draws a new key (a seeded one refuses to continue). Python
tells us of its own forks; a fork by other code (C, ctypes) is seen by the process id, which every read compares.
"""

import hashlib
import hmac
import math
import os
import threading
import weakref
from typing import NamedTuple, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from discreet.arrays import Words
from discreet.errors import DiscreetError

_ALIVE: "weakref.WeakSet[Entropy]" = weakref.WeakSet()
_ZEROS = memoryview(bytes(1 << 20))


class _Stream(NamedTuple):
    """A keystream, the process that it belongs to, and the lock for its readers; replaced as a whole."""

    process: int
    cipher: CipherContext
    lock: threading.Lock


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

    def __init__(self) -> None:
        self._start(os.urandom(32), reproducible=False)

    def _start(self, key: bytes, *, reproducible: bool) -> None:
        self._reproducible = reproducible
        self._key(key)
        _ALIVE.add(self)

    def _key(self, key: bytes) -> _Stream:
        cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        self._stream = _Stream(os.getpid(), cipher, threading.Lock())
        return self._stream

    @classmethod
    def from_key(cls, key: bytes) -> "Entropy":
        """Return the stream of a given 32-byte key: for test vectors and derived keys; never use a key twice."""
        if not isinstance(key, bytes) or len(key) != 32:
            raise DiscreetError("key must be a bytes object of exactly 32 bytes")
        entropy = cls.__new__(cls)
        entropy._start(key, reproducible=True)
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
        return self._reproducible

    def read(self, count: int) -> bytes:
        """Return the next ``count`` bytes of the keystream."""
        stream = self._stream
        if stream.process != os.getpid():
            stream = self._after_fork()
        zeros = _ZEROS[:count] if count <= len(_ZEROS) else memoryview(bytes(count))
        with stream.lock:
            return stream.cipher.update(zeros)

    def words(self, count: int) -> Words:
        """Return the next ``count`` 64-bit words (little-endian from the keystream)."""
        return np.frombuffer(self.read(8 * count), dtype="<u8")

    def report_id(self) -> bytes:
        """Return a fresh 128-bit report id, which cannot be linked to anything."""
        return self.read(16)

    def _after_fork(self) -> _Stream:
        """Give this process a stream of its own, or refuse where that would not be the promised one."""
        if not self._reproducible:
            return self._key(os.urandom(32))
        raise DiscreetError(
            "this reproducible Entropy was made before a fork and would repeat its words in two processes; make one "
            "per process with Entropy.seeded(seed, stream=worker)"
        )

    def _forget_process(self) -> None:
        self._stream = self._stream._replace(process=0)

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


def _forget_processes() -> None:
    for entropy in list(_ALIVE):
        entropy._forget_process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_processes)

_SYSTEM: list[Entropy] = []


def system_entropy() -> Entropy:
    """Return this process's shared stream, keyed by the operating system."""
    if not _SYSTEM:
        _SYSTEM.append(Entropy())
    return _SYSTEM[0]
