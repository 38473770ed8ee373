"""Round documents as a hostile collector would write them: honest ones of every shape and encoder, and mutations.

The grammar knows what a round is made of, so that mutants get deep into a reader: a changed mechanism gets its new id
and width again, so that the change itself is judged. The same seed gives the same texts.
"""

import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.haar_bit import haar_bit
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.registry import mechanism as named
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.profile import profile_weights
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.window import CategoricalWindow, NumericWindow, flat_window
from discreet.messages.rounds import announce, write_round
from discreet.plans.base import Channel, Round
from discreet.plans.encoders import Answers, Attribute, Below, Bucket, RangeEncoder, SquaredDeviation
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import TOTAL
from discreet.wire import document_id

WAGE = Interval(0, 100)
"""What people hold in the honest documents, where it is a number."""
Change = Callable[["Dice", dict[str, Any]], None]


@dataclass(frozen=True)
class Hostile:
    """The text of a round, and what was done to it."""

    text: str
    changes: tuple[str, ...]


class Dice:
    """Reproducible choices."""

    def __init__(self, seed: int) -> None:
        self._entropy = Entropy.seeded(seed)

    def below(self, count: int) -> int:
        """Return a whole number from 0 to count - 1."""
        return int.from_bytes(self._entropy.read(8), "little") % count

    def one(self, items: Any) -> Any:
        """Return one of some items."""
        return items[self.below(len(items))]

    def bytes(self, count: int) -> bytes:
        """Return random bytes."""
        return self._entropy.read(count)


# -- honest rounds --------------------------------------------------------------------------------------------


@cache
def channels() -> tuple[Channel, ...]:
    """Return an honest channel of every shape, with every encoder that fits it."""
    duchi, narrow = named("duchi", 1), flat_window("piecewise", 1.0, 21, 7)
    profile, low = profile_weights(1.0, 11, [0.5, 1.0, 0.5])
    third = TOTAL // 3
    bent = [[third + 1, third, third], [third, third + 1, third], [third, third, third + 1]]
    table = Table("table", 0.5, [-1.0, 0.25, 1.0], bent, [-1.0, 0.0, 1.0])
    mixture = Mixture("mixture", 1.0, 30_000, [duchi, narrow])
    numbers = [duchi, narrow, NumericWindow("wave", 1.0, 11, profile, low), table, mixture]
    ranged = [range_mechanism("privrm-i", "duchi", 1.0), range_mechanism("outside-symbol", "duchi", 1.0)]
    oracles: list[Mechanism] = [
        named("randomized-response", 1, size=2),
        named("randomized-response", 1, size=5),
        CategoricalWindow("wave", 1.0, 11, profile, low),
        named("optimized-unary", 1, size=9),
        named("subset-selection", 1, size=6),
        named("hadamard-response", 1, size=6),
        named("hadamard-response", 3, size=20, blocks=4),
        named("hadamard-randomized-response", 1, size=5),
        haar_bit(1.0, size=6),
        named("local-hashing", 1, size=10),
        named("projective-geometry", 1, size=10),
        named("count-mean-sketch", 1, size=10, hashes=4, width=8),
    ]
    spread, column = SquaredDeviation(WAGE, 41.5), Attribute(1, WAGE)
    made: list[tuple[Mechanism, Any]] = [(m, encoder) for m in numbers for encoder in (WAGE, spread, column)]
    made += [(m, RangeEncoder(WAGE, 20, 50, (20.0, 40.0), clip)) for m in ranged for clip in (True, False)]
    made += [(m, Bucket(WAGE, m.size)) for m in oracles]
    made += [(m, Categories([f"label {i}" for i in range(m.size)])) for m in oracles]
    made.append((oracles[1], Categories(["a", 2, 0.5, True, "é"])))
    thresholds = ("41.5", "-7", "0", "100", "0.1", "9" * 300)  # outside the interval and beyond any value, too
    made += [(oracles[0], Below(WAGE, text)) for text in thresholds]
    made.append((oracles[0], Answers((1,), (Below(WAGE, "41.5"),))))
    return tuple(Channel(f"c{i}", m, encoder) for i, (m, encoder) in enumerate(made))


def honest(asked: tuple[Channel, ...], *, answers: int = 1, admission: str = "open") -> dict[str, Any]:
    """Return the announcement of a round with these channels."""
    epsilon = min(20.0, math.fsum(sorted((c.mechanism.epsilon for c in asked), reverse=True)[:answers]))
    return announce(write_round(Round(1, asked, 1.0, answers)), bytes(range(16)), admission, epsilon)


def honest_rounds() -> list[dict[str, Any]]:
    """Return the announcements that mutations start from."""
    every = channels()
    numbers = tuple(c for c in every if isinstance(c.encoder, Attribute))
    several = [honest(numbers[:3], answers=n, admission=a) for n, a in ((1, "issued"), (2, "invited"), (3, "open"))]
    return [*(honest((c,)) for c in every), *several, honest((every[0], every[-1], every[-5]))]


# -- mutations ------------------------------------------------------------------------------------------------

_POOL: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, 1.0, -0.0, 1.5, 1e308, -1e308, 5e-324, 1e-300, 2.0**1000, 2.0**1001),
    *(2**16, 2**20, 2**24, 2**31, 2**32, TOTAL, TOTAL + 1, TOTAL - 1, 2**53 - 1, 2**53, 2**53 + 1),
    *(2**70, -(2**70), 10**20),
    *("", "1", "1.0", "0.5", "1.00", "nan", "inf", "1e400", "-0.0", "0.0001", "20.0", "x"),
    *("é\ud800", "__proto__", "kind"),
    *([], {}, [[]], [0], [None], {"kind": "interval"}, {"low": 0, "high": 1}, [1, 2], ["a", "b"], ["a", "a"]),
    *(math.nan, math.inf, 10**400),
]  # fmt: skip


def _places(node: Any, dice: Dice) -> tuple[Any, Any] | None:
    """Return a random (parent, key) below a node, every level with the same chance."""
    parent, key, here = None, None, node
    while isinstance(here, (dict, list)) and here and (parent is None or dice.below(4)):
        parent = here
        key = dice.one(sorted(here)) if isinstance(here, dict) else dice.below(len(here))
        here = parent[key]
    return None if parent is None else (parent, key)


def _replace(dice: Dice, document: dict[str, Any]) -> None:
    if place := _places(document, dice):
        place[0][place[1]] = copy.deepcopy(dice.one(_POOL))


def _nudge(dice: Dice, document: dict[str, Any]) -> None:
    """Change a number by a little, or by much."""
    for _ in range(8):
        place = _places(document, dice)
        if place and isinstance(place[0][place[1]], (int, float)) and not isinstance(place[0][place[1]], bool):
            x = place[0][place[1]]
            if isinstance(x, float):
                place[0][place[1]] = dice.one(
                    [math.nextafter(x, math.inf), -x, x * 2, int(x) if math.isfinite(x) else 0]
                )
            else:
                place[0][place[1]] = dice.one(
                    [x + 1, x - 1, 2 * x, x // 2, -x, x + 1000, float(x) if abs(x) < 2**60 else 0]
                )
            return


def _remove(dice: Dice, document: dict[str, Any]) -> None:
    if place := _places(document, dice):
        del place[0][place[1]]


def _add(dice: Dice, document: dict[str, Any]) -> None:
    if place := _places(document, dice):
        parent, key = place
        if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        else:
            parent[dice.one(["extra", "__proto__", "toString", "", "kind", "discreet"])] = copy.deepcopy(
                dice.one(_POOL)
            )


def _channel(dice: Dice, document: dict[str, Any]) -> dict[str, Any]:
    found = document.get("channels")
    one = dice.one(found) if isinstance(found, list) and found else {}
    return one if isinstance(one, dict) else {}


def _swap(field: str) -> Change:
    """Return a change that takes the encoder, or the mechanism, of another channel."""

    def swap(dice: Dice, document: dict[str, Any]) -> None:
        other = honest((dice.one(channels()),))["channels"][0]
        _channel(dice, document)[field] = other[field]

    return swap


def _resize(dice: Dice, document: dict[str, Any]) -> None:
    """Make the encoder one category too large or too small."""
    encoder = _channel(dice, document).get("encoder")
    if isinstance(encoder, dict) and isinstance(encoder.get("bins"), int):
        encoder["bins"] += dice.one([-1, 1])
    elif isinstance(encoder, dict) and isinstance(encoder.get("labels"), list) and encoder["labels"]:
        if dice.below(2):
            encoder["labels"].append(dice.one(["more", encoder["labels"][0], 7, 7.0, None, 2**53 + 1, math.nan]))
        else:
            encoder["labels"].pop()


def _narrow(dice: Dice, document: dict[str, Any]) -> None:
    """Make a scale that floating point can hardly hold."""
    encoder = _channel(dice, document).get("encoder")
    inner = encoder.get("interval", encoder) if isinstance(encoder, dict) else None
    if isinstance(inner, dict):
        low = dice.one([0, 0.0, 1.0, -1e308, 2.0**1000, -(2.0**1000)])
        step = dice.one([5e-324, 2.0**-1000, 2.0**-1001, 2.0**-1022, 1e-16, 1, 1e308, 2.0**1000, 2.0**999])
        inner |= {"low": low, "high": low + step}
    if isinstance(encoder, dict) and "region" in encoder and dice.below(2):
        encoder["region"] = [20.0, dice.one([20.0, math.nextafter(20.0, 21.0), 1e308, 2.0**1000])]
    if isinstance(encoder, dict) and "squared_deviation_from" in encoder:
        encoder["squared_deviation_from"] = dice.one([0, 1e200, 2.0**500, 2.0**499, -(2.0**500), 1e-200])


_THRESHOLDS: list[Any] = [
    *("41.5", "-41.5", "0", "0.5", "99.99999999999999999999", "9" * 301, "9" * 302, "9" * 400, "9" * 401),
    *("0." + "0" * 397 + "1", "0." + "0" * 398 + "1", "-0", "0.0", "-0.0", "41.50", "041.5", "+41.5", " 41.5"),
    *("41.5\n", "41,5", "4_1", ".5", "5.", "1e1", "1E1", "0x10", "\u0664\u0661", "--1", "-", "", "nan", "inf"),
    *("Infinity", 41.5, 41, None, True, ["41.5"], {"threshold": "41.5"}),
]  # fmt: skip
"""Texts that some language reads as a number and another does not, or not as the same one."""


def _threshold(dice: Dice, document: dict[str, Any]) -> None:
    """Change what a value is compared with, in a channel that has such a thing."""
    found = document.get("channels")
    for one in found if isinstance(found, list) else []:
        encoder = one.get("encoder") if isinstance(one, dict) else None
        asked = encoder.get("encoders", [encoder]) if isinstance(encoder, dict) else []
        for inner in asked if isinstance(asked, list) else []:
            if isinstance(inner, dict) and "threshold" in inner:
                inner["threshold"] = copy.deepcopy(dice.one(_THRESHOLDS))


def _shift_weight(dice: Dice, document: dict[str, Any]) -> None:
    """Move weight from one report to another, or change a probability: a certificate that lies."""
    body = _channel(dice, document).get("mechanism")
    while isinstance(body, dict) and isinstance(body.get("parts"), list) and body["parts"] and dice.below(3):
        body = dice.one(body["parts"])
    if not isinstance(body, dict):
        return
    by = dice.one([1, 2, 1000, 10**9, 10**12])
    rows = body.get("weights")
    if isinstance(rows, list) and rows and isinstance(rows[0], list) and len(rows[0]) > 1:
        row = dice.one(rows)
        row[0], row[1] = row[0] + by, row[1] - by
    for field in ("hit", "high", "ones", "low", "inside", "outside", "coin"):
        if isinstance(body.get(field), int) and dice.below(2):
            body[field] += dice.one([-by, by, -1, 1])


def _claim(dice: Dice, document: dict[str, Any]) -> None:
    """Change what is claimed."""
    body = _channel(dice, document).get("mechanism")
    if isinstance(body, dict) and dice.below(3):
        body["epsilon"] = repr(
            dice.one([1.0, 0.5, 0.9999999999999, 0.99, 0.0001, 2.0, 20.0, math.nextafter(1.0, 0), 1e-5])
        )
    else:
        document["epsilon"] = dice.one([1, 1.0, 0.5, 0.999999999999, 20, 20.5, 0, -1, 2.5, 1e-4])


_CHANGES: dict[str, Change] = {
    "replace": _replace,
    "nudge": _nudge,
    "remove": _remove,
    "add": _add,
    "another encoder": _swap("encoder"),
    "another mechanism": _swap("mechanism"),
    "another size": _resize,
    "a narrow scale": _narrow,
    "another threshold": _threshold,
    "shifted weight": _shift_weight,
    "another claim": _claim,
}


def _repair(document: dict[str, Any]) -> None:
    """Give changed mechanisms their ids and the round its width, where they still have one."""
    widths = []
    found = document.get("channels")
    for one in found if isinstance(found, list) else []:
        try:
            one["mechanism_id"] = document_id(one["mechanism"])
            if one["mechanism"].get("size", 0) < 1 << 16:
                mechanism = Mechanism.from_document(copy.deepcopy(one["mechanism"]))
                one["mechanism_id"] = mechanism.id
                widths.append(mechanism.report_bytes)
        except (DiscreetError, ArithmeticError, TypeError, ValueError, KeyError, AttributeError, LookupError):
            return
    if widths and document.get("answers") == 1:
        document["width"] = max(widths)


_SPELLINGS: list[tuple[str, str]] = [
    (r"(?<=[\s\[:])(\d+)(?=[\s,\]}])", r"\g<1>.0"),
    (r"(?<=[\s\[:])(\d+)(?=[\s,\]}])", r"\g<1>e0"),
    (r"(?<=[\s\[:])(\d+)(?=[\s,\]}])", r"0\g<1>"),
    (r"(?<=[\s\[:])(\d+)(?=[\s,\]}])", r"-\g<1>"),
    (r'"(\w+)": ', r'"\g<1>": 0, "\g<1>": '),
    (r'"(\w)(\w*)": ', r'"\g<1>\g<2>": 0, "\\u00' + r'{:02x}\g<2>": '),
    (r'"certificate": \{', r'"certificate": {"epsilon_claimed": NaN, '),
    (r"\{", r'{"": {"a": 1, "a": 2}, '),
    (r"\[", r"[ \t"),
]


def _spell(dice: Dice, text: str) -> str:
    """Change the text itself: numbers, keys, ends."""
    turn = dice.below(len(_SPELLINGS) + 4)
    if turn < len(_SPELLINGS):
        pattern, made = _SPELLINGS[turn]
        found = list(re.finditer(pattern, text))
        if not found:
            return text
        match = dice.one(found)
        spelled = made.format(ord(match[1])) if "{:02x}" in made else made
        return str(text[: match.start()] + match.expand(spelled) + text[match.end() :])
    depth = dice.one([2, 11, 12, 13, 14, 15, 16, 17, 40, 900, 5000])
    made_of: list[str] = [
        text[: dice.below(len(text) + 1)],
        text + dice.one([" ", "x", "{}", "\n\n", ",", "\x00"]),
        dice.one(["\ufeff", " ", "[", "\u00a0"]) + text,
        re.sub(r'"certificate": \{', f'"certificate": {{"deep": {"[" * depth}{"]" * depth}, ', text, count=1),
    ]
    return made_of[turn - len(_SPELLINGS)]


def hostile(count: int, seed: int) -> Iterator[Hostile]:
    """Yield texts of rounds: every honest one first, then mutants of them.

    Examples
    --------
    >>> first = next(iter(hostile(1, seed=7)))
    >>> first.changes, first.text[:13]
    ((), '{"campaign": ')
    """
    dice, made = Dice(seed), honest_rounds()
    for turn in range(count):
        if turn < len(made):
            yield Hostile(json.dumps(made[turn]), ())
            continue
        document, changes = copy.deepcopy(dice.one(made)), []
        for _ in range(dice.one([0, 1, 1, 1, 2, 3])):
            name = dice.one(list(_CHANGES))
            _CHANGES[name](dice, document)
            changes.append(name)
        if changes and dice.below(5):
            _repair(document)
        text = json.dumps(document, indent=dice.one([None, None, None, 1]))
        if not changes or not dice.below(8):
            text = _spell(dice, text)
            changes.append("spelling")
        yield Hostile(text, tuple(changes))
