"""Ranged reports: exact certificates against brute force, levels against the reference, samplers, refusals."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet import checks
from discreet.domains import OUTSIDE
from discreet.errors import DiscreetError, DomainError, PrivacyError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.numeric.duchi import duchi
from discreet.mechanisms.numeric.hybrid import hybrid
from discreet.mechanisms.numeric.piecewise import piecewise
from discreet.mechanisms.numeric.privrm import METHODS, fill, range_mechanism
from discreet.mechanisms.registry import entries
from discreet.mechanisms.shapes.ranged import Ranged, envelope
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import TOTAL

REFERENCE = json.loads((Path(__file__).parent / "ranged_reference.json").read_text())
INNERS = ("duchi", "piecewise", "hybrid", "square-wave")
EPSILONS = (0.5, 1.0, 2.0, 5.0)


def flat(table):
    return [(name, float(key), value) for name, row in table.items() for key, value in row.items()]


# -- lattices: exact certificates -------------------------------------------------------------------------------------


def brute_force(m: Ranged) -> Fraction:
    """The largest P(y|x)/P(y|x') over all inputs and reports, with nothing structured about it."""
    columns = list(zip(*[m.law(i) for i in range(m.size)], strict=True))
    return max(max(c) / min(c) for c in columns)


def small(method, inner, epsilon, draw=None, **options):
    return range_mechanism(method, inner, epsilon, draw=draw, positions=12, **options)


@pytest.mark.parametrize("draw", ["best", "uniform", "zero", "random"])
@pytest.mark.parametrize("inner", INNERS)
@pytest.mark.parametrize("method", METHODS[:3])
def test_certificate_is_the_brute_force_maximum(method, inner, draw):
    for epsilon in (0.3, 1.0, 4.0):
        m = small(method, inner, epsilon, draw)
        assert m.certificate.ratio == brute_force(m)
        assert m.certificate.holds
        assert all(sum(m.law(i)) == 1 for i in (0, m.size // 2, m.size - 1))


@pytest.mark.parametrize("inner", INNERS)
def test_certificate_of_the_outside_symbol(inner):
    for epsilon in (0.3, 1.0, 4.0, 9.0):
        m = small("outside-symbol", inner, epsilon)
        assert m.certificate.ratio == brute_force(m)
        assert m.certificate.holds
        assert m.inner.epsilon == epsilon
        assert m.certificate.epsilon > epsilon - 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inner", INNERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_calibration_spends_epsilon_and_no_more(method, inner, epsilon):
    m = range_mechanism(method, inner, epsilon, positions=128)
    jump = inner == "hybrid" and method != "outside-symbol" and m.inner.kind == "table"
    assert m.certificate.holds
    assert m.certificate.epsilon > epsilon - 2e-8 or jump


def test_best_draw_is_never_worse_than_the_papers():
    for inner in INNERS:
        for epsilon in (1.0, 3.0):
            best = range_mechanism("privrm-star", inner, epsilon, positions=64)
            paper = range_mechanism("privrm-star", inner, epsilon, draw="uniform", positions=64)
            assert best.inner.epsilon >= paper.inner.epsilon - 1e-9
    best = range_mechanism("privrm-star", "hybrid", 2.0)
    assert best.inner.epsilon == pytest.approx(1.778, abs=1e-3)  # 1.682 with the paper's mixture


@pytest.mark.parametrize("inner", INNERS)
def test_outside_symbol_parameters(inner):
    for name, epsilon, row in flat({inner: REFERENCE["outside_symbol"][inner]}):
        m = range_mechanism("outside-symbol", name, epsilon)
        tolerance = 1e-9 if inner == "duchi" else 2e-4
        assert 1 - m.inside / TOTAL == pytest.approx(row["A"], rel=tolerance)
        assert 1 - m.outside / TOTAL == pytest.approx(row["B"], rel=tolerance)
        assert m.drawn_square == pytest.approx(row["var_low"], rel=tolerance)


SLOW = pytest.param("minimax", "privrm-star", marks=pytest.mark.slow)  # a linear programme for each step
OTHERS = ("laplace", "truncated-laplace", "three-output", "n-output", "hybrid-np")


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, method) for name in OTHERS for method in METHODS] + [("minimax", "outside-symbol"), SLOW],
)
def test_any_mean_mechanism_fits(name, method):
    if name not in entries():
        pytest.skip(f"{name} is not registered")
    m = range_mechanism(method, name, 2.0)
    assert m.certificate.holds
    assert m.certificate.epsilon > 2.0 - (3e-3 if name == "minimax" else 1e-4)
    assert abs(m.matrix()[-1] @ m.values) < 1e-9


def test_envelope_is_the_extremes_of_the_law():
    for inner in (duchi(1.0), piecewise(1.0, 9), hybrid(1.0, 9)):
        rows = [inner.law(i) for i in range(inner.size)]
        low, high = envelope(inner)
        assert [Fraction(w, 1 << 64) for w in low] == [min(c) for c in zip(*rows, strict=True)]
        assert [Fraction(w, 1 << 64) for w in high] == [max(c) for c in zip(*rows, strict=True)]


# -- negative controls -----------------------------------------------------------------------------------------------


def test_a_uniform_draw_over_one_component_of_a_mixture_is_refused():
    inner = hybrid(2.0, 12)
    atoms, cells = inner.parts[0].alphabet, inner.parts[1].alphabet
    each, rest = divmod(TOTAL, cells)
    draw = [0] * atoms + [each + (k < rest) for k in range(cells)]
    with pytest.raises(PrivacyError, match="infinite"):
        Ranged("broken", 20.0, inner, TOTAL // 2, TOTAL // 4, draw, silent=False)


def test_a_uniform_draw_over_the_whole_alphabet_of_a_mixture_is_refused_at_the_paper_level():
    inner = hybrid(range_mechanism("privrm-star", "hybrid", 2.0, draw="uniform").inner.epsilon, 256)
    each, rest = divmod(TOTAL, inner.alphabet)
    draw = [each + (k < rest) for k in range(inner.alphabet)]
    p = 1 / (1 + math.exp(-inner.epsilon))
    with pytest.raises(PrivacyError, match="exact epsilon"):
        Ranged("broken", 2.0, inner, TOTAL // 2, math.ceil((1 - p) * TOTAL), draw, silent=False)


def test_the_papers_hybrid_below_065_is_refused():
    p = 0.6499
    e = math.log(p / (1 - p))  # Table 2: the level is e
    inner = hybrid(e)
    uniform = range_mechanism("privrm-star", "hybrid", 1.0, draw="uniform")  # for its weights' shape only
    assert uniform.certificate.holds
    atoms, cells = inner.parts[0].alphabet, inner.parts[1].alphabet
    heads = TOTAL * inner.coin >> 16
    draw = [heads // atoms] * atoms + [(TOTAL - heads) // cells] * cells
    draw[-1] += TOTAL - sum(draw)
    with pytest.raises(PrivacyError, match="exact epsilon"):
        Ranged("table 2", e + 0.03, inner, TOTAL // 2, math.ceil((1 - p) * TOTAL), draw, silent=False)


def test_broken_parameters_are_refused():
    inner, half = duchi(1.0), [TOTAL // 2] * 2
    good = {"inside": TOTAL // 2, "outside": TOTAL // 3, "draw": half, "silent": False}
    Ranged("fine", 2.0, inner, **good)
    for change, words in (
        ({"inside": TOTAL // 3}, "outside < inside"),
        ({"outside": 0}, "outside < inside"),
        ({"draw": [TOTAL, TOTAL]}, "sum"),
        ({"draw": [TOTAL]}, "weights"),
    ):
        with pytest.raises(DiscreetError, match=words):
            Ranged("broken", 2.0, inner, **(good | change))
    with pytest.raises(PrivacyError):
        Ranged("greedy", 1.0, inner, **(good | {"outside": TOTAL // 16}))
    with pytest.raises(PrivacyError):  # a silent tag too often sent by those outside
        Ranged("greedy", 1.0, inner, inside=TOTAL - TOTAL // 64, outside=TOTAL // 2, draw=half, silent=True)
    with pytest.raises(DiscreetError, match="inner"):
        Ranged("nested", 3.0, Ranged("fine", 2.0, inner, **good), **good)
    with pytest.raises(DiscreetError, match="method must be"):
        range_mechanism("privrm-x", "duchi", 1.0)
    with pytest.raises(DiscreetError, match="mechanism must be"):
        range_mechanism("privrm-o", "nothing", 1.0)


def test_fill_refuses_what_has_no_solution():
    with pytest.raises(PrivacyError):
        fill([TOTAL, 1], [TOTAL, 1], np.array([-1.0, 1.0]))
    with pytest.raises(PrivacyError):
        fill([1, 1], [TOTAL // 4, TOTAL // 4], np.array([-1.0, 1.0]))


# -- the sampler, the law, documents ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inner", INNERS)
def test_one_and_many_agree_bit_by_bit(method, inner):
    m = range_mechanism(method, inner, 1.5, positions=64)
    x = np.where(np.arange(3000) % 3 == 0, OUTSIDE, np.linspace(-1, 1, 3000))
    many = m.privatize(x, Entropy.seeded(11))
    entropy = Entropy.seeded(11)
    assert many.tolist() == [m.privatize(float(v), entropy) for v in x]
    assert int(many.max()) < m.alphabet


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("method", METHODS)
def test_public_checks(method):
    # check_reports and check_operator know no input besides [-1, 1]; what they check is checked below.
    m, entropy = range_mechanism(method, "hybrid", 1.5, positions=12), Entropy.seeded(3)
    checks.check_certificate(m)
    checks.check_paths_agree(m, 5)
    checks.check_documents(m)
    checks.check_merging(m, entropy)
    checks.check_sampler(m, entropy, 100_000)
    checks.check_audit(m, entropy, 100_000)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inner", INNERS)
def test_operator_values_membership(method, inner):
    m = range_mechanism(method, inner, 1.0, positions=32)
    matrix, a = m.matrix(), m.operator()
    f, g = np.linspace(1, 2, m.size), np.cos(np.arange(m.alphabet))
    np.testing.assert_allclose(a @ f, matrix.T @ f, atol=1e-12)
    np.testing.assert_allclose(a.T @ g, matrix @ g, atol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(matrix @ m.values, np.append(m.inner.inputs, 0.0), atol=1e-9)
    np.testing.assert_allclose(matrix @ m.membership, np.append(np.ones(m.size - 1), 0.0), atol=1e-9)
    assert m.certificate.unbiased
    bins = m.operator(5) @ np.array([0.1, 0.2, 0.1, 0.1, 0.1, 0.4])
    assert bins.sum() == pytest.approx(1)
    square = matrix @ m.values**2
    assert m.variance(OUTSIDE) == pytest.approx(square[-1])
    assert m.variance(1.0) == pytest.approx(square[-2] - 1)
    assert m.worst_case_variance >= max(m.variance(np.linspace(-1, 1, 101)).max(), m.variance(OUTSIDE)) - 1e-9
    assert set(m.describe()) >= {"epsilon_exact", "worst_case_variance"}


@pytest.mark.parametrize("method", METHODS)
def test_documents_round_trip_and_are_checked(method):
    m = range_mechanism(method, "hybrid", 2.0, positions=32)
    again = Mechanism.from_json(m.to_json())
    assert again == m
    assert again.certificate == m.certificate
    document = m.to_document()
    with pytest.raises(PrivacyError):
        Mechanism.from_document(document | {"epsilon": "1.9"})
    with pytest.raises(PrivacyError):
        Mechanism.from_document(document | {"outside": document["outside"] // 8})
    for broken in (
        {"parts": [document]},
        {"parts": []},
        {"draw": document["draw"][:-1]},
        {"draw": [[1, w] for count, w in document["draw"] for _ in range(count)]},
        {"silent": 2},
        {"extra": 1},
    ):
        with pytest.raises(WireError):
            Mechanism.from_document(document | broken)
    reports = m.privatize(np.array([0.0, OUTSIDE, 1.0]), Entropy.seeded(1))
    assert m.unpack(m.pack(reports)).tolist() == reports.tolist()


def test_inputs_are_checked():
    m = range_mechanism("outside-symbol", "duchi", 1.0)
    for bad in (math.nan, 1.5, -2.0, 2.0000001):
        with pytest.raises(DomainError):
            m.privatize(bad)
        with pytest.raises(DomainError):
            m.privatize([0.0, bad])
    with pytest.raises(DomainError):
        m.privatize(["outside"])
    assert m.privatize([], Entropy.seeded(1)).size == 0
    assert m.privatize(2, Entropy.seeded(1)) in (0, 1, 2)
    with pytest.raises(DiscreetError):
        m.spread(4)
