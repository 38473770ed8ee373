"""The ledger of a device: what its people have spent, in memory or in a file, and permanent answers.

Every answer is charged *before* it is sent; the sum is shown first, and an answer that would exceed the limit is
refused. The arithmetic is that of `discreet.privacy.ledger`.

The file is JSON lines, append-only. A line is written with one system call and flushed to disk before the answer goes
out. A last line that a crash cut short was never acknowledged: it is dropped, with a warning. Files of version 0.1 are
read and continued.

Whoever charges holds the ledger alone (`Ledger.transaction`): one thread of one process at a time, for the file and for
the outbox beside it. A file that is missing is never made again without being told its limit.
"""

import hashlib
import hmac
import json
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from discreet.device.outbox import Outbox, sync_folder
from discreet.errors import DiscreetError
from discreet.privacy.certificate import Certificate
from discreet.privacy.entropy import Entropy, _value_bytes
from discreet.privacy.ledger import Accounts, Composition, Loss, Rational, rational, shown

VERSION = 2
"""Version of the file. Entries of version 1 have claims only."""
_NEEDED = (
    "; if there was a ledger, restore it, because it holds what was spent. A new one needs its limit: "
    "Ledger(path, limit=…), or limit=math.inf for none"
)
_FIELDS = {"subject", "campaign", "round", "epsilon", "ratio", "report", "permanent"}


class Ledger(Accounts):
    """What people have spent, and what they may still spend; in memory, or durable in a file.

    Threads may share a ledger, and processes its file.

    Parameters
    ----------
    path : path, optional
        JSON-lines file. In memory unless given.
    limit : number or fraction, optional
        The most that one person may spend; ``math.inf`` for no limit. A file that does not exist is made only if a
        limit is given: otherwise a lost ledger would come back without its limit. For an existing file it must be what
        the file says.

    Attributes
    ----------
    outbox : Outbox
        Reports that wait to be acknowledged: in memory, or in the file ``<path>.outbox``.

    Examples
    --------
    >>> ledger = Ledger(limit=2)
    >>> print(ledger.preview("p-17", "wages-2026", 1))
    0 spent + 1 for wages-2026 round 1 = 1 (limit 2)
    >>> ledger.charge("p-17", "wages-2026", 1).after, ledger.charge("p-17", "commute", 1).after
    (Fraction(1, 1), Fraction(2, 1))
    >>> ledger.charge("p-17", "rents", "1/10")
    Traceback (most recent call last):
    ...
    discreet.privacy.ledger.BudgetError: 2 spent + 0.1 for rents round 1 = 2.1 (limit 2): REFUSED
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, limit: Rational | None = None) -> None:
        is_given, is_unlimited = limit is not None, isinstance(limit, float) and limit == math.inf
        super().__init__(None if is_unlimited else limit)
        self.path = None if path is None else Path(path)
        self.outbox = Outbox(None if self.path is None else self.path.with_name(self.path.name + ".outbox"))
        self.warnings: list[str] = []
        self._mutex, self._file = threading.RLock(), 0
        self._offset = 0
        self._descriptor: int | None = None
        if self.path is None:
            return
        with self._mutex, self._locked(self.path, os.O_CREAT if is_given else 0):
            self._catch_up()
            if self._offset == 0 and not is_given:
                raise DiscreetError(f"{self.path} is empty{_NEEDED}")
            if self._offset == 0:
                self._append({"discreet-ledger": VERSION, "limit": None if self.limit is None else str(self.limit)})
                sync_folder(self.path)
            elif is_unlimited and self.limit is not None:
                raise DiscreetError(f"limit is infinite; {self.path} was made with the limit {shown(self.limit)}")

    def __reduce__(self) -> tuple[type["Ledger"], tuple[Path]]:
        """Copy by opening the same file; a ledger in memory is not copied: the copy would not see what is spent."""
        if self.path is None:
            raise TypeError("a ledger in memory cannot be copied: give it a file, which its copies share")
        return Ledger, (self.path,)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the ledger and its outbox alone: no other thread or process charges, keeps or forgets meanwhile.

        What others have written is read first. Within it, `charge` may be called.
        """
        with self._mutex:
            if self.path is None or self._descriptor is not None:  # in memory, or held by this thread already
                yield
                return
            with self._locked(self.path):
                self._catch_up()
                yield

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values: one row per person."""
        return super().to_dict() | {"warnings": list(self.warnings)}

    # -- the file -----------------------------------------------------------------------------------------

    @contextmanager
    def _locked(self, path: Path, create: int = 0) -> Iterator[None]:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | create, 0o600)
        except FileNotFoundError:
            raise DiscreetError(f"{path} does not exist{_NEEDED}") from None
        try:
            try:
                import fcntl
            except ImportError:  # pragma: no cover - Windows has no such lock: one process at a time there
                pass
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            file = os.fstat(descriptor).st_ino
            if self._file not in (0, file) or not path.exists() or path.stat().st_ino != file:
                raise DiscreetError(f"{path} is another file than before; a ledger that is in use is never replaced")
            self._file, self._descriptor = file, descriptor
            yield
        finally:
            self._descriptor = None
            os.close(descriptor)

    def _keep(self, entry: dict[str, Any]) -> None:
        if self.path is not None:
            self._append(entry)

    def _append(self, entry: dict[str, Any]) -> None:
        assert self._descriptor is not None  # only called while the file is locked
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        start = os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError(f"{self.path}: the disk took only a part of an entry")
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, start)  # nothing half-written stays
            raise
        self._offset = start + len(line)

    def _catch_up(self) -> None:
        """Read the lines that were added since the last time; cut off a last one that was never finished."""
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        if size < self._offset:
            raise DiscreetError(f"{self.path} is shorter than it was; a ledger only grows")
        os.lseek(self._descriptor, self._offset, os.SEEK_SET)
        with os.fdopen(os.dup(self._descriptor), "rb") as stream:
            data = stream.read()
        whole, newline, rest = data.rpartition(b"\n")
        if rest:
            os.ftruncate(self._descriptor, self._offset + len(whole) + len(newline))
            os.fsync(self._descriptor)
            self.warnings.append(
                f"{self.path}: the last entry was cut short ({len(rest)} bytes) and is dropped; "
                "it was never acknowledged, so its answer was not sent"
            )
        for line in whole.split(b"\n") if newline else []:
            self._read(line)
            self._offset += len(line) + 1

    def _read(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            if self._offset == 0:
                self._read_head(entry)
                return
            entry = {"ratio": ""} | entry  # version 1 knew claims only
            if not (
                set(entry) == _FIELDS
                and all(isinstance(entry[key], str) for key in entry if key != "round")
                and isinstance(entry["round"], int)
                and (not entry["ratio"] or Fraction(entry["ratio"]) >= 1)
            ):
                raise ValueError
            entry["epsilon"] = str(rational(entry["epsilon"]))
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            if isinstance(error, DiscreetError) and self._offset == 0:
                raise
            raise DiscreetError(
                f"{self.path}: the entry at byte {self._offset} cannot be read; a damaged ledger is never used"
            ) from None
        self._add(entry)

    def _read_head(self, head: Any) -> None:
        if not isinstance(head, dict) or set(head) != {"discreet-ledger", "limit"}:
            raise DiscreetError(f"{self.path} is not a ledger")
        if head["discreet-ledger"] not in (1, VERSION):
            raise DiscreetError(
                f"{self.path} is a ledger of version {head['discreet-ledger']}; this discreet reads 1 and {VERSION}"
            )
        limit = None if head["limit"] is None else rational(head["limit"], "limit")
        if self.limit is not None and limit != self.limit:
            kept = "no limit" if limit is None else f"the limit {shown(limit)}"
            raise DiscreetError(f"limit is {shown(self.limit)}; {self.path} was made with {kept}")
        self.limit = limit


# -- permanent answers ------------------------------------------------------------------------------------


class Randomiser(Protocol):
    """What a permanent answer needs of a mechanism."""

    @property
    def id(self) -> str:
        """What names the mechanism."""
        ...

    @property
    def certificate(self) -> Certificate:
        """What it reveals, exactly."""
        ...

    def privatize(self, x: Any, entropy: Entropy | None = None) -> Any:
        """Randomise one canonical input."""
        ...


def permanent_tag(secret: bytes, task: str, value: float | str) -> str:
    """Return a tag of a value that only the holder of the secret can recompute; it is not the key of the answer."""
    message = b"discreet ledger\0" + len(task.encode()).to_bytes(4, "little") + task.encode() + _value_bytes(value)
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:32]


class PermanentAnswers:
    """A person's device in longitudinal collection: the same value always gets the same report.

    Each different value that the person ever holds is charged once: asked again with the same value, the device sends
    the same report, which reveals nothing new. Guarantee: k different values over the whole time cost k times epsilon,
    and *that* a report changed can be seen.

    Parameters
    ----------
    secret : bytes
        At least 16 random bytes that never leave the device.
    campaign : str
        The question; another question has other reports.
    mechanism : Mechanism
        What randomises; its id is part of the key, so a changed mechanism is a new (charged) answer.
    ledger : Ledger
        Charged the mechanism's exact loss for each new value.

    Examples
    --------
    >>> import discreet as dc
    >>> device = PermanentAnswers(bytes(range(32)), "mood", dc.mechanism("duchi", epsilon=1), Ledger(limit=2))
    >>> len({device.answer(0.25) for _ in range(100)}), round(float(device.spent), 6)
    (1, 1.0)
    >>> _ = device.answer(-0.5)
    >>> device.guarantee
    '2 different values so far: epsilon 2 in all, however often they are reported; changes can be seen'
    """

    def __init__(
        self, secret: bytes, campaign: str, mechanism: Randomiser, ledger: Ledger, subject: str = "me"
    ) -> None:
        self._secret, self.campaign, self.mechanism = secret, campaign, mechanism
        self.ledger, self.subject = ledger, subject
        self._task = f"{campaign}\0{mechanism.id}"
        self._cost = Loss(mechanism.certificate.ratio)

    def preview(self, x: float) -> Composition:
        """Return what answering would cost."""
        tag = permanent_tag(self._secret, self._task, x)
        return self.ledger.preview(self.subject, self.campaign, self._cost, permanent=tag)

    def answer(self, x: float) -> Any:
        """Charge, then return the permanent report of x; `BudgetError` if x is one new value too many."""
        # Refuses a bad secret or value before any charge.
        entropy = Entropy.memoised(self._secret, self.campaign, x, public=self.mechanism.id)
        tag = permanent_tag(self._secret, self._task, x)
        self.ledger.charge(self.subject, self.campaign, self._cost, permanent=tag)
        return self.mechanism.privatize(x, entropy)

    @property
    def spent(self) -> Fraction:
        """What this campaign has cost so far."""
        entries = self.ledger.account(self.subject).entries
        return sum((Fraction(e["epsilon"]) for e in entries if e["campaign"] == self.campaign), Fraction(0))

    @property
    def guarantee(self) -> str:
        """What holds for this person so far, in one sentence."""
        entries = self.ledger.account(self.subject).entries
        values = len({e["permanent"] for e in entries if e["campaign"] == self.campaign and e["permanent"]})
        return (
            f"{values} different value{'s' if values != 1 else ''} so far: epsilon {shown(self.spent)} in all, "
            "however often they are reported; changes can be seen"
        )
