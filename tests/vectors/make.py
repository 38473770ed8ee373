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

import json
import math
import struct
import sys
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.vectors import forms
from tests.vectors.dice import KEY, Dice
from tests.vectors.documents import bad_documents, invented, named, rounded, sets, some_inputs
from tests.vectors.encoders import suited
from tests.vectors.follow import encode, encode_total, follow, refusal, upload, words
from tests.vectors.rounds import grouped, rounds

import discreet as dc
from discreet.plans.assignment import thresholds
from discreet.privacy.exact import TOTAL
from discreet.privacy.ledger import Accounts, Loss

HERE = Path(__file__).parent


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

    encoders = suited(dice)
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
