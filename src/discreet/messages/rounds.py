"""Rounds: the document of what is asked, and the announcement of an open round to devices.

A round's document is written once, when the plan opens the round, and never changes: devices verify it, and whoever
stored it (the service, a file of reports) reads it again to count and to estimate.

    {"kind": "round", "version": 2, "round", "share", "answers", "width", "thresholds",
     "channels": [{"key", "mechanism", "mechanism_id", "encoder", "certificate"}, …]}

A round that asks public groups also has ``by``, the groups' labels. All groups are asked alike: ``channels`` and
``thresholds`` are those of each of them. Every entry of an upload then begins with the number of the person's group
(`discreet.messages.uploads`), and each group has tallies of its own.

A questionnaire also has ``questions``, its form (`discreet.plans.questionnaire.form`): what a device asks, and how
answers become the row that the channels read.

``thresholds`` say who answers which channel (`discreet.plans.assignment`), ``answers`` how many channels each person
answers, ``width`` how long an entry of an upload is. The certificate is there for people to read: every reader computes
its own. An announcement adds ``campaign``, ``admission`` and the claimed ``epsilon`` of the whole round.

Documents of version 0.1, which had no kind, are read as well.

Devices read the text of an announcement, not what another parser made of it: a repeated key, a NaN, a fraction where a
whole number is due, and a text that could exhaust the reader are refused (`discreet.wire.parse`). A text has at most
2^22 characters, a person's reports at most 2^16 - 1 bytes, channels times answers are at most 2^14, and the
certificates of a round take little work (`discreet.messages.limits`), in Python and JavaScript. Channels that are not
total are refused (`discreet.plans.encoders`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.domains import Categories
from discreet.errors import DiscreetError, PrivacyError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.messages.ids import ADMISSIONS, ID_BYTES
from discreet.messages.limits import check_work
from discreet.messages.uploads import MAX_WIDTH, entry_width
from discreet.plans.assignment import shares, thresholds
from discreet.plans.base import MOST_GROUPS, Channel, Round
from discreet.plans.encoders import read_domain, read_encoder, write_encoder
from discreet.plans.questionnaire.form import Form
from discreet.privacy.exact import EPSILON_MAX, TOTAL
from discreet.wire import check_depth, parse

VERSION = 2
MAX_CHANNELS = 1 << 14
"""The most channels of a round, times the answers of each person: the work of verifying it."""
MAX_CHARACTERS = 1 << 22
"""The longest text of an announcement that a device reads."""
_ROUND = {"kind", "version", "round", "share", "answers", "width", "thresholds", "channels"}
_OPTIONAL = {"by", "questions"}
_CHANNEL = {"key", "mechanism", "mechanism_id", "encoder", "certificate"}
_HEAD = {"campaign", "admission", "epsilon"}
_FIRST = {"round", "width", "thresholds", "channels"}
"""The fields of a round of version 0.1."""


def write_round(asked: Round) -> dict[str, Any]:
    """Return the document of a round, JSON-ready.

    Examples
    --------
    >>> import discreet as dc
    >>> asked = dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi").round([])
    >>> document = write_round(asked)
    >>> document["width"], document["thresholds"] == [2**48]
    (1, True)
    >>> read_round(document).channels[0].mechanism.name
    'duchi'
    """
    groups = {} if asked.by is None else {"by": asked.by.to_dict()}
    alike = asked if asked.by is None else asked.of_group(asked.by.labels[0])
    questions = {} if asked.form is None else {"questions": asked.form.to_list()}
    return (
        groups
        | questions
        | {
            "kind": "round",
            "version": VERSION,
            "round": asked.number,
            "share": asked.share,
            "answers": asked.answers,
            "width": entry_width(asked),
            "thresholds": list(thresholds(alike.shares)),
            "channels": [
                {
                    "key": channel.key,
                    "mechanism": channel.mechanism.to_document(),
                    "mechanism_id": channel.mechanism.id,
                    "encoder": write_encoder(channel.encoder),
                    "certificate": channel.mechanism.certificate.to_dict(),
                }
                for channel in alike.channels
            ],
        }
    )


def read_round(document: Any) -> Round:
    """Read a round's document; every certificate is computed again.

    Raises `WireError` for anything but a round of a version that is known here, and `PrivacyError` for a mechanism that
    exceeds its own claim.
    """
    check_depth(document, "round")
    fields = _upgraded(_object(document, "round"))
    _check_fields(fields, _ROUND | (_OPTIONAL & set(fields)), "round")
    if fields["kind"] != "round" or fields["version"] != VERSION or isinstance(fields["version"], (bool, float)):
        raise WireError(
            f"document is a {fields['kind']!r} of version {fields['version']!r}; "
            f"this version of discreet reads a 'round' of version {VERSION}"
        )
    ends = _ends(fields["thresholds"])
    listed = fields["channels"]
    if not isinstance(listed, list) or len(listed) != len(ends):
        raise WireError(f"the round must have as many channels as thresholds, {len(ends)}")
    check_work(one.get("mechanism") for one in listed if isinstance(one, Mapping))
    known: dict[str, Mechanism] = {}  # attributes that are asked alike share a mechanism, which is certified once
    channels = tuple(
        _read_channel(_object(one, "channel"), share, known) for one, share in zip(listed, shares(ends), strict=True)
    )
    if len({channel.key for channel in channels}) != len(channels):
        raise WireError("the channels of a round must have different keys")
    number = _whole("round", fields["round"], 1, (1 << 32) - 1)
    answers = _whole("answers", fields["answers"], 1, min(len(channels), MAX_CHANNELS // len(channels)))
    form = _form(fields["questions"], channels) if "questions" in fields else None
    asked = Round(number, channels, _real("share", fields["share"], 1.0), answers, form=form)
    if "by" in fields:
        asked = asked.by_group(_groups(fields["by"], len(channels)))
    if _whole("width", fields["width"], 1, MAX_WIDTH) != entry_width(asked):
        raise WireError(f"width must be {entry_width(asked)} for these mechanisms, not {fields['width']}")
    return asked


@dataclass(frozen=True)
class Announcement:
    """An open round, as a collector announces it to devices.

    Attributes
    ----------
    campaign : bytes
        Id of the campaign.
    admission : str
        Who may answer; see `discreet.messages.ids.ADMISSIONS`.
    epsilon : float
        What all answers of one person in this round cost together, as the collector claims.
    round : Round
        What is asked.
    """

    campaign: bytes
    admission: str
    epsilon: float
    round: Round


def announce(document: Mapping[str, Any], campaign: bytes, admission: str, epsilon: float) -> dict[str, Any]:
    """Return the announcement of a round whose document `write_round` wrote."""
    return {"campaign": campaign.hex(), "admission": admission, "epsilon": epsilon} | dict(document)


def read_announcement(document: Any) -> Announcement:
    """Read what `announce` wrote, as text or parsed; see `read_round` for what it refuses.

    What a stranger sent must be given as its text: a parsed document no longer tells whether a key was repeated.
    """
    if isinstance(document, (str, bytes)):
        document = parse(document, "announcement", MAX_CHARACTERS)
    check_depth(document, "announcement")  # for one that was parsed elsewhere
    fields = dict(_object(document, "announcement"))
    missing = sorted(_HEAD - set(fields))
    if missing:
        raise WireError(f"announcement lacks the field {missing[0]!r}")
    campaign, admission, epsilon = (fields.pop(key) for key in ("campaign", "admission", "epsilon"))
    if not isinstance(campaign, str) or len(campaign) != 2 * ID_BYTES or not set(campaign) <= set("0123456789abcdef"):
        raise WireError(f"campaign must be {2 * ID_BYTES} hexadecimal digits")
    if not isinstance(admission, str) or admission not in ADMISSIONS:
        raise WireError(f"admission must be one of {', '.join(ADMISSIONS)}, not {admission!r}")
    claimed = _real("epsilon", epsilon, EPSILON_MAX)
    return Announcement(bytes.fromhex(campaign), admission, claimed, read_round(fields))


def _upgraded(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document of version 0.1 as one of today: one answer per person; the share was not written."""
    if set(fields) != _FIRST:
        return fields
    return {"kind": "round", "version": VERSION, "share": 1.0, "answers": 1} | dict(fields)


def _read_channel(fields: Mapping[str, Any], share: float, known: dict[str, Mechanism]) -> Channel:
    _check_fields(fields, _CHANNEL, "channel")
    key = fields["key"]
    if not isinstance(key, str):
        raise WireError(f"the key of a channel must be a text, not {key!r}")
    try:
        document = dict(_object(fields["mechanism"], "mechanism"))
        text = json.dumps(document, sort_keys=True)
        if text not in known:
            known[text] = Mechanism.from_document(document)
        mechanism = known[text]
        channel = Channel(key, mechanism, read_encoder(fields["encoder"]), share)  # refuses what is not total
    except (WireError, PrivacyError):
        raise
    except DiscreetError as error:
        raise WireError(f"channel {key!r}: {error}") from None
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        raise WireError(f"channel {key!r} cannot be read: {type(error).__name__}") from None
    if fields["mechanism_id"] != mechanism.id:
        raise WireError(f"channel {key!r}: mechanism_id is not that of its mechanism")
    return channel


def _groups(document: Any, channels: int) -> Categories:
    """Read the public groups of a round."""
    try:
        groups = read_domain(document)
    except DiscreetError as error:
        raise WireError(f"by must hold the labels of the public groups: {error}") from None
    most = min(MOST_GROUPS, MAX_CHANNELS // channels)
    if not isinstance(groups, Categories) or groups.size > most:
        raise WireError(f"by must hold the labels of at most {most} public groups")
    if len({str(label) for label in groups.labels}) < groups.size:
        raise WireError("by must hold labels that differ as texts")
    return groups


def _form(document: Any, channels: Sequence[Channel]) -> Form:
    """Read the questions of a round, and check that its channels read their columns."""
    try:
        form = Form.read(document)
        for channel in channels:
            form.check(channel.encoder)
    except DiscreetError as error:
        raise WireError(f"questions cannot be asked: {error}") from None
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise WireError(f"questions cannot be read: {type(error).__name__}") from None
    return form


def _ends(values: Any) -> list[int]:
    if not isinstance(values, list) or not 1 <= len(values) <= MAX_CHANNELS:
        raise WireError(f"thresholds must be a list of 1 to {MAX_CHANNELS} whole numbers")
    ends = [_whole("thresholds", value, 0, TOTAL) for value in values]
    if ends != sorted(ends) or ends[-1] != TOTAL:
        raise WireError("thresholds must not fall, and the last one must be 2^48")
    return ends


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WireError(f"{name} must be an object, not a {type(value).__name__}")
    return value


def _check_fields(fields: Mapping[str, Any], expected: set[str], name: str) -> None:
    for key in sorted(expected - set(fields)):
        raise WireError(f"{name} lacks the field {key!r}")
    for key in sorted(set(fields) - expected):
        raise WireError(f"{name} has the unknown field {key!r}")


def _whole(name: str, value: Any, low: int, high: float) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise WireError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return value


def _real(name: str, value: Any, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= high:
        raise WireError(f"{name} must be a number above 0 and at most {high:g}, not {value!r}")
    return float(value)
