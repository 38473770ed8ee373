"""Announcements of rounds: who answers which channel and with what, and why others are refused."""

import dataclasses
import json
from typing import Any

from tests.vectors.dice import KEY, Dice
from tests.vectors.encoders import bad_encoders

import discreet as dc
from discreet.device.rounds import VerifiedRound
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.shapes.window import flat_window
from discreet.messages.rounds import announce, write_round
from discreet.messages.uploads import lead, report_ids
from discreet.plans.assignment import drawn_by_id
from discreet.plans.base import Channel, Round
from discreet.plans.encoders import Attribute, Bucket, RangeEncoder
from discreet.privacy.exact import TOTAL


def rounds(dice: Dice) -> list[dict[str, Any]]:
    """Return announcements that are read and some that are refused."""
    wage, age, share = Interval(0, 100_000), Interval(0, 120), Interval(-1, 1)
    duchi, wave = dc.mechanism("duchi", 0.5), dc.mechanism("piecewise", 0.5)
    means = tuple(
        Channel(key, m, Attribute(i, domain), part)
        for i, (key, m, domain, part) in enumerate(
            (("wage", wave, wage, 1.0), ("age", duchi, age, 2.0), ("share", wave, share, 1.5))
        )
    )
    colours = Categories(["red", "green", "blue", "Zürich"])
    hashing = Channel("colour", dc.mechanism("local-hashing", 1, size=4), colours)
    campaign = dice.bytes(16)

    def row() -> list[float]:
        return [50_000 * (1 + dice.real()), 60 * (1 + dice.real()), dice.real()]

    def announced_round(asked: Round, epsilon: float) -> dict[str, Any]:
        return announce(write_round(asked), bytes.fromhex(campaign), "issued", epsilon)

    one = announced_round(Round(1, (Channel("all", dc.mechanism("duchi", 1), wage),)), 1.0)
    divided = announced_round(Round(2, means, 0.25), 0.5)
    several = announced_round(Round(3, means, 1.0, 2), 1.0)
    everything = announced_round(Round(1, means, 1.0, 3), 1.5)
    public = announced_round(Round(1, (hashing,)), 1.0)
    response = dc.mechanism("randomized-response", 1, size=4)
    four = announced_round(Round(1, (Channel("all", response, Bucket(wage, 4)),)), 1.0)
    some = RangeEncoder(wage, 10_000, 50_000, (20_000, 40_000))
    part = announced_round(Round(1, (Channel("all", range_mechanism("outside-symbol", "duchi", 1), some),)), 1.0)
    first = {key: one[key] for key in ("campaign", "admission", "epsilon", "round", "width", "thresholds", "channels")}

    def answers() -> list[Any]:
        return [dice.below(3), dice.below(6), dice.real() * 100 if dice.below(4) else None, *(dice.below(5),) * 2]

    unreadable = (lambda: None, lambda: "41873", lambda: [True, {}, []])  # answered with a constant input
    good: list[tuple[dict[str, Any], float | None, Any]] = [
        (one, None, lambda: 50_000 * (1 + dice.real())), (one, 1.0, lambda: 1e9), (first, 2.5, lambda: 7.0),
        (divided, 0.5, row), (several, 1.0, row), (everything, None, row),
        (public, None, lambda: colours.labels[dice.below(4)]),
        *((document, None, value) for document in (one, several, public, four, part) for value in unreadable),
        *((survey(), None, value) for value in (answers, answers, *unreadable)),
    ]  # fmt: skip

    def but(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
        made = json.loads(json.dumps(document)) | fields
        return {key: value for key, value in made.items() if value is not None}

    def channel(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
        made = json.loads(json.dumps(document))
        made["channels"][0] = but(made["channels"][0], **fields)
        return dict(made)

    weights = json.loads(json.dumps(one["channels"][0]["mechanism"]))
    weights["weights"][0][0] += 1000
    weights["weights"][0][1] -= 1000
    bad: list[tuple[Any, float | None, str]] = [
        (one, 0.5, "above the owner's limit"), (several, 0.9, "two answers together are above the limit"),
        (but(one, epsilon=0.5), None, "above its claim"), (but(several, epsilon=0.6), None, "together above the claim"),
        (but(divided, answers=2), None, "more answers than claimed, and another width"),
        (channel(one, mechanism=weights), None, "a mechanism above its own claim"),
        ([], None, "a list"), (None, None, "null"), ("round", None, "a text"), ({}, None, "empty"),
        *((but(one, **{key: None}), None, f"lacks {key}") for key in one),
        *((channel(one, **{key: None}), None, f"channel lacks {key}") for key in one["channels"][0]),
        (but(one, extra=1), None, "an unknown field"), (channel(one, extra=1), None, "an unknown field of a channel"),
        (but(one, kind="mechanism"), None, "another kind"), (but(one, version=3), None, "a version of the future"),
        (but(one, version=1), None, "a version that never was"), (but(one, version="2"), None, "a version as text"),
        (but(one, campaign="00"), None, "a short campaign"), (but(one, campaign=campaign.upper()), None, "capitals"),
        (but(one, campaign=7), None, "a campaign that is a number"), (but(one, admission="all"), None, "admission"),
        *((but(one, epsilon=e), None, f"epsilon {e}") for e in (0, -1.0, 21.0, "1.0", True)),
        *((but(one, round=n), None, f"round {n}") for n in (0, -1, 2**32, 1.5, "1", True)),
        *((but(one, answers=n), None, f"answers {n}") for n in (0, 2, "1", True)),
        *((but(one, share=s), None, f"share {s}") for s in (0, -0.5, 1.5, "1")),
        *((but(one, width=w), None, f"width {w}") for w in (0, 2, "1", 2**16)),
        *((but(one, thresholds=t), None, f"thresholds {t}") for t in ([], [5], [TOTAL, TOTAL], [TOTAL + 1], 7, ["x"])),
        (but(divided, thresholds=[5, 3, TOTAL]), None, "thresholds that fall"),
        (but(divided, thresholds=[-1, 3, TOTAL]), None, "a negative threshold"),
        (but(one, channels=[]), None, "no channel"), (but(one, channels={}), None, "channels are no list"),
        (but(one, channels=[7]), None, "a channel that is a number"),
        (but(divided, channels=[divided["channels"][0]] * 3), None, "the same key thrice"),
        (channel(one, key=7), None, "a key that is a number"), (channel(one, mechanism=[]), None, "mechanism a list"),
        (channel(one, mechanism_id="00"), None, "the id of another mechanism"),
        *((channel(one, encoder=e), None, f"encoder {json.dumps(e)}") for e in bad_encoders()),
        *((document, None, reason) for document, reason in misfits(four, part)),
        *((document, None, reason) for document, reason in costly(one)),
    ]  # fmt: skip
    found: list[dict[str, Any]] = []
    for document, limit, value in good:
        people = [{"id": dice.bytes(16), "value": value()} for _ in range(6)]
        facts = announced(document, limit, people)
        found.append({"announcement": document, "limit": limit, "error": None, "reason": "", "facts": facts})
    for document, limit, reason in bad:
        error = announcement_error(document, limit)
        found.append({"announcement": document, "limit": limit, "error": error, "reason": reason, "facts": None})
    return found


def grouped(dice: Dice) -> list[dict[str, Any]]:
    """Return announcements of rounds by public groups."""
    wage, age = Interval(0, 100_000), Interval(0, 120)
    states = Categories(["Ohio", "Utah", 7, "Zürich"])
    duchi, wave = dc.mechanism("duchi", 0.5), dc.mechanism("piecewise", 0.5)
    pair = (Channel("wage", wave, Attribute(0, wage), 1.0), Channel("age", duchi, Attribute(1, age), 2.0))
    hashing = Channel("all", dc.mechanism("local-hashing", 1, size=3), Categories(["a", "b", "c"]))
    many = Categories([f"zone {i}" for i in range(300)])
    found: list[dict[str, Any]] = []
    campaign = bytes.fromhex(dice.bytes(16))
    for asked, epsilon, labels, value in (
        (Round(1, pair).by_group(states), 0.5, states.labels, lambda: [50_000 * (1 + dice.real()), 60.0]),
        (Round(2, pair, 0.5, 2).by_group(states), 1.0, states.labels, lambda: [50_000 * (1 + dice.real()), None]),
        (Round(1, (hashing,)).by_group(many), 1.0, many.labels, lambda: "abc"[dice.below(3)]),
    ):
        document = announce(write_round(asked), campaign, "issued", epsilon)
        people = [{"id": dice.bytes(16), "value": value(), "group": labels[dice.below(len(labels))]} for _ in range(6)]
        facts = announced(document, None, people)
        found.append({"announcement": document, "limit": None, "error": None, "reason": "", "facts": facts})
    one = announce(write_round(Round(1, pair).by_group(states)), campaign, "issued", 0.5)
    for by, reason in (
        ({"labels": ["a"]}, "one group"), ({"low": 0, "high": 1}, "groups that are numbers"), (7, "groups a number"),
        ({"labels": ["a", "a"]}, "the same group twice"), ({"labels": ["1", 1]}, "groups alike as texts"),
        ({"labels": [f"g{i}" for i in range(5000)]}, "too many groups"), ([], "groups a list"),
    ):  # fmt: skip
        document = one | {"by": by}
        error = announcement_error(document, None)
        found.append({"announcement": document, "limit": None, "error": error, "reason": reason, "facts": None})
    for width in (2, 3, 5):
        error = announcement_error(one | {"width": width}, None)
        reason = f"width {width} with groups"
        found.append(
            {"announcement": one | {"width": width}, "limit": None, "error": error, "reason": reason, "facts": None}
        )
    return found


def survey() -> dict[str, Any]:
    """Return the announcement of a questionnaire: two choices together, a number, ticks in groups and as a set."""
    questions = [
        dc.Choice("smokes"), dc.Choice("sleep", ["well", "so-so", "badly", "not at all"], when="smokes = 'yes'"),
        dc.Number("age", 18, 98), dc.Ticks("symptoms", ["cough", "fever", "rash"], together=2),
        dc.Ticks("pets", ["cat", "dog", "fish", "bird", "snail"], most=1, together="set"),
    ]  # fmt: skip
    asked = dc.Questionnaire(questions, 2.0, tables=[("smokes", "sleep")], refusal=True).round([])
    assert asked is not None
    wordless = dataclasses.replace(asked, form=None)  # as rounds were written before they had questions
    return announce(write_round(wordless), bytes(range(16)), "open", 2.0)


def announced(announcement: Any, limit: float | None, people: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what follows from an announcement: who answers what, and the entry that is sent, for a given key."""
    asked = VerifiedRound.read(announcement, limit)
    for person in people:
        report_id = bytes.fromhex(person["id"])
        drawn = int(drawn_by_id(asked.campaign, asked.number, report_ids([report_id]), asked.ends)[0])
        channels = (asked.round if asked.round.by is None else _alike(asked.round)).answered(drawn)
        groups = [asked.group(person["group"])] if "group" in person else None
        entry = asked.privatize([person["value"]], [report_id], dc.Entropy.from_key(bytes.fromhex(KEY)), groups)[0]
        used = lead(asked.round) + sum(channel.mechanism.report_bytes for channel in channels)
        assert not entry[used:].any()
        person |= {"channels": [channel.key for channel in channels], "entry": entry[:used].tobytes().hex()}
    return {
        "number": asked.number, "answers": asked.round.answers, "width": asked.width, "key": KEY, "people": people,
    }  # fmt: skip


def _alike(asked: Round) -> Round:
    """Return the round as each public group is asked it."""
    assert asked.by is not None
    return asked.of_group(asked.by.labels[0])


def announcement_error(document: Any, limit: float | None) -> str:
    """Return the name of the error with which an announcement is refused."""
    try:
        VerifiedRound.read(document, limit)
    except DiscreetError as error:
        return type(error).__name__
    raise AssertionError(f"read: {json.dumps(document)[:300]}")


def misfits(categorical: dict[str, Any], ranged: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return announcements whose encoder does not fit the mechanism: too few or too many categories, another kind."""
    wage = {"low": 0, "high": 100}
    changes: list[tuple[dict[str, Any], Any]] = [
        *((categorical, {"kind": "bucket", "interval": wage, "bins": bins}) for bins in (1, 2, 3, 5, 8)),
        (categorical, {"kind": "categories", "labels": ["a", "b", "c"]}),
        (categorical, {"kind": "categories", "labels": ["a", "b", "c", "d", "e"]}),
        (categorical, {"kind": "categories", "labels": ["a", "b", "c", None]}),
        (categorical, {"kind": "categories", "labels": ["a", "b", 1, True]}),
        (categorical, {"kind": "categories", "labels": ["a", "b", "c", ["d"]]}),
        (categorical, {"kind": "interval"} | wage),
        (categorical, {"kind": "attribute", "interval": wage, "attribute": 0}),
        (ranged, {"kind": "interval"} | wage),
        (ranged, {"kind": "squared-deviation", "interval": wage, "squared_deviation_from": 0}),
        (ranged, {"kind": "bucket", "interval": wage, "bins": 2}),
    ]
    regions = [[0, 5e-324], [1e308, 1.7e308], [0, 9.3e-302], [0, 1.1e301], [1, 1]]
    own = ranged["channels"][0]["encoder"]
    changes += [(ranged, own | {name: region}) for region in regions for name in ("range", "region")]
    found = []
    for document, encoder in changes:
        made = json.loads(json.dumps(document))
        made["channels"][0]["encoder"] = encoder
        found.append((made, f"encoder {json.dumps(encoder)}"))
    return found


def costly(one: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return announcements of honest mechanisms whose certificates would be more work than is done for a round."""
    windows = [flat_window(f"w{i}", 1.0, 40_001, 25_533) for i in range(5)]
    subsets = [dc.mechanism("subset-selection", epsilon, size=1 << 16) for epsilon in (0.5, 1.0)]
    found = []
    for reason, mechanisms in (("five windows of 2^16 reports", windows), ("two subsets of 2^16", subsets)):
        channels = [
            one["channels"][0] | {"key": str(i), "mechanism": m.to_document(), "mechanism_id": m.id}
            for i, m in enumerate(mechanisms)
        ]
        found.append((one | {"channels": channels, "thresholds": [TOTAL] * len(channels)}, reason))
    return found
