"""Encoders of every kind with values that suit them, nearly do, or do not at all."""

from typing import Any

from tests.vectors.dice import Dice

from discreet.domains import Categories, Interval
from discreet.plans.encoders import (
    Answers,
    Attribute,
    Below,
    Bucket,
    GroupValue,
    NumberOrRefusal,
    SignedValue,
    Symbols,
    read_encoder,
    write_encoder,
)


def suited(dice: Dice) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return documents of encoders, each with values."""
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
    return encoders


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
