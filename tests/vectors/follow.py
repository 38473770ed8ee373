"""What follows from documents, keys and answers: the vectors, computed; the tests use it too."""

import struct
from typing import Any

import numpy as np
from tests.vectors.dice import Dice

import discreet as dc
from discreet.errors import DiscreetError
from discreet.mechanisms import entries
from discreet.mechanisms.shapes.public_coin import PublicCoin
from discreet.messages.ids import ticket_id
from discreet.messages.uploads import pad, write_upload
from discreet.plans.assignment import drawn_by_id
from discreet.plans.encoders import read_encoder

entries()  # loads every kind


def words(key: str, count: int) -> list[str]:
    """Return the first words of a key, as texts (JavaScript's numbers end at 2^53)."""
    return [str(word) for word in dc.Entropy.from_key(bytes.fromhex(key)).words(count).tolist()]


def draw(m: Any, x: Any, given: list[int]) -> str:
    """Return the packed report of one input and given words."""
    report = m._one(m._check_one(x), given)
    return str(m.pack(report[None, :] if isinstance(report, np.ndarray) else [report]).hex())


def edges(m: Any, inputs: list[Any], dice: Dice) -> list[dict[str, Any]]:
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
