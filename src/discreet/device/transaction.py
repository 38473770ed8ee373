"""One answer of one person: a transaction that charges, draws and keeps, and then sends.

    lock, read, refuse, charge, draw, keep, unlock      all while nobody else has the ledger and its outbox
    send, lock, forget, unlock                          again and again, with the same bytes, until acknowledged

The round was verified before, and nothing of it depends on the value. Everything that may be refused is refused before
the value is read: a campaign that was answered, a report id that was charged, a budget that is spent. After the charge
nothing fails for a value (`discreet.plans.encoders`). An id once charged is never drawn for again: if the device stops
between charge and outbox, the answer is lost, its budget stays spent, and the person is told so.

``tests/device/model.py`` searches all interleavings of these steps with crashes; the steps here have its names.
"""

from collections.abc import Callable
from typing import TypeVar

from discreet.device.ledger import Ledger
from discreet.device.outbox import Kept, Outbox
from discreet.device.rounds import VerifiedRound
from discreet.privacy.entropy import Entropy
from discreet.privacy.ledger import AnsweredBefore, AnswerLost

T = TypeVar("T")


def step(name: str) -> None:
    """Say that a step begins. Does nothing: tests replace it, to follow the steps or to crash between them."""


class Transaction:
    """A person's answer to one campaign.

    Parameters
    ----------
    ledger : Ledger
        What is charged; its lock is held from the first check until the report is kept.
    outbox : Outbox
        Where the report is kept; it belongs to the ledger.
    campaign, subject : str
        What is answered, and whose account is charged.
    """

    def __init__(self, ledger: Ledger, outbox: Outbox, campaign: str, subject: str) -> None:
        self.ledger, self.outbox, self.campaign, self.subject = ledger, outbox, campaign, subject

    def waiting(self) -> Kept | None:
        """Return the report that waits; None if the campaign may be answered; otherwise raise `AnsweredBefore`."""
        with self.ledger.transaction():
            return self._waiting()

    def answer(
        self,
        asked: VerifiedRound,
        report_id: bytes,
        sent: bytes,
        value: object,
        entropy: Entropy,
        group: int | None = None,
    ) -> Kept:
        """Charge, draw and keep; a report that waits already is returned as it is.

        Parameters
        ----------
        asked : VerifiedRound
            What is answered.
        report_id, sent : bytes
            The id of the report, and what is sent with it: the id itself, or the ticket that it follows from.
        value : object
            What the person holds.
        entropy : Entropy
            Source of the noise.
        group : int, optional
            The person's public group, in a round that asks by group.
        """
        step("lock")
        with self.ledger.transaction():
            step("read")
            found = self.outbox.find(self.campaign, self.subject)
            step("refuse")
            kept = self._checked(found)
            step("charge")
            if kept is None:
                loss, name = asked.loss(report_id), report_id.hex()
                self.ledger.charge(self.subject, self.campaign, loss, round=asked.number, report=name)
            step("draw")
            drawn = asked.entries([value], [report_id], entropy, [group]) if kept is None else None
            step("keep")
            if drawn is not None:
                report, is_replaced = drawn.packed.tobytes(), bool(drawn.replaced[0])
                kept = Kept(self.campaign, self.subject, asked.number, sent, report, is_replaced)
                self.outbox.keep(kept)
            step("unlock")
        assert kept is not None
        return kept

    def deliver(self, kept: Kept, send: Callable[[Kept], T]) -> T:
        """Send a report, and forget it once that has succeeded; if it fails, the report waits."""
        step("send")
        receipt = send(kept)
        step("lock")
        with self.ledger.transaction():
            step("forget")
            self.outbox.done(kept)
            step("unlock")
        return receipt

    def _waiting(self) -> Kept | None:
        return self._checked(self.outbox.find(self.campaign, self.subject))

    def _checked(self, found: Kept | None) -> Kept | None:
        """Return what waits; refuse what was answered, sent or not."""
        if found is not None and found.is_waiting:
            return found
        if found is not None:
            raise AnsweredBefore(f"{self.subject} has answered this campaign before; a campaign is answered once")
        if self.ledger.has_answered(self.subject, self.campaign):
            raise AnswerLost(
                f"{self.subject} has answered this campaign before, but no report of it is kept: it was lost when the "
                "device stopped, or is in another outbox. Its budget stays spent, and no second report is drawn"
            )
        return None
