"""The ledger: what each participant has spent, in exact fractions, and what they may still spend.

Epsilons of one person add up, whatever the questions and whoever asks (basic composition). So every answer is charged
*before* it is sent; the sum is shown first, and an answer that would exceed the limit is refused.

Permanent answers (longitudinal collection) are charged once for each different value a person ever holds: asked again
with the same value, `discreet.Entropy.memoised` gives the same report, which reveals nothing new. Stated guarantee: k
different values over the whole time cost k * epsilon, and *that* a report changed can be seen.

The file is JSON lines, append-only. A line is written with one system call and flushed to disk before the answer
goes out; a last line that a crash cut short was never acknowledged, so it is dropped, and said.
"""

import hashlib
import hmac
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import DiscreetError, PrivacyError
from discreet.privacy.entropy import Entropy, _value_bytes
from discreet.privacy.exact import ceil_decimal

VERSION = 1
Rational = Fraction | int | float | str


class BudgetError(PrivacyError):
    """An answer that would exceed a person's limit; it is not given."""


def rational(epsilon: Rational, name: str = "epsilon") -> Fraction:
    """Return epsilon as an exact fraction; a float is read as it is written (0.1 is one tenth).

    Examples
    --------
    >>> rational(0.1) + rational("1/3")
    Fraction(13, 30)
    """
    try:
        if isinstance(epsilon, bool):
            raise ValueError
        found = Fraction(repr(epsilon) if isinstance(epsilon, float) else epsilon)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        raise DiscreetError(f"{name} is {epsilon!r}; allowed is a number or a fraction such as '1/3'") from None
    if found <= 0:
        raise DiscreetError(f"{name} is {epsilon}; allowed is a number above 0")
    return found


@dataclass(frozen=True)
class Composition:
    """What an answer costs and what it leads to; shown before answering.

    Attributes
    ----------
    before, cost, after : Fraction
        Spent so far, by this answer, and then. ``cost`` is 0 for a retry or a repeated permanent answer.
    limit : Fraction or None
        The most that the person may spend.
    reason : str
        Why it costs what it costs.
    """

    subject: str
    campaign: str
    round: int
    before: Fraction
    cost: Fraction
    limit: Fraction | None
    reason: str

    @property
    def after(self) -> Fraction:
        return self.before + self.cost

    @property
    def is_allowed(self) -> bool:
        """Whether the limit is kept."""
        return self.limit is None or self.cost == 0 or self.after <= self.limit

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "subject": self.subject,
            "campaign": self.campaign,
            "round": self.round,
            "before": str(self.before),
            "cost": str(self.cost),
            "after": str(self.after),
            "limit": None if self.limit is None else str(self.limit),
            "is_allowed": self.is_allowed,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        limit = "no limit" if self.limit is None else f"limit {shown(self.limit)}"
        verdict = "" if self.is_allowed else ": REFUSED"
        return (
            f"{shown(self.before)} spent + {shown(self.cost)} for {self.campaign} round {self.round} "
            f"= {shown(self.after)} ({limit}){verdict}"
        )


def shown(epsilon: Fraction) -> str:
    """Return a fraction for people: a short decimal where it is exact, rounded up otherwise.

    Examples
    --------
    >>> shown(Fraction(3, 2)), shown(Fraction(1, 3))
    ('1.5', '0.333334')
    """
    short = f"{float(epsilon):g}"
    return short if Fraction(short) == epsilon else ceil_decimal(float(epsilon), 6)


@dataclass
class Account:
    """One participant: entries in the order in which they were charged."""

    spent: Fraction = Fraction(0)
    entries: list[dict[str, Any]] = field(default_factory=list)
    answers: set[tuple[str, int, str]] = field(default_factory=set)
    permanent: set[tuple[str, str]] = field(default_factory=set)

    def add(self, entry: dict[str, Any]) -> None:
        self.spent += Fraction(entry["epsilon"])
        self.entries.append(entry)
        if entry["report"]:
            self.answers.add((entry["campaign"], entry["round"], entry["report"]))
        if entry["permanent"]:
            self.permanent.add((entry["campaign"], entry["permanent"]))


class Ledger:
    """Budgets of participants; in memory, or durable in a file.

    Parameters
    ----------
    path : path, optional
        JSON-lines file; made if missing.
    limit : number or fraction, optional
        The most that one participant may spend. Of an existing file, it must be what the file says.

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
        self.path = None if path is None else Path(path)
        self.limit = None if limit is None else rational(limit, "limit")
        self.warnings: list[str] = []
        self._accounts: dict[str, Account] = {}
        self._offset = 0
        if self.path is None:
            return
        with self._locked() as descriptor:
            self._catch_up(descriptor)
            if self._offset == 0:
                head = {"discreet-ledger": VERSION, "limit": None if self.limit is None else str(self.limit)}
                self._append(descriptor, head)

    # -- asking -------------------------------------------------------------------------------------------

    @property
    def subjects(self) -> list[str]:
        """Everybody who was charged."""
        return list(self._accounts)

    def account(self, subject: str) -> Account:
        """Return a participant's account (empty for a new one)."""
        return self._accounts.get(subject, Account())

    def spent(self, subject: str) -> Fraction:
        """Return what a participant has spent."""
        return self.account(subject).spent

    def remaining(self, subject: str) -> Fraction | None:
        """Return what a participant may still spend; None without a limit."""
        return None if self.limit is None else max(Fraction(0), self.limit - self.spent(subject))

    def preview(
        self,
        subject: str,
        campaign: str,
        epsilon: Rational,
        *,
        round: int = 1,
        report: str = "",
        permanent: str = "",
    ) -> Composition:
        """Return what an answer would cost, without charging it; parameters as in `charge`."""
        for name, text in (("subject", subject), ("campaign", campaign)):
            if not isinstance(text, str) or not text:
                raise DiscreetError(f"{name} is {text!r}; allowed is a text that is not empty")
        if isinstance(round, bool) or not isinstance(round, int) or round < 1:
            raise DiscreetError(f"round is {round!r}; allowed is a whole number from 1")
        if not isinstance(report, str) or not isinstance(permanent, str):
            raise DiscreetError("report and permanent are texts: an id, and what `permanent_tag` returns")
        cost, reason = rational(epsilon), "a fresh answer"
        account = self.account(subject)
        if report and (campaign, round, report) in account.answers:
            cost, reason = Fraction(0), "the same report again: a retry"
        elif permanent and (campaign, permanent) in account.permanent:
            cost, reason = Fraction(0), "the permanent answer to a value that was charged before"
        elif permanent:
            reason = "the permanent answer to a new value"
        return Composition(subject, campaign, round, account.spent, cost, self.limit, reason)

    # -- charging -----------------------------------------------------------------------------------------

    def charge(
        self,
        subject: str,
        campaign: str,
        epsilon: Rational,
        *,
        round: int = 1,
        report: str = "",
        permanent: str = "",
    ) -> Composition:
        """Charge an answer, durably, before it is sent; raise `BudgetError` and charge nothing if it is too much.

        Parameters
        ----------
        subject, campaign : str
            Who answers what; a pseudonym is enough.
        epsilon : number or fraction
            Of the answer.
        round : int
            Of the campaign; each round is charged.
        report : str
            Id of the report, if there is one: the same id is not charged twice.
        permanent : str
            For permanent answers: what `permanent_tag` returns for the value. The same tag is not charged twice.
        """
        if self.path is None:
            return self._settle(None, subject, campaign, epsilon, round, report, permanent)
        with self._locked() as descriptor:
            self._catch_up(descriptor)  # other processes may have charged meanwhile
            return self._settle(descriptor, subject, campaign, epsilon, round, report, permanent)

    def _settle(
        self,
        descriptor: int | None,
        subject: str,
        campaign: str,
        epsilon: Rational,
        round: int,
        report: str,
        permanent: str,
    ) -> Composition:
        found = self.preview(subject, campaign, epsilon, round=round, report=report, permanent=permanent)
        if not found.is_allowed:
            raise BudgetError(str(found))
        if found.cost:
            entry = {
                "subject": subject,
                "campaign": campaign,
                "round": round,
                "epsilon": str(found.cost),
                "report": report,
                "permanent": permanent,
            }
            if descriptor is not None:
                self._append(descriptor, entry)
            self._accounts.setdefault(subject, Account()).add(entry)
        return found

    # -- the file -----------------------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[int]:
        if self.path is None:
            raise DiscreetError("this ledger has no file")
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            try:
                import fcntl
            except ImportError:  # pragma: no cover - not on Windows: one process at a time there
                pass
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _append(self, descriptor: int, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        start = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError(f"{self.path}: the disk took only a part of an entry")
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, start)  # nothing half-written stays
            raise
        self._offset = start + len(line)

    def _catch_up(self, descriptor: int) -> None:
        """Read the lines that were added since the last time; cut off a last one that was never finished."""
        size = os.fstat(descriptor).st_size
        if size < self._offset:
            raise DiscreetError(f"{self.path} is shorter than it was; a ledger only grows")
        os.lseek(descriptor, self._offset, os.SEEK_SET)
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            data = stream.read()
        whole, newline, rest = data.rpartition(b"\n")
        if rest:
            os.ftruncate(descriptor, self._offset + len(whole) + len(newline))
            os.fsync(descriptor)
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
            epsilon = rational(entry["epsilon"])
            if not (
                set(entry) == {"subject", "campaign", "round", "epsilon", "report", "permanent"}
                and all(isinstance(entry[key], str) for key in entry if key != "round")
                and isinstance(entry["round"], int)
            ):
                raise ValueError
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, DiscreetError) and self._offset == 0:
                raise
            raise DiscreetError(
                f"{self.path}: the entry at byte {self._offset} cannot be read; a damaged ledger is never used"
            ) from None
        self._accounts.setdefault(entry["subject"], Account()).add(entry | {"epsilon": str(epsilon)})

    def _read_head(self, head: Any) -> None:
        if (
            not isinstance(head, dict)
            or head.get("discreet-ledger") != VERSION
            or set(head)
            != {
                "discreet-ledger",
                "limit",
            }
        ):
            raise DiscreetError(f"{self.path} is not a ledger of version {VERSION}")
        limit = None if head["limit"] is None else rational(head["limit"], "limit")
        if self.limit is not None and limit != self.limit:
            kept = "no limit" if limit is None else f"the limit {shown(limit)}"
            raise DiscreetError(f"limit is {shown(self.limit)}; {self.path} was made with {kept}")
        self.limit = limit

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values: one row a participant."""
        return {
            "limit": None if self.limit is None else str(self.limit),
            "participants": [
                {
                    "subject": subject,
                    "spent": str(account.spent),
                    "remaining": None if self.limit is None else str(self.remaining(subject)),
                    "answers": len(account.entries),
                    "campaigns": sorted({entry["campaign"] for entry in account.entries}),
                }
                for subject, account in self._accounts.items()
            ],
            "warnings": list(self.warnings),
        }


# -- permanent answers ------------------------------------------------------------------------------------


class Randomiser(Protocol):
    """What a permanent answer needs of a mechanism."""

    @property
    def id(self) -> str:
        """What names the mechanism."""
        ...

    @property
    def epsilon(self) -> float:
        """What it claims."""
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

    Parameters
    ----------
    secret : bytes
        At least 16 random bytes that never leave the device.
    campaign : str
        The question; another question has other reports.
    mechanism : Mechanism
        What randomises; its id is part of the key, so a changed mechanism is a new (charged) answer.
    ledger : Ledger
        Charged epsilon for each new value.

    Examples
    --------
    >>> import discreet as dc
    >>> device = PermanentAnswers(bytes(range(32)), "mood", dc.mechanism("duchi", epsilon=1), Ledger(limit=2))
    >>> len({device.answer(0.25) for _ in range(100)}), device.spent
    (1, Fraction(1, 1))
    >>> _ = device.answer(-0.5)
    >>> device.guarantee
    '2 different values so far: epsilon 2 in all, however often they are reported; changes can be seen'
    """

    def __init__(
        self, secret: bytes, campaign: str, mechanism: Randomiser, ledger: Ledger, subject: str = "me"
    ) -> None:
        self._secret, self.campaign, self.mechanism, self.ledger, self.subject = (
            secret,
            campaign,
            mechanism,
            ledger,
            subject,
        )
        self._task = f"{campaign}\0{mechanism.id}"

    def preview(self, x: float) -> Composition:
        """Return what answering would cost."""
        tag = permanent_tag(self._secret, self._task, x)
        return self.ledger.preview(self.subject, self.campaign, self.mechanism.epsilon, permanent=tag)

    def answer(self, x: float) -> Any:
        """Charge, then return the permanent report of x; `BudgetError` if x is one new value too many."""
        entropy = Entropy.memoised(self._secret, self._task, x)  # refuses a bad secret or value before any charge
        tag = permanent_tag(self._secret, self._task, x)
        self.ledger.charge(self.subject, self.campaign, self.mechanism.epsilon, permanent=tag)
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


def total(*epsilons: Rational) -> Fraction:
    """Return what k answers of one person cost together: their sum, exactly.

    Examples
    --------
    >>> total(0.1, 0.2, "1/10")
    Fraction(2, 5)
    """
    return sum((rational(e) for e in epsilons), Fraction(0))


def split(epsilon: Rational, parts: int) -> float:
    """Return the largest float of which ``parts`` together are not above epsilon.

    Examples
    --------
    >>> split(1, 4), split(1, 3) * 3 <= 1
    (0.25, True)
    """

    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise DiscreetError(f"parts is {parts!r}; allowed is a whole number from 1")
    share = rational(epsilon) / parts
    found = float(share)
    while max(Fraction(found), rational(found)) > share:  # as the machine holds it, and as the ledger reads it
        found = math.nextafter(found, 0.0)
    return found
