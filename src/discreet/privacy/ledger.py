"""Accounting of privacy: what each person has spent, exactly, and what they may still spend. Pure, without files.

What several answers of one person reveal adds up, whatever the questions and whoever asks (basic composition):

    e^spent = product of the answers' exact ratios * e^(sum of the claims whose ratio is not known)

A ratio is the largest P(report | x) / P(report | x') of a mechanism, as its certificate states it. Ratios are
multiplied as fractions and claims are added as fractions; the result is compared with e^limit from below. So an answer
is never allowed by rounding, and the JavaScript client refuses the same answers (``tests/vectors/ledger.json``).

The ledger that people use, on disk or in memory, is `discreet.device.ledger.Ledger`.

The file is long because losses, accounts and what is shown before an answer are one arithmetic.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from discreet.errors import DiscreetError, PrivacyError
from discreet.privacy.exact import ceil_decimal, log_above

Rational = Fraction | int | float | str
"""A number that is meant exactly: a float is read as it is written, a text may be a fraction such as "1/3"."""
_CONTEXT = Context(prec=80)


class BudgetError(PrivacyError):
    """An answer that would exceed a person's limit; it is not given."""


class AnsweredBefore(PrivacyError):
    """An answer that was given before; it is never drawn again, because fresh noise would reveal more."""


class AnswerLost(AnsweredBefore):
    """An answer that was charged before, and whose report is not there to be sent."""


KNOWN = "this report id was charged before; it never gets a second report"
"""Why an answer under a known id is refused."""
MOST_ROUNDS = (1 << 32) - 1
"""The largest number of a round; it has four bytes in an upload."""


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
        raise DiscreetError(f"{name} must be a number or a fraction such as '1/3', not {epsilon!r}") from None
    if found <= 0:
        raise DiscreetError(f"{name} must be above 0, not {epsilon}")
    return found


@dataclass(frozen=True)
class Loss:
    """What answers of one person reveal, exactly: e^loss = ratio * e^epsilon. Losses add.

    Attributes
    ----------
    ratio : Fraction
        Product of the exact ratios of the mechanisms that answered; 1 if there are none.
    epsilon : Fraction
        Sum of the claims of answers whose ratio is not known.

    Examples
    --------
    >>> import discreet as dc
    >>> loss = Loss(dc.mechanism("duchi", epsilon=1).certificate.ratio) + Loss(epsilon=Fraction(1, 2))
    >>> loss.within(Fraction(3, 2)), loss.within(Fraction(149, 100))
    (True, False)
    """

    ratio: Fraction = Fraction(1)
    epsilon: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.ratio < 1 or self.epsilon < 0:
            raise DiscreetError(f"a loss needs a ratio from 1 and an epsilon from 0, not {self.ratio}, {self.epsilon}")

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(self.ratio * other.ratio, self.epsilon + other.epsilon)

    def __bool__(self) -> bool:
        return self != Loss()

    @property
    def total(self) -> Fraction:
        """The whole loss as one epsilon: exact if no ratio is known, otherwise rounded up."""
        return self.epsilon if self.ratio == 1 else self.epsilon + Fraction(log_above(self.ratio))

    def within(self, limit: Fraction) -> bool:
        """Whether the loss is at most ``limit``; never true by rounding."""
        rest = limit - self.epsilon
        if self.ratio == 1 or rest < 0:
            return rest >= 0
        logarithm = log_above(self.ratio)
        if abs(float(rest) - logarithm) > 1e-9 * (1 + logarithm):
            return float(rest) > logarithm
        exponent = _CONTEXT.divide(Decimal(rest.numerator), Decimal(rest.denominator))
        return self.ratio <= Fraction(_CONTEXT.exp(exponent)) * (1 - Fraction(1, 10**70))


Cost = Rational | Loss
"""What an answer costs: its claimed epsilon, or its exact loss."""


@dataclass(frozen=True)
class Composition:
    """What an answer costs and what it leads to; shown before answering.

    Attributes
    ----------
    before, cost, after : Fraction
        Spent so far, by this answer, and then. ``cost`` is 0 for a repeated permanent answer.
    limit : Fraction or None
        The most that the person may spend.
    is_allowed : bool
        Whether the limit is kept, and the report's id was never charged before.
    reason : str
        Why it costs what it costs.
    """

    subject: str
    campaign: str
    round: int
    before: Fraction
    cost: Fraction
    after: Fraction
    limit: Fraction | None
    is_allowed: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "subject": self.subject,
            "campaign": self.campaign,
            "round": self.round,
            "before": written(self.before),
            "cost": written(self.cost),
            "after": written(self.after),
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
    """Write a fraction for people: as a short decimal where that is exact, otherwise rounded up.

    Examples
    --------
    >>> shown(Fraction(3, 2)), shown(Fraction(1, 3)), shown(Fraction(0.9999999999))
    ('1.5', '0.333334', '1')
    """
    short = f"{float(epsilon):g}"
    if Fraction(short) == epsilon:
        return short
    rounded = ceil_decimal(float(epsilon), 6)
    return rounded.rstrip("0").rstrip(".")


def written(epsilon: Fraction, rounding: str = ROUND_CEILING) -> str:
    """Write an epsilon for JSON: exactly if that is short, otherwise with twelve decimals.

    Examples
    --------
    >>> written(Fraction(2)), written(Fraction(1, 3)), written(Fraction(0.9999999999999838))
    ('2', '1/3', '1.000000000000')
    """
    if epsilon.denominator < 10**9:
        return str(epsilon)
    exact = _CONTEXT.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return str(exact.quantize(Decimal(1).scaleb(-12), rounding=rounding, context=_CONTEXT))


@dataclass
class Account:
    """One person's entries, in the order in which they were charged."""

    loss: Loss = field(default_factory=Loss)
    entries: list[dict[str, Any]] = field(default_factory=list)
    permanent: set[tuple[str, str]] = field(default_factory=set)

    @property
    def spent(self) -> Fraction:
        """Epsilon of all entries together; rounded up if exact ratios are among them."""
        return self.loss.total

    def add(self, entry: dict[str, Any]) -> None:
        """Add an entry that was charged."""
        self.loss += loss_of(entry)
        self.entries.append(entry)
        if entry["permanent"]:
            self.permanent.add((entry["campaign"], entry["permanent"]))


def loss_of(entry: dict[str, Any]) -> Loss:
    """Return the loss of an entry: its exact ratio if that is known, otherwise its claim."""
    return Loss(Fraction(entry["ratio"])) if entry["ratio"] else Loss(epsilon=Fraction(entry["epsilon"]))


class Accounts:
    """The accounts of any number of people under one limit, in memory.

    Parameters
    ----------
    limit : number or fraction, optional
        The most that one person may spend.
    """

    def __init__(self, limit: Rational | None = None) -> None:
        self.limit = None if limit is None else rational(limit, "limit")
        self._accounts: dict[str, Account] = {}
        self._reports: set[str] = set()

    @property
    def subjects(self) -> list[str]:
        """Everybody who was charged."""
        return list(self._accounts)

    def account(self, subject: str) -> Account:
        """Return a person's account (an empty one for a new person)."""
        return self._accounts.get(subject, Account())

    def has_answered(self, subject: str, campaign: str) -> bool:
        """Whether a person was charged for a campaign, in whatever round."""
        return any(entry["campaign"] == campaign for entry in self.account(subject).entries)

    def spent(self, subject: str) -> Fraction:
        """Return what a person has spent."""
        return self.account(subject).spent

    def remaining(self, subject: str) -> Fraction | None:
        """Return what a person may still spend; None without a limit."""
        return None if self.limit is None else max(Fraction(0), self.limit - self.spent(subject))

    def preview(
        self,
        subject: str,
        campaign: str,
        epsilon: Cost,
        *,
        round: int = 1,
        report: str = "",
        permanent: str = "",
    ) -> Composition:
        """Return what an answer would cost, without charging it; parameters as in `charge`."""
        for name, text in (("subject", subject), ("campaign", campaign)):
            if not isinstance(text, str) or not text:
                raise DiscreetError(f"{name} must be a text that is not empty, not {text!r}")
        if isinstance(round, bool) or not isinstance(round, int) or not 1 <= round <= MOST_ROUNDS:
            raise DiscreetError(f"round must be a whole number from 1 to {MOST_ROUNDS}, not {round!r}")
        if not isinstance(report, str) or not isinstance(permanent, str):
            raise DiscreetError("report and permanent must be texts: an id, and what `permanent_tag` returns")
        cost, reason = _loss(epsilon), "a fresh answer"
        account = self.account(subject)
        is_known = bool(report) and report in self._reports
        if is_known:
            reason = KNOWN
        elif permanent and (campaign, permanent) in account.permanent:
            cost, reason = Loss(), "the permanent answer to a value that was charged before"
        elif permanent:
            reason = "the permanent answer to a new value"
        after = account.loss + cost
        allowed = not is_known and (self.limit is None or not cost or after.within(self.limit))
        return Composition(
            subject, campaign, round, account.spent, cost.total, after.total, self.limit, allowed, reason
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the accounts alone while an answer is charged; the ledger of a device says how."""
        yield

    def charge(
        self,
        subject: str,
        campaign: str,
        epsilon: Cost,
        *,
        round: int = 1,
        report: str = "",
        permanent: str = "",
    ) -> Composition:
        """Charge an answer before it is drawn; raise `BudgetError` and charge nothing if it is too much.

        An id that was charged before raises `AnsweredBefore`: what was drawn for it may be sent again, as it is, but
        nothing is drawn for it twice.

        Parameters
        ----------
        subject, campaign : str
            Who answers what; a pseudonym is enough.
        epsilon : number, fraction or Loss
            What the answer costs: a claim, or the exact loss.
        round : int
            Of the campaign; each round is charged.
        report : str
            Id of the report, if there is one: no id is charged twice, whoever answers what.
        permanent : str
            For permanent answers: what `permanent_tag` returns for the value. The same tag is not charged twice.
        """
        with self.transaction():
            found = self.preview(subject, campaign, epsilon, round=round, report=report, permanent=permanent)
            if found.reason == KNOWN:
                raise AnsweredBefore(KNOWN)
            if not found.is_allowed:
                raise BudgetError(str(found))
            if found.cost:
                ratio = _loss(epsilon).ratio
                entry = {
                    "subject": subject,
                    "campaign": campaign,
                    "round": round,
                    "epsilon": str(found.cost) if ratio == 1 else written(found.cost),
                    "ratio": "" if ratio == 1 else f"{ratio.numerator}/{ratio.denominator}",
                    "report": report,
                    "permanent": permanent,
                }
                self._keep(entry)
                self._add(entry)
            return found

    def _keep(self, entry: dict[str, Any]) -> None:
        """Make an entry durable; in memory there is nothing to do."""

    def _add(self, entry: dict[str, Any]) -> None:
        self._accounts.setdefault(entry["subject"], Account()).add(entry)
        if entry["report"]:
            self._reports.add(entry["report"])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values: one row per person."""
        return {
            "limit": None if self.limit is None else str(self.limit),
            "people": [
                {
                    "subject": subject,
                    "spent": written(account.spent),
                    "remaining": None if left is None else written(left, ROUND_FLOOR),
                    "answers": len(account.entries),
                    "campaigns": sorted({entry["campaign"] for entry in account.entries}),
                }
                for subject, account in self._accounts.items()
                for left in [self.remaining(subject)]
            ],
        }


def _loss(epsilon: Cost) -> Loss:
    if not isinstance(epsilon, Loss):
        return Loss(epsilon=rational(epsilon))
    if not epsilon:
        raise DiscreetError("epsilon must be above 0: an answer that reveals nothing need not be given")
    if epsilon.ratio != 1 and epsilon.epsilon:
        raise DiscreetError("one answer has an exact ratio or a claim, not both")
    return epsilon


def total(*epsilons: Rational) -> Fraction:
    """Return what several answers of one person cost together: their sum, exactly.

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
        raise DiscreetError(f"parts must be a whole number from 1, not {parts!r}")
    share = rational(epsilon) / parts
    found = float(share)
    while max(Fraction(found), rational(found)) > share:  # as the machine holds it, and as the ledger reads it
        found = math.nextafter(found, 0.0)
    return found
