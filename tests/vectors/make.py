"""Write the test vectors that every language must reproduce: ``python tests/vectors/make.py``.

entropy.json      keys, seeds and secrets, and the words they give
mechanisms.json   documents, and what follows: id, exact ratio, epsilon, packed reports of given inputs and key
refused.json      documents that must be refused, with the error's name
encoders.json     values and their canonical inputs (null: refused), and what a device makes of any value at all
ledger.json       ratios of answers one after the other, and which of them a limit allows
forms.json        questions of rounds, and the rows that answers become, or why they are refused (forms.py)
rounds.json       announcements of rounds: who answers which channel and with what, or the error's name
uploads.json      bodies of uploads, and what a report's id decides
numbers.json      the one spelling of floats in documents

A published vector never changes: a document's meaning is fixed for ever (docs/wire.md). So the tests compute from the
documents in these files; this script is run only to add to them, by name: ``python tests/vectors/make.py ledger``.
"""

import dataclasses
import json
import math
import struct
import sys
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.vectors import forms

import discreet as dc
from discreet.device.rounds import VerifiedRound
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms import entries
from discreet.mechanisms.arithmetic import largest_hit, unevenness
from discreet.mechanisms.categorical.haar_bit import haar_bit
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.public_coin import PublicCoin
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.rounded import Rounded
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.unary import Unary
from discreet.mechanisms.shapes.window import CategoricalWindow, NumericWindow, Window, flat_weights, flat_window
from discreet.messages.ids import ticket_id
from discreet.messages.rounds import announce, write_round
from discreet.messages.uploads import lead, pad, report_ids, write_upload
from discreet.plans.assignment import drawn_by_id, thresholds
from discreet.plans.base import Channel, Round
from discreet.plans.encoders import (
    Answers,
    Attribute,
    Below,
    Bucket,
    GroupValue,
    NumberOrRefusal,
    RangeEncoder,
    SignedValue,
    Symbols,
    read_encoder,
    write_encoder,
)
from discreet.privacy.exact import TOTAL, exp_below, log_above
from discreet.privacy.ledger import Accounts, Loss

HERE = Path(__file__).parent
KEY = bytes(range(32)).hex()
entries()  # loads every kind


class Dice:
    """Reproducible choices, from the keystream itself."""

    def __init__(self, seed: int) -> None:
        self._entropy = dc.Entropy.seeded(seed)

    def below(self, n: int) -> int:
        """Return a whole number in 0..n-1."""
        return int.from_bytes(self._entropy.read(16), "little") % n

    def real(self) -> float:
        """Return a number in [-1, 1)."""
        return self.below(1 << 53) / (1 << 52) - 1.0

    def bytes(self, count: int) -> str:
        """Return random bytes, hexadecimal."""
        return self._entropy.read(count).hex() if count else ""

    def weights(self, count: int, spread: int) -> list[int]:
        """Return weights that sum to 2^48, none more than about ``spread`` times another."""
        raw = [1000 + self.below(1000 * spread) for _ in range(count)]
        weights = [TOTAL * w // sum(raw) for w in raw]
        weights[-1] += TOTAL - sum(weights)
        return weights


# -- what follows from a document: used by the tests too ---------------------------------------------------


def words(key: str, count: int) -> list[str]:
    """Return the first words of a key, as texts (JavaScript's numbers end at 2^53)."""
    return [str(word) for word in dc.Entropy.from_key(bytes.fromhex(key)).words(count).tolist()]


def draw(m: Any, x: Any, given: list[int]) -> str:
    """Return the packed report of one input and given words."""
    report = m._one(m._check_one(x), given)
    return str(m.pack(report[None, :] if isinstance(report, np.ndarray) else [report]).hex())


def edges(m: Any, inputs: list[Any], dice: "Dice") -> list[dict[str, Any]]:
    """Return pairs of neighbouring words with different reports, found by bisection: what random words never hit."""
    found: list[dict[str, Any]] = []
    for turn in range(24):
        x, place = inputs[dice.below(len(inputs))], turn % min(3, m.words_per_report)
        given = [dice.below(1 << 64) for _ in range(m.words_per_report)]
        low, high = sorted((dice.below(1 << 64), dice.below(1 << 64)))
        if turn % 4 == 3:  # the low bits alone, which a mixture's coin is made of
            low = high & ~0xFFFF
            high = low + 0xFFFF

        def report(word: int, x: Any = x, place: int = place, given: list[int] = given) -> str:
            return draw(m, x, [*given[:place], word, *given[place + 1 :]])

        first = report(low)
        if first == report(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if report(middle) == first else (low, middle)
        for word in (low, high):
            texts = [str(w) for w in [*given[:place], word, *given[place + 1 :]]]
            found.append({"input": x, "words": texts, "packed": report(word)})
    return found


def follow(document: str, key: str, inputs: list[Any]) -> dict[str, Any]:
    """Return the whole vector of a document."""
    m = dc.Mechanism.from_json(document)
    values = np.array(inputs)
    vector = {
        "document": document,
        "id": m.id,
        "ratio": f"{m.certificate.ratio.numerator}/{m.certificate.ratio.denominator}",
        "epsilon": repr(m.certificate.epsilon),
        "report_bytes": m.report_bytes,
        "words_per_report": m.words_per_report,
        "key": key,
        "inputs": inputs,
        "packed": m.pack(m.privatize(values, dc.Entropy.from_key(bytes.fromhex(key)))).hex(),
    }
    vector["edges"] = edges(m, inputs, Dice(4)) if m.words_per_report < 20 else []
    if isinstance(m, PublicCoin):  # the same again, the public coin fixed by the report id
        ids = [struct.pack("<QQ", i, 2**64 - 1 - i) for i in range(len(inputs))]
        coins = [m.public_word(report_id) for report_id in ids]
        reports = m.privatize(values, dc.Entropy.from_key(bytes.fromhex(key)), public=coins)
        vector |= {"report_ids": [i.hex() for i in ids], "packed_public": m.pack(reports).hex()}
    return vector


def refusal(document: str) -> str:
    """Return the name of the error that a document raises."""
    try:
        dc.Mechanism.from_json(document)
    except DiscreetError as error:
        return type(error).__name__
    raise AssertionError(f"this document should be refused: {document[:200]}")


def upload(campaign: str, number: int, width: int, answers: list[list[str]], ends: list[int]) -> dict[str, Any]:
    """Return the vector of an upload of (id, report)."""
    where, n = bytes.fromhex(campaign), len(answers)
    ids = pad(bytes.fromhex("".join(i for i, _ in answers)), n, 16)
    reports = np.vstack([pad(bytes.fromhex(report), 1, width) for _, report in answers])
    return {
        "campaign": campaign,
        "round": number,
        "width": width,
        "answers": answers,
        "ends": ends,
        "channels": drawn_by_id(where, number, ids, ends).tolist(),
        "body": write_upload(where, number, ids, reports).hex(),
        "ticket_ids": [ticket_id(where, bytes.fromhex(i)).hex() for i, _ in answers],
    }


def encode(description: dict[str, Any], value: Any) -> Any:
    """Return one canonical input, or None if the value is refused, or if a device would replace it by a constant.

    Where the owner of the data runs the code, `encode` reads more than a device does: a text that spells a number.
    """
    encoder = read_encoder(description)
    try:
        return None if encoder.encode_total([value]).replaced[0] else encoder.encode([value]).inputs.tolist()[0]
    except DiscreetError:
        return None


def encode_total(description: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    """Return what a device makes of any values: an input for each, and which of them are constants."""
    found = [read_encoder(description).encode_total([value]) for value in values]
    return {"total": [one.inputs.tolist()[0] for one in found], "replaced": [bool(one.replaced[0]) for one in found]}


# -- which documents ---------------------------------------------------------------------------------------


def least_claim(ratio: Fraction) -> float:
    """Return the least epsilon that may be claimed for a ratio."""
    epsilon = max(log_above(ratio), 1e-4)
    while ratio > exp_below(epsilon):
        epsilon = math.nextafter(epsilon, math.inf)
    return epsilon


def named() -> list[Any]:
    """Return mechanisms of the registry."""
    chosen: list[tuple[str, float, dict[str, Any]]] = [
        ("duchi", 1.0, {}),
        ("duchi", 0.0001, {}),
        ("three-output", 1.0, {}),
        ("n-output", 2.0, {}),
        ("piecewise", 1.0, {}),
        ("piecewise-sub", 4.0, {}),
        ("square-wave", 1.0, {}),
        ("square-wave", 20.0, {}),
        ("hybrid", 1.5, {}),
        ("hybrid-np", 2.0, {}),
        ("randomized-response", 1.0, {"size": 2}),
        ("randomized-response", 3.0, {"size": 300}),
        ("basic-rappor", 2.0, {"size": 8}),
        ("optimized-unary", 1.0, {"size": 64}),
        ("optimized-unary", 0.5, {"size": 130}),
        ("subset-selection", 1.0, {"size": 5}),
        ("subset-selection", 1.0, {"size": 64}),
        ("subset-selection", 0.5, {"size": 1000, "k": 7}),
        ("local-hashing", 1.0, {"size": 1000}),
        ("local-hashing", 2.0, {"size": 100_000}),
        ("local-hashing", 1.0, {"size": 16, "bits": 4, "buckets": 3}),
        ("count-mean-sketch", 1.0, {"size": 1000, "hashes": 1, "width": 16}),
        ("count-mean-sketch", 3.0, {"size": 60_000, "hashes": 2, "width": 4}),
        ("count-mean-sketch", 2.0, {"size": 100_000, "hashes": 1024, "width": 128, "seed": 5}),
        ("hadamard-response", 1.0, {"size": 20}),
        ("hadamard-response", 3.0, {"size": 20, "blocks": 4}),
        ("hadamard-response", 0.5, {"size": 20, "blocks": 2}),
        ("hadamard-response", 1.0, {"size": 3, "blocks": 3}),
        ("hadamard-randomized-response", 1.0, {"size": 20}),
        ("projective-geometry", 1.0, {"size": 100}),
        ("projective-geometry", 3.0, {"size": 1000}),
    ]
    ranged = [
        range_mechanism("privrm-i", "duchi", 1.0),
        range_mechanism("privrm-o", "hybrid", 2.0),
        range_mechanism("privrm-star", "piecewise", 2.0),
        range_mechanism("outside-symbol", "n-output", 1.0),
    ]
    haar = [haar_bit(1.0, size=2), haar_bit(0.5, size=100)]
    return [dc.mechanism(name, epsilon, **options) for name, epsilon, options in chosen] + ranged + haar


def sets() -> list[Any]:
    """Return mechanisms for several questions at once, and for sets of options."""
    questions: list[tuple[float, list[int], int | None]] = [
        (1.0, [2], None), (2.0, [2, 3], 1), (2.0, [3, 3, 3, 3], 3), (0.5, [5, 2, 4], None), (6.0, [2] * 12, None),
        (3.0, [65536], None), (4.0, [2] * 16, 11),
    ]  # fmt: skip
    options: list[tuple[float, int, int, dict[str, int]]] = [
        (1.0, 5, 1, {"k": 2}), (1.0, 10, 2, {}), (2.0, 6, 3, {"k": 4, "threshold": 2}), (0.5, 48, 16, {"k": 2}),
        (4.0, 30, 15, {}), (1.0, 2, 2, {}), (0.5, 4, 1, {"k": 4}), (1.0, 33, 3, {}),
    ]  # fmt: skip
    made: list[Any] = [dc.mechanism("agreement", e, sizes=sizes, threshold=t) for e, sizes, t in questions]
    return made + [dc.mechanism("padded-subset", e, options=d, most=m, **more) for e, d, m, more in options]


def invented(seed: int, count: int) -> list[Any]:
    """Return random mechanisms of every listed shape, each claiming the least epsilon that holds."""
    dice = Dice(seed)
    made: list[Any] = []

    def claimed(kind: Any, *parts: Any, **options: Any) -> Any:
        loose = kind("x", 20.0, *parts, **options)
        return kind(f"no. {len(made)} é\u007f\n", least_claim(loose.certificate.ratio), *parts, **options)

    def table() -> Table:
        inner = sorted({dice.real() for _ in range(dice.below(12))})
        knots, cells = [-1.0, *inner, 1.0], 1 + dice.below(12)
        rows = [dice.weights(cells, 5) for _ in knots]
        return claimed(Table, knots, rows, [dice.real() * 10.0 ** (dice.below(40) - 20) for _ in range(cells)])

    def window(numeric: bool) -> Window:
        positions, width = 2 + dice.below(40) // (1 + 9 * dice.below(2)), 1 + dice.below(12)
        low = TOTAL // (40 * (positions + width))
        profile = [low + w for w in dice.weights(width, 3)]
        profile[0] -= sum(profile) + (positions - 1) * low - TOTAL
        return claimed(NumericWindow if numeric else CategoricalWindow, positions, profile, low)

    for _ in range(count):
        made += [table(), window(True), window(False)]
        made.append(claimed(Mixture, 1 + dice.below(65535), [table(), window(True)]))
        digits, hit = 2 + dice.below(47), TOTAL // 2 + dice.below(TOTAL // 2)
        inner = [table(), window(True), claimed(Mixture, 1 + dice.below(65535), [table(), window(True)])][dice.below(3)]
        tags = sorted(1 + dice.below(TOTAL - 1) for _ in range(2))
        silent = bool(dice.below(2))
        made.append(claimed(Ranged, inner, tags[1], tags[0], dice.weights(inner.alphabet, 3), silent=silent))
        made.append(claimed(Unary, 2 + dice.below(200), hit, 1 + dice.below((1 << digits) // 2), digits))
    return made


def rounded() -> list[Any]:
    """Return oracles whose input may lie between two categories."""
    parts = [
        dc.mechanism("subset-selection", 1.0, size=102, k=27),
        dc.mechanism("subset-selection", 2.0, size=9, k=2),
        dc.mechanism("randomized-response", 2.0, size=6),
        dc.mechanism("optimized-unary", 0.5, size=70),
    ]
    return [Rounded("rounded", part.epsilon, part) for part in parts]


def some_inputs(m: Any, dice: Dice) -> list[Any]:
    """Return edges and random inputs."""
    if isinstance(m, Rounded):
        top = m.size - 1
        near = [
            0.0,
            0.5,
            1.0,
            math.nextafter(1.0, 0),
            math.nextafter(1.0, 2),
            5e-324,
            math.nextafter(top, 0),
            float(top),
        ]
        return [*near, *(top * (1 + dice.real()) / 2 for _ in range(24))]
    if not m.numeric:
        return [0, m.size - 1] + [dice.below(m.size) for _ in range(22)]
    edges = [2.0, 2.0, 2.0, 2.0] if isinstance(m, Ranged) else []
    knots = [float(x) for x in m.inputs[:: max(1, len(m.inputs) // 8)]]
    return [-1.0, 1.0, 0.0, 5e-324, math.nextafter(1.0, 0), *edges, *knots, *(dice.real() for _ in range(16))]


def bad_documents() -> list[str]:
    """Return documents that every reader must refuse."""
    duchi, piecewise = dc.mechanism("duchi", 1), dc.mechanism("piecewise", 1)
    hybrid, unary = dc.mechanism("hybrid", 1.5), dc.mechanism("optimized-unary", 1, size=10)
    response, subset = dc.mechanism("randomized-response", 1, size=4), dc.mechanism("subset-selection", 1, size=10)

    def but(m: Any, **fields: Any) -> str:
        document = m.to_document() | fields
        return json.dumps({key: value for key, value in document.items() if value is not None})

    def tighter(m: Any) -> str:
        claim = math.nextafter(least_claim(m.certificate.ratio), 0)
        return but(m, epsilon=repr(claim))

    text = duchi.to_json()
    first, second = (part.to_document() for part in hybrid.parts)
    high, low = duchi.weights[0][0], duchi.weights[0][1]
    bad = [tighter(m) for m in (duchi, piecewise, hybrid, unary, response, subset)]
    bad += [tighter(m) for m in invented(2, 3)]
    bad += [
        "", "[]", "null", "1", '"x"', "{}", "{", text[:-1], text + "x", text + text, "\ufeff" + text, "[" * 5000,
        '{"discreet":1,"x":' + "[" * 9000 + "]" * 9000 + "}", "[" * 9000 + "]" * 9000,
        '{"discreet":1.0}', '{"discreet":1e0}', '{"discreet":NaN}', '{"discreet":01}', '{"discreet":true}',
        *(text.replace('"discreet":1', f'"discreet":{one}') for one in ("1.0", "1e0", "1E0", "10e-1", "+1", "1.")),
        text.replace('"epsilon"', '"kind":"table","epsilon"'),
        text.replace('"kind"', '"k\\u0069nd":"table","kind"'),
        text.replace(str(high), f"{high}.0"), text.replace(str(high), "1" * 400), text.replace('"1.0"]', '"1.0",]'),
        but(duchi, discreet=2), but(duchi, discreet=None), but(duchi, discreet="1"), but(duchi, kind="magic"),
        but(duchi, kind="__proto__"), but(duchi, kind="toString"), but(duchi, kind=1), but(duchi, name=3),
        but(duchi, name=None), but(duchi, extra=1), but(duchi, __proto__={}), but(duchi, knots=None),
        but(duchi, epsilon=1), but(duchi, epsilon="1"), but(duchi, epsilon="1.00"), but(duchi, epsilon="+1.0"),
        but(duchi, epsilon=" 1.0"), but(duchi, epsilon="1_0.0"), but(duchi, epsilon="-1.0"), but(duchi, epsilon="0.0"),
        but(duchi, epsilon="20.5"), but(duchi, epsilon="inf"), but(duchi, epsilon="nan"), but(duchi, epsilon="5e-05"),
        but(duchi, epsilon="0x1"), but(duchi, epsilon=""), but(duchi, epsilon="1e400"),
        but(duchi, epsilon="0.5"), but(duchi, epsilon="0.9999999"),
        but(duchi, knots=["-1.0", "nan"]), but(duchi, knots=["-1.0", "1"]), but(duchi, knots=[-1, 1]),
        but(duchi, knots=["1.0", "-1.0"]), but(duchi, knots=["-1.0", "-1.0"]), but(duchi, knots=["-1.0"]),
        but(duchi, knots=["-1.0", "0.5"]), but(duchi, knots="-1.0"), but(duchi, knots={"0": "-1.0"}),
        but(duchi, values=["1.0"]), but(duchi, values=["1.0", "1e3"]), but(duchi, values=[]),
        but(duchi, weights=[[1, 2]]), but(duchi, weights=[[1], [2, 3]]), but(duchi, weights=[]),
        but(duchi, weights=[[], []]), but(duchi, weights=[[True, 1], [1, 1]]), but(duchi, weights=[1, 2]),
        but(duchi, weights=[[0, TOTAL], [1, TOTAL - 1]]), but(duchi, weights=[[0, TOTAL], [0, TOTAL]]),
        but(duchi, weights=[[-1, TOTAL + 1], [low, high]]), but(duchi, weights=[[high, low - 1], [low, high]]),
        but(duchi, weights=[[str(high), low], [low, high]]), but(duchi, weights=[[high, low]] * 3),
        but(duchi, weights=[[2**53, low], [low, high]]), but(duchi, weights=[[high, None], [low, high]]),
        but(duchi, weights=[[low, high, 0], [high, low, 0]], values=["1.0", "2.0", "3.0"]),
        but(piecewise, positions=10**12), but(piecewise, positions=1), but(piecewise, width=0),
        but(piecewise, width=piecewise.width + 1), but(piecewise, inputs="colours"), but(piecewise, profile=[]),
        but(piecewise, profile=[1, 2]), but(piecewise, low=0), but(piecewise, low=piecewise.low + 1),
        but(piecewise, low="1"), but(piecewise, profile=[-1]), but(piecewise, profile=piecewise.profile[0]),
        but(response, profile=[TOTAL], low=0), but(response, positions=2, profile=[0], low=TOTAL),
        but(response, inputs="interval", positions=2, width=1, profile=[TOTAL // 2], low=TOTAL // 2),
        but(hybrid, coin=0), but(hybrid, coin=65536), but(hybrid, parts=[]), but(hybrid, parts=[first]),
        but(hybrid, parts=[first, second, first]), but(hybrid, parts=[first, hybrid.to_document()]),
        but(hybrid, parts=[first, response.to_document()]), but(hybrid, parts=[first, unary.to_document()]),
        but(hybrid, parts=[first, second | {"epsilon": "0.5"}]), but(hybrid, parts=[first, second | {"extra": 1}]),
        but(hybrid, parts=[first, second | {"discreet": 2}]), but(hybrid, parts=[first, None]),
        but(hybrid, parts=first),
        but(unary, hit=0), but(unary, hit=TOTAL), but(unary, ones=0), but(unary, ones=1 << unary.digits),
        but(unary, hit=1), but(unary, digits=0), but(unary, digits=49), but(unary, size=1), but(unary, size=2**24 + 1),
        but(subset, k=0), but(subset, k=10), but(subset, hit=0), but(subset, hit=TOTAL), but(subset, hit=1),
        but(subset, size=1), but(subset, size=2**20 + 1), but(subset, k=subset.k - 1),
    ]  # fmt: skip
    bad += bad_ranged() + bad_oracles() + bad_limits()
    return bad


def bad_ranged() -> list[str]:
    """Return bad documents of the shape `ranged`."""
    m = range_mechanism("privrm-i", "three-output", 1.0)
    good = m.to_document()
    runs, inner = good["draw"], good["parts"][0]
    changes: list[dict[str, Any]] = [
        {"parts": []}, {"parts": [inner, inner]}, {"parts": [good]}, {"parts": [inner | {"epsilon": "0.0001"}]},
        {"parts": [dc.mechanism("randomized-response", 1, size=4).to_document()]},
        {"inside": 0}, {"inside": TOTAL}, {"outside": 0}, {"outside": good["inside"]}, {"silent": 2}, {"silent": True},
        {"draw": []}, {"draw": [[1]]}, {"draw": [[*run, 1] for run in runs]}, {"draw": [*runs, [0, 1]]},
        {"draw": [[m.inner.alphabet, 0]]}, {"draw": [[1, runs[0][1]], [runs[0][0] - 1, runs[0][1]], *runs[1:]]},
        {"draw": [[1, TOTAL - m.inner.alphabet + 1], [m.inner.alphabet - 1, 1]]},
        {"draw": [[1, TOTAL], [m.inner.alphabet - 1, 0]]},
        {"epsilon": repr(math.nextafter(least_claim(m.certificate.ratio), 0))}, {"outside": 1},
    ]  # fmt: skip
    return [json.dumps(good | change) for change in changes]


def bad_oracles() -> list[str]:
    """Return bad documents of the other oracles: a false claim, and every number at impossible values."""
    impossible: dict[str, list[dict[str, Any]]] = {
        "hadamard": [{"width": 3}, {"width": 2**27}, {"first": 2}, {"hit": 1}, {"hit": TOTAL - 1}],
        "projective": [{"field": 4}, {"field": 257}, {"dimension": 2}, {"dimension": 25}, {"hit": 1}, {"hit": TOTAL}],
        "hadamard-bit": [{"high": TOTAL}, {"high": 1}, {"high": TOTAL - 1}],
        "haar-bit": [{"high": TOTAL}, {"high": 1}, {"high": TOTAL - 1}],
        "hashing": [{"bits": 5}, {"bits": 4, "size": 17}, {"buckets": 1}, {"buckets": 40_000}, {"low": TOTAL},
                    {"low": 1}],
        "sketch": [{"width": 48}, {"width": 65536}, {"hashes": 3}, {"hashes": 0}, {"hit": TOTAL}, {"ones": 0},
                   {"hit": 1}],
        "agreement": [{"sizes": [1, 2]}, {"sizes": []}, {"sizes": [2] * 17}, {"sizes": [256, 257]}, {"sizes": 4},
                      {"threshold": 9}, {"hit": 1}, {"hit": TOTAL - 1}],
        "padded": [{"options": 49}, {"options": 40, "most": 30}, {"most": 11}, {"k": 12}, {"hits": []},
                   {"hits": [TOTAL]}, {"hits": [0, 0, TOTAL]}, {"hits": [0, TOTAL - 1, 1]}, {"hits": [TOTAL - 2, 1, 1]},
                   {"hits": [1, TOTAL // 2, TOTAL // 2 - 1]}],
    }  # fmt: skip
    bad = []
    for m in [*named(), *sets()[1:3], *sets()[8:10]]:
        if m.kind in impossible:
            good = m.to_document()
            claim = math.nextafter(least_claim(m.certificate.ratio), 0)
            bad += [json.dumps(good | change) for change in [{"epsilon": repr(claim)}, *impossible[m.kind]]]
            bad += [json.dumps(good | {field: n}) for field in m._document() for n in (-1, 2**53, "1", None, True)]
    return bad


def bad_limits() -> list[str]:
    """Return documents just above the limits of a shape, and claims that only the worse of two uneven draws breaks."""
    head = {"discreet": 1, "name": "x"}

    def window(inputs: str, positions: int, width: int, epsilon: float) -> dict[str, Any]:
        high, low = flat_weights(epsilon, positions, width)
        shape = {"inputs": inputs, "positions": positions, "width": width, "profile": [high], "low": low}
        return head | {"kind": "window", "epsilon": repr(epsilon)} | shape

    size, k = (1 << 16) + 1, 3
    subset = {"kind": "subset", "epsilon": "1.0", "size": size, "k": k, "hit": largest_hit(1.0, k, size - k)}
    spaces = []
    for field, dimension in ((2, 25), (2, 24), (3, 15), (251, 4)):
        on, off = ((field ** (d) - 1) // (field - 1) for d in (dimension - 1, dimension))
        off -= on
        # The largest hit whose ratio holds if every point of one draw is equally likely; it never is for both draws.
        hit = largest_hit(1.0, on, off, min(unevenness(on), unevenness(off)))
        shape = {"size": 1000, "field": field, "dimension": dimension, "hit": hit}
        spaces.append(head | {"kind": "projective", "epsilon": "1.0"} | shape)
    half = [TOTAL // 2] * 2
    for step in (1e-300, 2.0**-49):  # the rounding of one input would be infinity times zero
        shape = {"knots": ["-1.0", "0.0", repr(step), "1.0"], "weights": [half] * 4, "values": ["-1.0", "1.0"]}
        spaces.append(head | {"kind": "table", "epsilon": "1.0"} | shape)
    wide = [window("interval", 40_001, 25_537, 1.0), window("interval", (1 << 16) + 1, 1, 1.0)]
    return [json.dumps(document) for document in [*wide, head | subset, *spaces]]


def ledger(limit: float, ratios: list[Fraction]) -> dict[str, Any]:
    """Return which of some answers a ledger allows, one after the other; what is refused is not charged."""
    accounts, allowed = Accounts(limit), []
    for number, ratio in enumerate(ratios):
        allowed.append(accounts.preview("me", str(number), Loss(ratio)).is_allowed)
        if allowed[-1]:
            accounts.charge("me", str(number), Loss(ratio))
    texts = [f"{ratio.numerator}/{ratio.denominator}" for ratio in ratios]
    return {"limit": limit, "ratios": texts, "allowed": allowed, "epsilon": repr(float(accounts.spent("me")))}


def ledgers() -> list[dict[str, Any]]:
    """Return ledgers of mechanisms, and of ratios as close to a limit as both languages can tell."""
    duchi, response = dc.mechanism("duchi", 1), dc.mechanism("randomized-response", 0.1, size=4)
    ratio, tenth = duchi.certificate.ratio, response.certificate.ratio
    near = [(limit, Fraction(Context(prec=80).exp(Decimal(repr(limit))))) for limit in (0.1, 0.3, 1.0, 2.5, 17.3)]
    return [
        ledger(2.0, [ratio] * 3),
        ledger(1.0, [tenth] * 11),
        ledger(0.01, [tenth]),
        ledger(4.0, [ratio, tenth, ratio, Fraction(3), ratio, tenth, tenth]),
        ledger(1000.0, [Fraction(10**30)] * 20),
        *(ledger(limit, [edge * (1 + Fraction(1, 10**40)), edge * (1 - Fraction(1, 10**40))]) for limit, edge in near),
        *(ledger(limit, [edge * (1 + Fraction(1, 10**15)), edge * (1 - Fraction(1, 10**15))]) for limit, edge in near),
    ]


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


def grouped(dice: "Dice") -> list[dict[str, Any]]:
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


def rounds(dice: "Dice") -> list[dict[str, Any]]:
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


def bad_encoders() -> list[Any]:
    """Return documents that are no encoder."""
    wage = {"low": 0, "high": 100}
    ranged = {"kind": "range", "interval": wage, "range": [10, 20], "region": [10, 15], "clip": True}
    return [
        {}, 7, [], "interval", {"kind": "magic"}, {"kind": "__proto__"}, {"kind": 1}, {"low": 0, "x": 2},
        {"kind": "interval", "low": 0}, {"kind": "interval", "low": 1, "high": 0}, {"kind": "interval", **wage, "x": 1},
        {"kind": "interval", "low": "0", "high": 1}, {"kind": "interval", "low": -1.7e308, "high": 1.7e308},
        {"kind": "bucket", **wage}, {"kind": "bucket", "interval": wage, "bins": 0}, {"interval": wage, "bins": 2.5},
        {"kind": "bucket", "interval": {"labels": ["a", "b"]}, "bins": 2}, {"kind": "bucket", "interval": 7, "bins": 2},
        {"kind": "categories", "labels": ["a"]}, {"kind": "categories", "labels": ["a", "a"]},
        {"kind": "categories", "labels": "ab"}, {"kind": "categories", "labels": {"0": "a", "1": "b"}},
        {"kind": "attribute", "interval": wage, "attribute": -1}, {"attribute": 0.5, "interval": wage},
        {"kind": "squared-deviation", "interval": wage, "squared_deviation_from": "1"},
        *(ranged | change for change in ({"range": [20, 10]}, {"region": [1]}, {"clip": 1}, {"region": ["1", "2"]})),
        *(
            {"kind": "below", "interval": wage, "threshold": threshold}
            for threshold in (
                41, None, "", "4 1", "+41", "041", "41.", ".5", "41.0", "41.50", "-0", "4e1", "0x29", "NaN", "Infinity",
                "1_0", "٤١", "41\n", "1" * 302, "0." + "1" * 400, ["41"],
            )
        ),
        {"kind": "below", "threshold": "41"}, {"kind": "below", "interval": {"labels": ["a", "b"]}, "threshold": "1"},
        *({"kind": "symbols", "size": size} for size in (1, 0, -1, "2", 2.5, None, (1 << 48) + 1, True)),
        {"kind": "answers", "columns": [0, 1], "encoders": [{"kind": "symbols", "size": (1 << 24) + 1}] * 2},
        {"kind": "number-or-refusal", "attribute": 0, "interval": wage, "refusal": False},
        {"kind": "number-or-refusal", "attribute": 0, "interval": wage}, {"kind": "symbols"},
        # What follows was read by version 0.1, and failed for some values only.
        ranged, {"kind": "bucket", "interval": wage, "bins": 2}, {"kind": "categories", "labels": ["a", "b"]},
        {"kind": "interval", "low": 0, "high": 5e-324}, {"kind": "interval", "low": 0, "high": 9.3e-302},
        {"kind": "interval", "low": 0, "high": 1.1e301}, {"kind": "interval", "low": -1e308, "high": 7e307},
        {"kind": "attribute", "interval": {"low": 0, "high": 5e-324}, "attribute": 0},
        {"kind": "attribute", "interval": wage, "attribute": 2**31},
        {"kind": "bucket", "interval": wage, "bins": 2**31 + 1},
        *(
            {"kind": "squared-deviation", "interval": {"low": 0, "high": high}, "squared_deviation_from": centre}
            for high, centre in ((1e-200, 0), (1, 1e200), (1e151, 0), (9e-152, 0), (1, 1.1e301))
        ),
    ]  # fmt: skip


def row_encoders() -> list[tuple[dict[str, Any], list[Any]]]:
    """Return encoders of whole rows, with rows that suit them or nearly do."""
    states, share = Categories(["Ohio", "Utah", "Zürich"]), Interval(-0.3, 1.1)
    pairs: list[Any] = [
        ["Ohio", -0.3], ["Utah", 0.1], ["Zürich", 1.1], ["Zürich", 5], ["Utah", -1e300], ["Ohio", 0.7000000000000001],
        ["Atlantis", 0.5], ["Utah", None], ["Utah"], ["Utah", "0.5"], ["Utah", 0.5, 0.5], [None, 0.25], [["Utah"], 1],
        [], [0.5, "Utah"], [True, True],
    ]  # fmt: skip
    groups = [write_encoder(GroupValue(states, share, levels)) for levels in (2, 3, 64)]
    numbers = write_encoder(GroupValue(Categories([1, 0, "x"]), Interval(0, 100), 2))
    both = Answers((1, 0), (Bucket(share, 5), states))
    three = Answers((0, 2, 2), (states, Categories([True, False, "x"]), Below(Interval(0, 10), "4.5")))
    triples: list[Any] = [
        ["Utah", 0, True],
        ["Utah", 0, 1],
        ["Ohio", 0, "x"],
        ["Ohio", 9],
        ["x", 1, 4.5],
        ["Zürich", 1, 0],
    ]
    return [
        *((document, pairs) for document in groups),
        (numbers, [[1, 50], [True, 100], [False, 7.3], ["1", 50], ["x", -0.0], *pairs[:3]]),
        (write_encoder(both), pairs),
        (write_encoder(three), triples),
    ]


def signed_encoders() -> list[tuple[dict[str, Any], list[Any]]]:
    """Return encoders of signed rows, with rows that suit them or nearly do."""
    groups = Categories([f"g{i}" for i in range(11)])
    pairs: list[Any] = [
        [f"g{i}", value] for i, value in enumerate((-0.3, 0.4, 1.1, 0.7, 5, -1e300, 0.1, 0.2, 1, 0.9, 0))
    ]
    odd: list[Any] = [["x", 0.5], ["g3", None], ["g3"], ["g3", 0.5, 0.5], [None, 0.25], [], [0.5, "g3"], None, "g3", 7]
    return [
        (write_encoder(SignedValue(groups, Interval(-0.3, 1.1), row)), [*pairs, *odd]) for row in (0, 1, 6, 13, 4095)
    ]


def questionnaires(odd: list[Any]) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return encoders of rows of answers with rows: of symbols, of numbers that may be refused, and of anything."""
    dice, found = Dice(6), list[tuple[dict[str, Any], list[Any]]]()
    asked: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((0,), (2,)), ((2, 0), (3, 5)), ((0, 1, 2, 3), (4, 2, 3, 9)), ((1,), (1 << 48,)), ((3, 1), (1 << 24, 1 << 24)),
    ]  # fmt: skip
    for columns, sizes in asked:
        rows: list[Any] = [[dice.below(8) for _ in range(4)] for _ in range(20)]
        rows += [[dice.below(2) for _ in range(4)] for _ in range(20)] + [[0.0, 1.0, 1.0, 0.0], [0, 2.5, 1, 1], [1], []]
        rows += [[0, None, 1, 1], [True, 1, 1, 1], ["1", 1, 1, 1], [-1, 0, 0, 0], [0, (1 << 48) - 1, 0, (1 << 24) - 1]]
        parts = tuple(Symbols(size) for size in sizes)
        found.append((write_encoder(Answers(columns, parts)), [*rows, *odd]))
    cells: list[Any] = [0.0, 3.3, 10.0, -5.0, 11.0, None, "2", True, 1e300, -0.0, [1], 5e-324]
    numbers: list[Any] = [[0, one, 2] for one in cells]
    found.append((write_encoder(NumberOrRefusal(1, Interval(0, 10))), [*numbers, *odd]))
    found.append((write_encoder(NumberOrRefusal(0, Interval(-1e9, 0.1))), [*numbers, *odd]))
    return found


def total_encoders() -> list[dict[str, Any]]:
    """Return encoders of every kind; some are as fine or as wide as the rules allow."""
    wage, least = {"low": 0.0, "high": 100.0}, {"low": 0.0, "high": 2.0**-1000}
    most = {"low": -(2.0**1000), "high": 2.0**1000}
    return [
        *({"kind": "interval"} | one for one in (wage, least, most)),
        *({"kind": "bucket", "interval": one, "bins": bins} for one in (wage, least, most) for bins in (1, 7, 2**31)),
        {"kind": "squared-deviation", "interval": wage, "squared_deviation_from": 41.5},
        {"kind": "squared-deviation", "interval": wage, "squared_deviation_from": -3e150},
        {"kind": "squared-deviation", "interval": {"low": 0.0, "high": 1e-150}, "squared_deviation_from": 0.0},
        {"kind": "range", "interval": wage, "range": [10.0, 20.0], "region": [10.0, 15.0], "clip": True},
        {"kind": "range", "interval": most, "range": [10.0, 20.0], "region": [0.0, 2.0**-1000], "clip": False},
        {"kind": "range", "interval": least, "range": list(most.values()), "region": list(most.values()), "clip": True},
        *({"kind": "below", "interval": wage, "threshold": text} for text in ("0", "-5", "41.5", "100", "99.99999")),
        {"kind": "below", "interval": most, "threshold": "1" * 301},
        {"kind": "below", "interval": least, "threshold": "0." + "0" * 350 + "1"},
        {"kind": "categories", "labels": ["", "red", "41873"]},
        {"kind": "categories", "labels": [1, 0, 1e300, "red"]},
        {"kind": "categories", "labels": [True, "x", False]},
    ]


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


def announcement_error(document: Any, limit: float | None) -> str:
    """Return the name of the error with which an announcement is refused."""
    try:
        VerifiedRound.read(document, limit)
    except DiscreetError as error:
        return type(error).__name__
    raise AssertionError(f"read: {json.dumps(document)[:300]}")


def make() -> dict[str, Any]:
    """Return all files by name."""
    dice = Dice(3)
    secret = bytes(range(100, 132))
    numbers = [
        0.0,
        1.0,
        -1.0,
        0.1,
        1e-4,
        1e-5,
        123456789012345.0,
        1e15,
        1e16,
        1e21,
        1e22,
        5e-324,
        1.7976931348623157e308,
    ]
    numbers += [dice.real() * 10.0 ** (dice.below(60) - 30) for _ in range(100)]
    numbers += [x for x in (struct.unpack("<d", dice._entropy.read(8))[0] for _ in range(200)) if math.isfinite(x)]
    memos: list[float | str] = [1, -1.0, 0.1, 0, 1e300, 5e-324, -2.5e-310, "1", "", "Zürich 東京 🙂"]
    tasks = ((secret, "wage 2026", "mechanism 1, report 1"), (secret[:16], "naïve", "00ff"))

    def memo(secret: bytes, task: str, public: str, value: float | str) -> dict[str, Any]:
        first = dc.Entropy.memoised(secret, task, value, public=public).read(24).hex()
        return {"secret": secret.hex(), "task": f"{task}\0{public}", "value": value, "first": first}

    encoders: list[tuple[dict[str, Any], list[Any]]] = []
    for low, high in ((0.0, 500_000.0), (-1.0, 1.0), (0.1, 0.3), (-1e9, 7.0)):
        inside = [(dice.real() * 1.2 + 1) * (high - low) / 2 + low for _ in range(20)]
        encoders.append((Interval(low, high).to_dict(), [low, high, low - 1, high + 1, *inside]))
    encoders += [({"interval": d, "bins": bins}, v) for (d, v), bins in zip(encoders, (256, 10, 3, 1000), strict=True)]
    wage, wages = encoders[0]
    for region, clip in (([50_000.0, 100_000.0], True), ([60_000.0, 80_000.5], True), ([60_000.0, 80_000.5], False)):
        description = {"interval": wage, "range": [50_000.0, 100_000.0], "region": region, "clip": clip}
        encoders.append((description, [*region, 50_000.0, 1e5, 55_000.1, 70_000.3, 80_001.0, *wages]))
    encoders += [({"interval": wage, "squared_deviation_from": centre}, wages) for centre in (0.0, 41_873.3, 250_000.0)]
    tenths = [
        0.1,
        0.2,
        0.3,
        0.30000000000000004,
        0.1 + 0.2,
        0.7,
        0.7999999999999999,
        0.8,
        31_200.0,
        31_200.000000000004,
    ]
    for text in ("0.3", "0.8", "31200", "500000", "-1", "0.1000000000000000055511151231257827021181583404541015625"):
        encoders.append(({"interval": wage, "threshold": text}, [*tenths, *wages[:6]]))
    encoders.append(({"labels": ["red", "green", "blue", "Zürich"]}, ["blue", "red", "mauve", "Zürich"]))
    encoders += [(write_encoder(read_encoder(d)), values[:8]) for d, values in encoders]  # documents of 0.2 have a kind
    encoders.append((write_encoder(Attribute(1, Interval(0, 10))), [[0.0, 3.3], [1.0, -5.0], [2.0, 11.0, 4.0]]))
    odd = [None, True, False, "", "red", "41873", [], [1], [[1]], ["red"], {}, {"0": 1}, 5e-324, -1e300, 1e300, -0.0]
    rows = [[0.0], [1.0, None], [1.0, "2"], [1.0, [2.0]], [0.0, 1e300], {"1": 5.0}, "12"]
    encoders += [(document, odd) for document in total_encoders()]
    encoders.append((write_encoder(Attribute(1, Interval(0, 10))), [*odd, *rows]))
    encoders += [(document, [*pairs, *odd, *rows]) for document, pairs in row_encoders()]
    encoders += questionnaires([*odd, *rows])
    encoders += signed_encoders()
    uploads = [
        upload(dice.bytes(16), number, width, [[dice.bytes(16), dice.bytes(size)] for size in sizes], ends)
        for number, width, sizes, ends in (
            (1, 1, [1], [TOTAL]),
            (2, 5, [1, 5, 2, 0, 3], thresholds([1.0, 3.0])),
            (70_000, 300, [300, 1] * 4, thresholds([0.2, 0.3, 0.5, 1.0])),
        )
    ]
    return {
        "entropy": {
            "keys": [{"key": key, "words": words(key, 40)} for key in (KEY, "00" * 32)],
            "seeded": [
                {"seed": seed, "stream": stream, "first": dc.Entropy.seeded(seed, stream).read(24).hex()}
                for seed, stream in ((0, 0), (7, 0), (7, 1), (123456789, 42))
            ],
            "memoised": [memo(*task, value) for task in tasks for value in memos],
        },
        "mechanisms": [follow(m.to_json(), KEY, some_inputs(m, dice)) for m in named() + invented(1, 6)]
        + [follow(m.to_json(), KEY, some_inputs(m, Dice(5))) for m in sets()]
        + [follow(m.to_json(), KEY, some_inputs(m, Dice(6))) for m in rounded()],
        "refused": [{"document": text, "error": refusal(text)} for text in bad_documents()],
        "encoders": [
            {"encoder": d, "values": values, "inputs": [encode(d, value) for value in values]} | encode_total(d, values)
            for d, values in encoders
        ],
        "ledger": ledgers(),
        "forms": forms.make(Dice(7)),
        "rounds": rounds(Dice(4)) + grouped(Dice(7)),
        "uploads": uploads,
        "numbers": [repr(x) for x in numbers],
    }


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for name, content in make().items():
        if wanted and name not in wanted:
            continue
        rows = content if isinstance(content, list) else [content]
        lines = ",\n".join(json.dumps(row) for row in rows)
        text = f"[\n{lines}\n]\n" if isinstance(content, list) else json.dumps(content, indent=1) + "\n"
        (HERE / f"{name}.json").write_text(text)
        print(f"{name}.json: {len(text)} bytes, {len(rows)} rows")
