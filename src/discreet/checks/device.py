"""A malicious collector: what it can try on a device, and what a device must do about it.

`check_device(device)` plays the collector. It sends rounds in which some values would fail, asks again under ids that
it issued before, claims less than is true, writes documents that two readers could read differently, and then
thousands of mutants of honest rounds (`discreet.checks.fuzz`). A device passes if

- it refuses with `WireError` or `PrivacyError`, or accepts: nothing else, and quickly;
- a round that it accepts is answered for every value, with reports of one length: silence would be an answer too;
- no id, retry or race makes more different reports than were charged, nor more than the owner's limit;
- it agrees with this library, on the verdict, on the exact certificates and, for the same key, on every byte it sends.

The file is long because it is a catalogue: each attack is a short function of its own.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.checks.adaptors import ODD, Device, Odd, PythonDevice, Reply
from discreet.checks.base import CheckFailed
from discreet.checks.fuzz import WAGE, Dice, Hostile, channels, honest, hostile
from discreet.domains import Categories
from discreet.mechanisms.shapes.window import flat_weights, flat_window
from discreet.plans.base import Channel
from discreet.plans.encoders import Attribute, RangeEncoder
from discreet.privacy.exact import TOTAL, exp_below
from discreet.wire import document_id

REFUSALS = ("WireError", "PrivacyError")
"""The errors with which a device may refuse a round."""
_SHOWN = 5
"""How many failures a sentence names."""


@dataclass
class DeviceReport:
    """What `check_device` saw.

    Attributes
    ----------
    documents, accepted : int
        Number of texts that were judged, and of those that were accepted.
    answers : int
        Number of reports that were compared byte by byte.
    slowest : float
        Most seconds of processor time for one verdict.
    failures : list of str
        One sentence each; empty if the device passes.
    """

    documents: int = 0
    accepted: int = 0
    answers: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.documents} documents, {self.accepted} accepted, {self.answers} answers compared, "
            f"at most {self.slowest:.2f} s; {len(self.failures)} failures"
        )


def check_device(
    device: Device, *, documents: int = 2000, seed: int = 20_261_115, seconds: float = 1.0, keep_going: bool = False
) -> DeviceReport:
    """Play a malicious collector against a device.

    Parameters
    ----------
    device : Device
        An adaptor of the device; see `discreet.checks.adaptors.Device`.
    documents : int
        How many texts the fuzzer makes.
    seed : int
        Seed of the fuzzer; the same seed makes the same texts.
    seconds : float
        Most processor time for one verdict.
    keep_going : bool
        Whether to return the report even if something failed.

    Returns
    -------
    DeviceReport

    Raises
    ------
    CheckFailed
        With the first failures, unless ``keep_going``.

    Examples
    --------
    >>> report = check_device(PythonDevice(), documents=60)
    >>> report.failures, report.accepted > 50
    ([], True)
    """
    report = DeviceReport()
    collector = _Collector(device, report, seconds)
    for attack in (collector.selective_failure, collector.repeated_ids, collector.limits, collector.catalogue):
        attack()
        if report.failures and not keep_going:
            break
    else:
        collector.fuzz(documents, seed)
    if report.failures and not keep_going:
        raise CheckFailed(f"the device fails: {'; '.join(report.failures[:_SHOWN])}")
    return report


def _values(channel: Channel) -> list[Any]:
    """Return values that people might hold, and some that nobody should."""
    numbers: list[Any] = [0, 100, 50, 41.873, 33.4, 66.7, 99.999, -5, 1e308, 20, 40.0000001, 5e-324]
    if isinstance(channel.encoder, Attribute):
        numbers = [[1, x, 2] for x in numbers] + [[1], [], [[], []], ["a", "b"], [None, None]]
    if isinstance(channel.encoder, Categories):
        numbers = [*channel.encoder.labels, "more", 7, ""]
    return [*numbers, *map(Odd, ODD), None, True, "41.873", [], [7], "label 1"]


class _Collector:
    """A collector that wants a device to speak."""

    def __init__(self, device: Device, report: DeviceReport, seconds: float) -> None:
        self.device, self.report, self.seconds = device, report, seconds
        self.reference = PythonDevice()
        self.dice = Dice(7)

    def fail(self, sentence: str) -> None:
        self.report.failures.append(sentence)

    def judge(self, text: str, about: str, hostile: str = "") -> bool:
        """Have the device judge a text; return whether it accepts it, as this library does."""
        verdict, expected = self.device.verify(text), self.reference.verify(text)
        if verdict.accepted and hostile:
            self.fail(f"{about}: accepted, though {hostile}")
        self.report.documents += 1
        self.report.accepted += verdict.accepted
        self.report.slowest = max(self.report.slowest, verdict.seconds)
        if verdict.seconds > self.seconds:
            self.fail(f"{about}: took {verdict.seconds:.1f} s, more than {self.seconds:g}")
        if not verdict.accepted and verdict.error not in REFUSALS:
            self.fail(f"{about}: ends in {verdict.error}, not in {' or '.join(REFUSALS)}")
        if verdict.accepted != expected.accepted:
            self.fail(f"{about}: {'accepted' if verdict.accepted else 'refused'}, but this library does not")
        elif verdict.certificates != expected.certificates:
            self.fail(f"{about}: the exact certificates differ from this library's")
        return verdict.accepted and expected.accepted

    def answer(self, text: str, value: Any, about: str) -> Reply:
        """Have a new person answer; compare with this library."""
        report_id, key = self.dice.bytes(16), self.dice.bytes(32)
        replies = []
        for one in (self.device, self.reference):
            one.start(1000)
            replies.append(one.answer(text, value, report_id, key))
        self.report.answers += 1
        reply, expected = replies
        if reply.report is None:
            self.fail(f"{about}: a round that was accepted is not answered ({reply.error}); silence is a leak")
        elif (reply.report, reply.replaced) != (expected.report, expected.replaced):
            self.fail(f"{about}: the report, or whether the value was replaced, differs from this library's")
        return reply

    # -- A. silence -----------------------------------------------------------------------------------------

    def selective_failure(self) -> None:
        """Send rounds in which some values would fail: refused at once, or answered for every value alike."""
        seen: set[type] = set()
        for channel in channels():
            text, about = json.dumps(honest((channel,))), f"an honest round ({channel.mechanism.name})"
            if not self.judge(text, about):
                self.fail(f"{about} is refused")
                continue
            values = _values(channel)
            self.every_value(text, values[:: 5 if type(channel.encoder) in seen else 1], about)
            seen.add(type(channel.encoder))
        for about, text in _misfits():
            self.judge(text, about, "some values fail in it")

    def every_value(self, text: str, values: list[Any], about: str) -> None:
        lengths = {len(r.report) for value in values if (r := self.answer(text, value, about)).report is not None}
        if len(lengths) > 1:
            self.fail(f"{about}: reports of {sorted(lengths)} bytes, so that the length tells values apart")

    # -- B. more reports than charges -----------------------------------------------------------------------

    def repeated_ids(self) -> None:
        """Issue one id again and again, in turn and at once, for one campaign and for others."""
        one_id, wide = bytes(range(16, 32)), _first("unary")  # it has so many reports that two draws differ
        for asked, value in ((json.dumps(honest((_first("table"),))), 50), (json.dumps(honest((wide,))), 50)):
            for at_once in (False, True):
                self.device.start(1000)
                tries = [(asked, value, one_id, self.dice.bytes(32)) for _ in range(12)]
                replies = self.device.together(tries) if at_once else [self.device.answer(*one) for one in tries]
                self.count(replies, "one id issued 12 times" + " at once" * at_once)
        self.device.start(1000)
        rounds = [json.dumps(honest((wide,)) | {"campaign": f"{i:032x}"}) for i in range(6)]
        replies = [self.device.answer(other, 50, one_id, self.dice.bytes(32)) for other in rounds]
        self.count(replies, "one id issued for 6 campaigns")
        self.device.start(1000)
        numbers = [json.dumps(honest((wide,)) | {"round": 1 + i}) for i in range(6)]
        replies = [self.device.answer(other, 50, self.dice.bytes(16), self.dice.bytes(32)) for other in numbers]
        self.count(replies, "6 rounds of one campaign")

    def count(self, replies: list[Reply], about: str) -> None:
        """Compare the different reports that went out with what was charged."""
        reports, charges = {reply.report for reply in replies} - {None}, self.device.charged()
        if len(reports) > len(charges):
            self.fail(f"{about}: {len(reports)} different reports went out, {len(charges)} were charged")
        if not reports:
            self.fail(f"{about}: not even the first was answered")

    def limits(self) -> None:
        """Ask more campaigns than the limit allows, in turn and at once."""
        channel = next(c for c in channels() if c.mechanism.kind == "unary")
        rounds = [json.dumps(honest((channel,)) | {"campaign": f"{i:032x}"}) for i in range(8)]
        for limit, most in ((0.5, 0), (1.0, 1), (2.5, 2)):
            for at_once in (False, True):
                self.device.start(limit)
                tries = [(text, 50, self.dice.bytes(16), self.dice.bytes(32)) for text in rounds]
                replies = self.device.together(tries) if at_once else [self.device.answer(*one) for one in tries]
                made, spent = sum(reply.report is not None for reply in replies), Fraction(1)
                for ratio in self.device.charged():
                    spent *= Fraction(ratio)
                about = f"8 campaigns of epsilon 1 with the limit {limit}" + " at once" * at_once
                if made != most or spent > exp_below(limit):
                    self.fail(f"{about}: {made} were answered, not {most}")

    # -- E and F. lies, and two ways to read ------------------------------------------------------------------

    def catalogue(self) -> None:
        """Send false claims of every shape, and texts that must not be read at all."""
        for about, text in _lies():
            self.judge(text, about, "it reveals more than it claims, or is beyond a limit")
        for about, text in _loose():
            self.judge(text, about, "it must not be read")

    def fuzz(self, documents: int, seed: int) -> None:
        """Send mutants of honest rounds, and compare everything with this library."""
        every = channels()
        for one in hostile(documents, seed):
            about = _named(one)
            if self.judge(one.text, about):
                self.answer(one.text, self.dice.one(_values(self.dice.one(every))), about)


def _named(one: Hostile) -> str:
    return f"a round with {', '.join(one.changes) or 'no change'} ({document_id({'text': one.text})[:12]})"


def _first(kind: str) -> Channel:
    return next(channel for channel in channels() if channel.mechanism.kind == kind)


def _with(channel: Channel, **changes: Any) -> str:
    """Return the text of an honest round of one channel, its encoder, mechanism or other fields changed."""
    document = honest((channel,))
    one = document["channels"][0]
    for name, change in changes.items():
        if name == "encoder":
            one["encoder"] = change
        elif name == "mechanism":
            one["mechanism"] = one["mechanism"] | change
            one["mechanism_id"] = document_id(one["mechanism"])
        else:
            document[name] = change
    return json.dumps(document)


def _misfits() -> Iterator[tuple[str, str]]:
    """Yield rounds in which some values fail: attack A."""
    wage = {"low": 0, "high": 100}
    response, table = next(c for c in channels() if c.mechanism.name == "randomized-response"), _first("table")
    size = response.mechanism.size
    labels = [f"label {i}" for i in range(size)]
    ranged = next(c for c in channels() if isinstance(c.encoder, RangeEncoder))
    span = ranged.encoder.to_dict()
    numbers = {"kind": "interval"} | wage
    for about, channel, encoder in (
        ("more buckets than categories", response, {"kind": "bucket", "interval": wage, "bins": size + 1}),
        ("fewer buckets than categories", response, {"kind": "bucket", "interval": wage, "bins": max(1, size - 1)}),
        ("more labels than categories", response, {"kind": "categories", "labels": [*labels, "more"]}),
        ("an interval on categories", response, numbers),
        ("a range on categories", response, span),
        ("a range on a plain mechanism", table, span),
        ("buckets on a mechanism for numbers", table, {"kind": "bucket", "interval": wage, "bins": 2}),
        ("labels on a mechanism for numbers", table, {"kind": "categories", "labels": ["a", "b"]}),
        ("an interval on a mechanism for ranges", ranged, numbers),
        ("an interval from 0 to 5e-324", table, {"kind": "interval", "low": 0, "high": 5e-324}),
        ("an interval whose width overflows", table, {"kind": "interval", "low": -1.7e308, "high": 1.7e308}),
        ("a region that is a point", ranged, span | {"region": [20.0, 20.0]}),
        ("a centre whose square overflows", table,
         {"kind": "squared-deviation", "interval": wage, "squared_deviation_from": 1e200}),
    ):  # fmt: skip
        yield about, _with(channel, encoder=encoder)
    row = [TOTAL // 2, TOTAL // 2]
    close = {"knots": ["-1.0", "0.0", "1e-300", "1.0"], "weights": [row] * 4, "values": ["-1.0", "1.0"]}
    yield "knots that cannot be told apart", _with(table, mechanism=close)


def _lies() -> Iterator[tuple[str, str]]:
    """Yield rounds that claim less than is true: attack E."""
    for channel in channels():
        claim = channel.mechanism.certificate.epsilon * (1 - 1e-12)
        if claim >= 1e-4:
            lie = {"epsilon": repr(claim)}
            yield f"{channel.mechanism.kind} just above its claim", _with(channel, mechanism=lie)
    for kind, size in (("projective", 1 << 24), ("subset", (1 << 16) + 1)):
        yield f"{kind} beyond its size", _with(_first(kind), mechanism={"size": size})
    high, low = flat_weights(1.0, 40_001, 25_537)
    shape = {"positions": 40_001, "width": 25_537, "profile": [high], "low": low}
    wide = next(c for c in channels() if c.mechanism.kind == "window" and c.mechanism.numeric)
    yield "an interval window of more than 2^16 reports", _with(wide, mechanism=shape, width=3)


def _loose() -> Iterator[tuple[str, str]]:
    """Yield texts that must not be read at all, or that two readers could read differently: attack F."""
    channel = _first("table")
    text, document = json.dumps(honest((channel,))), honest((channel,))
    for about, old, new in (
        ("a key twice", '"answers": 1', '"answers": 1, "answers": 1'),
        ("a key twice, spelled differently", '"answers": 1', '"answers": 1, "answ\\u0065rs": 1'),
        ("a key of the certificate twice", '"certificate": {', '"certificate": {"x": 1, "x": 2, '),
        ("NaN in the certificate", '"certificate": {', '"certificate": {"x": NaN, '),
        ("a NaN claim", '"epsilon": 1', '"epsilon": NaN, "was": 1'),
        ("a deep certificate", '"certificate": {', f'"certificate": {{"x": {"[" * 9000}{"]" * 9000}, '),
        ("thresholds with a fraction", f"[{TOTAL}]", f"[{TOTAL}.0]"),
        ("thresholds with an exponent", f"[{TOTAL}]", "[2.81474976710656e14]"),
        ("an unknown admission", '"admission": "open"', '"admission": "anyone"'),
        ("a round number with a fraction", '"round": 1,', '"round": 1.0,'),
        ("a comment", '"answers": 1', '"answers": 1 /* one */'),
    ):
        if old in text:
            yield about, text.replace(old, new, 1)
    for about, change in (
        ("round 2^70", {"round": 2**70}),
        ("round 2^32", {"round": 2**32}),
        ("round 0", {"round": 0}),
        ("a number of 5000 digits", {"round": 10**4000}),
        ("an unknown field", {"extra": 1}),
        ("a false width", {"width": 2}),
        ("a version of the future", {"version": 3}),
    ):
        yield about, json.dumps(document | change)
    unary = _first("unary")
    huge = {"size": 1 << 24, "digits": 48, "ones": 1 << 46, "hit": TOTAL // 2, "epsilon": "20.0"}
    yield (
        "a small text that asks for a report of 2 MB",
        _with(
            unary,
            mechanism=huge,
            width=1 << 21,
            epsilon=20.0,
            encoder={"kind": "bucket", "interval": {"low": 0, "high": 1}, "bins": 1 << 24},
        ),
    )
    windows = tuple(Channel(f"w{i}", flat_window(f"w{i}", 1.0, 40_001, 25_533), WAGE) for i in range(5))
    yield "five different windows of 2^16 reports", json.dumps(honest(windows))
    yield "a text of 20 MB", text + " " * (20 << 20)
    yield (
        "a list of 5 million lists",
        text.replace('"certificate": {', '"certificate": {"x": [' + "[]," * 5_000_000 + "[]], ", 1),
    )
    for about, whole in (("no text", ""), ("null", "null"), ("a list", "[]"), ("half a text", text[: len(text) // 2]),
                         ("two texts", text + text), ("brackets", "[" * 100_000)):  # fmt: skip
        yield about, whole
