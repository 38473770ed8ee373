"""A round that this device has verified, and how it is answered.

Nothing of the collector is believed: each mechanism's certificate is computed again, and a round whose answers together
reveal more than it claims, or more than the owner allows, is refused before any value is read. So is a round with a
channel that is not total (`discreet.plans.encoders`). What is answered afterwards always has the same length and uses
the same number of random words, whatever the value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bytes, Counts
from discreet.errors import DiscreetError, PrivacyError, WireError
from discreet.mechanisms.shapes.public_coin import PublicCoin
from discreet.messages.ids import ticket_group
from discreet.messages.rounds import read_announcement
from discreet.messages.uploads import entry_width, lead, pieces, report_ids, write_groups
from discreet.plans.assignment import drawn_by_id, thresholds
from discreet.plans.base import Channel, Round, group_place
from discreet.privacy.entropy import Entropy
from discreet.privacy.ledger import Loss, Rational, rational, shown


@dataclass(frozen=True)
class VerifiedRound:
    """A round that was fetched and checked: what it asks is as private as it claims, and within the limit.

    Attributes
    ----------
    campaign : bytes
        Id of the campaign.
    admission : str
        Who may answer: open, issued or invited.
    epsilon : float
        What the collector claims for all answers of one person in this round.
    round : Round
        What is asked.
    """

    campaign: bytes
    admission: str
    epsilon: float
    round: Round

    @classmethod
    def read(cls, document: Any, limit: Rational | None = None) -> "VerifiedRound":
        """Check an announcement, best as its text: every certificate, the claim, the owner's limit, the layout."""
        found = read_announcement(document)
        verified = cls(found.campaign, found.admission, found.epsilon, found.round)
        for channel in found.round.channels[: found.round.block]:  # public groups are asked alike
            if channel.mechanism.epsilon > found.epsilon:
                own = channel.mechanism.epsilon
                raise PrivacyError(f"channel {channel.key} has epsilon {own}; the campaign claims {found.epsilon}")
        for first in range(found.round.block):
            loss = verified._loss(first)
            if loss.ratio == 1:
                raise WireError("what one person answers reveals nothing, so it need not be asked")
            if not loss.within(Fraction(found.epsilon)):
                raise PrivacyError(
                    f"what one person answers has epsilon {shown(loss.total)}; the campaign claims {found.epsilon}"
                )
            if limit is not None and not loss.within(rational(limit, "limit")):
                raise PrivacyError(
                    f"the campaign asks for epsilon {shown(loss.total)}; the owner of this device allows {limit}"
                )
        return verified

    @property
    def number(self) -> int:
        """Number of the round, from 1."""
        return self.round.number

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels of the round."""
        return self.round.channels

    @property
    def width(self) -> int:
        """Bytes of one person's packed reports."""
        return entry_width(self.round)

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each channel ends on a scale of 2^48; public groups are asked alike, in channels of their own."""
        return thresholds(self.round.shares[: self.round.block])

    def loss(self, report_id: bytes) -> Loss:
        """Return what the answers under a report id reveal, exactly; a public group is no secret and costs nothing."""
        return self._loss(int(drawn_by_id(self.campaign, self.number, report_ids([report_id]), self.ends)[0]))

    def group(self, label: Any = None, ticket: bytes | None = None) -> int | None:
        """Return the number of a person's public group; None if the round has no groups.

        Parameters
        ----------
        label : object, optional
            What the person states. It is public, so an error names it.
        ticket : bytes, optional
            The invitation. If it was made for a group, the person need not, and cannot, state another.
        """
        by = self.round.by
        if by is None:
            if label is not None:
                raise DiscreetError("the campaign does not ask by group; leave the group out")
            return None
        invited = ticket_group(ticket) if ticket is not None and self.admission == "invited" else None
        if label is None and invited is None:
            raise DiscreetError(f"the campaign asks by group: say which of the {by.size} groups the answer belongs to")
        stated = invited if label is None else group_place(label, by)
        if invited is not None and invited != stated:
            raise DiscreetError("group must be the one of the invitation; leave it out")
        if stated is None or stated >= by.size:
            raise DiscreetError("the invitation was made for a group that the campaign does not have")
        return stated

    def _loss(self, drawn: int) -> Loss:
        return sum((Loss(one.mechanism.certificate.ratio) for one in self.round.answered(drawn)), Loss())

    def privatize(
        self,
        values: Any,
        ids: Sequence[bytes],
        entropy: Entropy | None = None,
        groups: Sequence[int | None] | None = None,
    ) -> Bytes:
        """Return the packed reports of each person; the report's id decides the channels and the public coin.

        Any objects are values: see `entries`, which also says which of them could not be read.
        """
        return self.entries(values, ids, entropy, groups).packed

    def entries(
        self,
        values: Any,
        ids: Sequence[bytes],
        entropy: Entropy | None = None,
        groups: Sequence[int | None] | None = None,
    ) -> "Entries":
        """Return the packed reports of each person, and whose value was replaced by a constant.

        After this round was verified, nothing in here depends on the values but the reports' content: no error, no
        length, and no number of random words. A value that cannot be read is answered by a constant input
        (`discreet.plans.encoders`).

        Parameters
        ----------
        values : list or numpy.ndarray
            What each person holds; to a questionnaire, their answers by name.
        ids : sequence of bytes
            The id of each report.
        entropy : Entropy, optional
            The operating system's unless given.
        groups : sequence of int, optional
            The number of each person's public group (`group`), in a round that asks by group.
        """
        names = report_ids(ids)
        if len(values) != len(ids):
            raise DiscreetError(f"there must be one id per value: {len(values)} values, {len(ids)} ids")
        codes = self._codes(groups, len(ids))
        form = self.round.form
        if form is not None:
            values = [form.row(value) if isinstance(value, Mapping) else value for value in values]
        packed, replaced = np.zeros((len(ids), self.width), dtype=np.uint8), np.zeros(len(ids), dtype=np.bool_)
        if codes is not None:
            packed[:, : lead(self.round)] = write_groups(codes)
        for piece in pieces(self.round, drawn_by_id(self.campaign, self.number, names, self.ends, codes)):
            channel, people = self.round.channels[piece.channel], piece.people.tolist()
            held = values[piece.people] if isinstance(values, np.ndarray) else [values[i] for i in people]
            encoded, mechanism = channel.encoder.encode_total(held), channel.mechanism
            replaced[piece.people] |= encoded.replaced
            if isinstance(mechanism, PublicCoin):
                coins = np.array([mechanism.public_word(ids[i]) for i in people], dtype=np.uint64)
                reports = mechanism.privatize(encoded.inputs, entropy, public=coins)
            else:
                reports = mechanism.privatize(encoded.inputs, entropy)
            out = np.frombuffer(mechanism.pack(reports), dtype=np.uint8)
            packed[piece.people, piece.start : piece.stop] = out.reshape(len(people), -1)
        return Entries(packed, replaced)

    def _codes(self, groups: Sequence[int | None] | None, count: int) -> Counts | None:
        by = self.round.by
        given = [code for code in groups or () if code is not None]
        if by is None:
            if given:
                raise DiscreetError("the campaign does not ask by group; leave the groups out")
            return None
        if len(given) != count or not all(0 <= code < by.size for code in given):
            raise DiscreetError(f"the campaign asks by group: {count} people need a group each, of {by.size}")
        return np.array(given, dtype=np.int64)


class Entries(NamedTuple):
    """What some people send, one row each, and whose value could not be read: that stays on the device."""

    packed: Bytes
    replaced: npt.NDArray[np.bool_]
