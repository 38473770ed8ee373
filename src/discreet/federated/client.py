"""A device in federated learning: every round is charged to its ledger before anything is sent.

Epsilon is per message. Someone who takes part in T rounds spends T times epsilon, whatever the rounds have in common
(basic composition): fifty rounds at 5 are 250, not 5. So the limit belongs on the device: once it is spent, the device
refuses, whatever the server asks.
"""

from fractions import Fraction
from typing import Any

from discreet.device.ledger import Ledger
from discreet.errors import DiscreetError
from discreet.federated.tallies import PrivateUpdate
from discreet.federated.updates import Updates
from discreet.privacy.entropy import Entropy
from discreet.privacy.ledger import Composition


class UpdateClient:
    """One person's device in the training of one model.

    Parameters
    ----------
    design : Updates
        How updates are privatised.
    ledger : Ledger
        With a limit; charged ``design.epsilon`` for each round.
    subject, campaign : str
        Who, and for which model.

    Examples
    --------
    >>> device = UpdateClient(Updates(3, epsilon=5, range=0.3, method="duchi"), Ledger(limit=10), "phone", "gamma")
    >>> sent = device.answer([0.1, 0.0, -0.2], round=1)
    >>> sent = device.answer([0.1, 0.0, -0.1], round=2)
    >>> device.answer([0.0, 0.0, -0.1], round=3)
    Traceback (most recent call last):
    ...
    discreet.privacy.ledger.BudgetError: 10 spent + 5 for gamma round 3 = 15 (limit 10): REFUSED
    """

    def __init__(self, design: Updates, ledger: Ledger, subject: str = "me", campaign: str = "federated") -> None:
        if ledger.limit is None:
            raise DiscreetError("the ledger must have a limit, because rounds add up")
        self.design, self.ledger, self.subject, self.campaign = design, ledger, subject, campaign

    @property
    def spent(self) -> Fraction:
        """Epsilon of all rounds so far."""
        return self.ledger.spent(self.subject)

    def preview(self, round: int) -> Composition:
        """Return what a round would cost, to be asked before training."""
        return self.ledger.preview(self.subject, self.campaign, self.design.epsilon, round=round)

    def answer(self, update: Any, round: int, entropy: Entropy | None = None) -> PrivateUpdate:
        """Charge the round, then privatise the update; raise `BudgetError`, and reveal nothing, if it is too much.

        The charge comes first and stays if anything fails afterwards: what was perhaps seen is never free. The same
        round asked twice is charged twice, because its noise is drawn afresh.
        """
        self.ledger.charge(self.subject, self.campaign, self.design.epsilon, round=round)
        return self.design.privatize(update, entropy)
