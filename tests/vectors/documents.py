"""Documents of mechanisms: named, invented, rounded; and those that every reader must refuse."""

import json
import math
from fractions import Fraction
from typing import Any

from tests.vectors.dice import Dice

import discreet as dc
from discreet.mechanisms.arithmetic import largest_hit, unevenness
from discreet.mechanisms.categorical.haar_bit import haar_bit
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.rounded import Rounded
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.unary import Unary
from discreet.mechanisms.shapes.window import CategoricalWindow, NumericWindow, Window, flat_weights
from discreet.privacy.exact import TOTAL, exp_below, log_above


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
