"""Compiled kernels and their plain twins agree, where shortcuts are most likely to err; and the rule between them."""

import numpy as np
import pytest

import discreet as dc
from discreet import compiling
from discreet.mechanisms import transforms
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.hadamard_response import hadamard_response
from discreet.mechanisms.categorical.hash_family import HashFamily
from discreet.mechanisms.registry import entries
from discreet.mechanisms.shapes.profile import profile_weights
from discreet.mechanisms.shapes.table import LEAST_GAP
from discreet.mechanisms.shapes.window import NumericWindow, categorical_window
from discreet.privacy.exact import TOTAL


def both(m: Mechanism, x: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the reports of the compiled path and of the readable one, for the same words."""
    out = m._empty(len(x))
    m._many(x, words.reshape(-1), out)
    plain = [m._one(value, row) for value, row in zip(x.tolist(), words.tolist(), strict=True)]
    return out.astype(np.uint64), np.array(plain, dtype=np.uint64)


def near_thresholds(m: dc.Table, rows: np.ndarray) -> np.ndarray:
    """Return words that hit thresholds of the table, and one unit below them."""
    drawn = np.random.default_rng(1).integers(0, m.alphabet, len(rows))
    at = np.array([m._thresholds[row][y] for row, y in zip(rows, drawn, strict=True)], dtype=np.uint64)
    return np.minimum(at - (np.arange(len(rows)) % 2).astype(np.uint64), np.uint64(TOTAL - 1)) << np.uint64(16)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("knots", [(-1, 1), (-1, -0.9999999, 1), (-1, 0.3, 0.3 + 4e-15, 0.3000001, 1), None])
@pytest.mark.parametrize("outputs", [2, 3, 5, 40])
def test_tables_with_crowded_knots_and_thresholds(knots: tuple[float, ...] | None, outputs: int) -> None:
    knots = knots or tuple(np.unique([-1, 1, 0.5, *(0.5 + LEAST_GAP) + 1e-9 * np.arange(20)]).tolist())
    weights = [[2**21 + 7 * (k + j) for j in range(outputs - 1)] for k in range(len(knots))]  # all at one end
    rows = [[*row, TOTAL - sum(row)] if k % 2 else [TOTAL - sum(row), *row] for k, row in enumerate(weights)]
    rows = [rows[1]] * len(knots) if outputs == 2 else rows
    m = dc.Table("crowded", 20.0, knots, rows, np.linspace(-2, 2, outputs).tolist())
    around = np.array([[k, np.nextafter(k, 2), np.nextafter(k, -2)] for k in knots]).reshape(-1)
    x = np.resize(around[np.abs(around) <= 1], 3000)
    words = dc.Entropy.seeded(2).words(2 * len(x)).reshape(-1, 2).copy()
    words[::2, 1] = near_thresholds(m, np.searchsorted(knots, x[::2], side="right").clip(1, len(knots)) - 1)
    fast, plain = both(m, x, words)
    assert (fast == plain).all()
    assert len(set(plain.tolist())) == outputs  # the crowded end was reached


@pytest.mark.needs("numba")
@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize("shape", [[1.0] * 7, [1.0] * 3, [0.2, 1.0, 0.2], list(np.linspace(0.1, 1, 300))])
def test_windows_at_their_thresholds(shape: list[float], numeric: bool) -> None:
    m = (NumericWindow if numeric else categorical_window)("wave", 2.0, 57, *profile_weights(2.0, 57, shape))
    x = np.resize(m.inputs, 4000)
    words = dc.Entropy.seeded(3).words(m.words_per_report * len(x)).reshape(len(x), -1).copy()
    edges = np.array([0, *m._thresholds, *(m._thresholds[-1] + m.low * np.arange(1, 56))], dtype=np.uint64)
    words[::3, -1] = np.resize(edges, len(words[::3])) << np.uint64(16)
    words[1::3, -1] = np.resize(edges[1:] - np.uint64(1), len(words[1::3])) << np.uint64(16)
    fast, plain = both(m, x, words)
    assert (fast == plain).all()


@pytest.mark.needs("numba")
@pytest.mark.parametrize(
    "m",
    [
        *(hadamard_response(1.3, 100, blocks=blocks) for blocks in (1, 2, 5, "best")),
        *(dc.mechanism("projective-geometry", epsilon=e, size=size) for e, size in ((0.3, 2), (1, 1000), (3, 70_000))),
        *(dc.mechanism("local-hashing", epsilon=e, size=size) for e, size in ((1, 2), (1, 65_536), (3, 70_000))),
        *(dc.mechanism("subset-selection", epsilon=1, size=size) for size in (2, 63, 64, 65, 129)),
        *(dc.mechanism("optimized-unary", epsilon=1, size=size) for size in (63, 64, 65)),
        *(
            dc.mechanism("padded-subset", epsilon=e, options=options, most=most)
            for e, options, most in ((1, 8, 3), (0.5, 2, 2), (2, 48, 16), (1, 33, 1), (4, 30, 15), (1, 12, 12))
        ),
    ],
    ids=lambda m: f"{m.name}-{m.size}-{m.alphabet.bit_length()}",
)
def test_oracles_at_the_ends_of_their_words(m: Mechanism) -> None:
    x = np.resize([0, m.size - 1, *np.random.default_rng(1).integers(0, m.size, 598)], 1200)
    words = dc.Entropy.seeded(4).words(m.words_per_report * len(x)).reshape(len(x), -1).copy()
    words[:100:2] = np.uint64(0)
    words[1:100:2] = np.uint64(2**64 - 1)
    fast, plain = both(m, x, words)
    assert (fast == plain).all()


@pytest.mark.needs("numba")
@pytest.mark.parametrize(("epsilon", "size"), [(0.5, 2), (1.0, 100), (4.0, 60)])
def test_listed_points_are_the_computed_ones(epsilon: float, size: int) -> None:
    m = dc.mechanism("projective-geometry", epsilon=epsilon, size=size)
    x, words = np.resize(np.arange(size), 5000), dc.Entropy.seeded(5).words(10_000)
    few, many = m._empty(1000), m._empty(5000)
    m._many(x[:1000], words[:2000], few)
    assert "_points" not in vars(m)
    m._many(x, words, many)
    assert (np.sort(m._points, axis=1) == np.arange(m.alphabet)).all()  # type: ignore[attr-defined]
    assert (many[:1000] == few).all()
    assert many.tolist() == [m._one(v, w) for v, w in zip(x.tolist(), words.reshape(-1, 2).tolist(), strict=True)]


GIVEN = {"size": 70, "prior": [1, 2, 3, 2], "sizes": [2, 5, 7], "options": 7, "most": 2}


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", sorted(entries()))
def test_batches_and_tallies_do_not_depend_on_the_kernels(name: str) -> None:
    m = entries()[name].build(1.0, **{need: GIVEN[need] for need in entries()[name].needs})
    x = np.linspace(-1, 1, 500) if isinstance(m, dc.mechanisms.Numeric) else np.arange(500) % 70
    found = []
    for compiled in (True, False):
        with compiling.using(compiled=compiled):
            reports = m.privatize(x, dc.Entropy.seeded(3))
            tally = m.tally(reports)
            counts = m.support_counts(tally) if isinstance(m, dc.mechanisms.Oracle) else tally.counts
            found.append((reports.tolist(), tally.counts.tolist(), counts.tolist()))
    assert found[0] == found[1]


def both_ways(run):
    with compiling.using(compiled=True):
        compiled = run()
    with compiling.using(compiled=False):
        return compiled, run()


@pytest.mark.needs("numba")
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_transforms_are_the_same_to_the_last_bit(dtype: type) -> None:
    random = np.random.default_rng(1)
    rows = (random.integers(-1000, 1000, (3, 64)) * (1 if dtype is np.int64 else 0.1)).astype(dtype)
    assert np.array_equal(*both_ways(lambda: transforms.walsh_hadamard(rows.copy())))
    for field, length in ((2, 1), (2, 6), (3, 4), (7, 3), (31, 2)):
        values = (random.integers(0, 1000, field**length) * (1 if dtype is np.int64 else 0.1)).astype(dtype)
        assert np.array_equal(*both_ways(lambda v=values, f=field, n=length: transforms.hyperplane_sums(v, f, n)))


@pytest.mark.parametrize("bits", [4, 16, 24])
@pytest.mark.parametrize("buckets", [2, 5, 16])
def test_plain_hashing_is_the_readable_definition(bits: int, buckets: int) -> None:
    family = HashFamily(bits, buckets)
    random = np.random.default_rng(bits)
    seeds = random.integers(0, family.seeds, 300).astype(np.uint64)
    values, told = random.integers(0, 16, 300), random.integers(0, buckets, 300).astype(np.uint64)
    readable = [family.bucket(v, s) for v, s in zip(values.tolist(), seeds.tolist(), strict=True)]
    with compiling.using(compiled=False):
        assert family.bucket_many(values, seeds).tolist() == readable
        counts = family.support_counts(13, seeds, told)
    expected = [
        sum(family.bucket(v, s) == y for s, y in zip(seeds.tolist(), told.tolist(), strict=True)) for v in range(13)
    ]
    assert counts.tolist() == expected


@pytest.mark.needs("numba")
def test_hashes_are_counted_alike() -> None:
    for size, bits, buckets in ((2, 16, 4), (5000, 16, 8), (300, 24, 55)):
        family = HashFamily(bits, buckets)
        seeds = np.random.default_rng(size).integers(0, family.seeds, 400).astype(np.uint64)
        told = (seeds * np.uint64(7)) % np.uint64(buckets)
        first, second = both_ways(lambda f=family, n=size, s=seeds, t=told: f.support_counts(n, s, t))
        assert first.tolist() == second.tolist()


def test_the_plain_twin_serves_until_compiling_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_spent", dict.fromkeys(["work"], 0.0))
    monkeypatch.setattr(compiling, "has", lambda _: True)
    assert [compiling.pays("work", 0.6) for _ in range(4)] == [False, False, True, True]
    assert compiling.pays("work", 1e-9)  # compiled by now
    monkeypatch.setattr(compiling, "has", lambda _: False)
    assert not compiling.pays("work", 1e9)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("size", [2, 3, 16, 100, 512, 513, 1500])
@pytest.mark.parametrize("buckets", [3, 4])
def test_hashes_are_counted_alike_for_few_values_and_for_many(size: int, buckets: int) -> None:
    m = dc.mechanism("local-hashing", epsilon=1, size=size, buckets=buckets)
    reports = m.privatize(np.arange(2500) % size, dc.Entropy.seeded(1))
    with compiling.using(compiled=False):
        plain = m.tally(reports)
    with compiling.using(compiled=True):
        assert m.tally(reports) == plain
        assert m.tally(reports[:0]).counts.tolist() == [0] * size


@pytest.mark.needs("numba")
@pytest.mark.parametrize("bits", [16, 24])
@pytest.mark.parametrize("size", [2, 5, 1000])
def test_listed_products_are_those_of_the_field(bits: int, size: int) -> None:
    family = HashFamily(bits, 4)
    products = family.products(size)
    assert products is not None
    table = products.reshape(size, bits // 4, 16)
    for value in (0, 1, size - 1):
        for digit, factor in ((0, 5), (1, 15), (bits // 4 - 1, 9)):
            seed, expected, row, rest = factor << 4 * digit, 0, factor << 4 * digit, value
            while rest:
                expected ^= row * (rest & 1)
                row, rest = family._shifted(row), rest >> 1
            assert table[value, digit, factor] == expected, seed
    assert family.products(1 << 16) is None


@pytest.mark.needs("numba")
@pytest.mark.parametrize("n", [0, 1, 7, 3000, 20_000])
def test_sketches_are_counted_alike_sorted_or_not(n: int) -> None:
    m = dc.mechanism("count-mean-sketch", epsilon=1, size=50, hashes=4, width=128)
    reports = m.privatize(np.arange(n) % 50, dc.Entropy.seeded(2))
    with compiling.using(compiled=False):
        plain = m._count(m.check_reports(reports))
    with compiling.using(compiled=True):
        assert (m._count(m.check_reports(reports)) == plain).all()


@pytest.mark.needs("numba")
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", [16, 100])
def test_subsets_with_a_wrong_bit_are_named(size: int, compiled: bool) -> None:
    m = dc.mechanism("subset-selection", epsilon=1, size=size)
    with compiling.using(compiled=compiled):
        reports = m.privatize(np.zeros(5000, dtype=np.int64), dc.Entropy.seeded(3))
        more = reports.copy()
        more[1234, 0] ^= np.uint64(1)
        with pytest.raises(dc.DiscreetError, match="report 1234 must have exactly"):
            m.tally(more)
        beyond = reports.copy()
        bits = np.unpackbits(beyond[77:78, -1:].view(np.uint8), bitorder="little")
        beyond[77, -1] ^= np.uint64(1 << 60 | 1 << int(np.flatnonzero(bits)[0]))  # as many ones, one of them outside
        with pytest.raises(dc.DiscreetError, match="must only have the bits"):
            m.tally(beyond)


@pytest.mark.parametrize("name", ["duchi", "basic-rappor", "subset-selection", "randomized-response"])
def test_reports_are_counted_in_parts_and_named_by_their_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = dc.mechanism(name, epsilon=1, **({} if name == "duchi" else {"size": 10}))
    x = np.zeros(3000) if m.numeric else np.zeros(3000, dtype=np.int64)
    reports = m.privatize(x, dc.Entropy.seeded(4))
    whole = m.tally(reports)
    monkeypatch.setattr("discreet.mechanisms.base._COUNTED_BYTES", 8)
    assert m.tally(reports) == whole
    assert m.tally(list(reports)) == whole
    if name != "basic-rappor":
        wrong = reports.copy()
        wrong[2345] = 255
        with pytest.raises(dc.DiscreetError, match="report 2345 must"):
            m.tally(wrong)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 4), (2, 3, 5)])
def test_listed_agreements_are_those_that_are_computed(sizes: tuple[int, ...]) -> None:
    m = entries()["agreement"].build(1.0, sizes=sizes)
    x = np.arange(5000) % m.size
    words = dc.Entropy.seeded(6).words(2 * len(x))
    computed, listed = m._empty(len(x)), m._empty(len(x))
    m._each(x, words, computed)
    m._many(x, words, listed)
    assert "_listed" in vars(m)
    assert (listed == computed).all()
