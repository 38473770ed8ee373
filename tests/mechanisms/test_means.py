"""Mean mechanisms against independent closed forms (means_reference.json) and against what the papers claim."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.mechanisms import Mechanism, mechanism
from discreet.mechanisms.numeric.hybrid_np import hybrid_np, hybrid_np_share, hybrid_np_worst_case, hybrid_tp
from discreet.mechanisms.numeric.laplace import laplace, truncated_laplace
from discreet.mechanisms.numeric.n_output import best_layout, best_outputs, fixed_outputs, n_output
from discreet.mechanisms.numeric.output_layouts import OutputLayout, layout, peak, shares, theorem_4, three_output_p0
from discreet.mechanisms.numeric.piecewise import best_zeta, piecewise_variance
from discreet.mechanisms.numeric.three_output import plateau_output, three_output

REFERENCE = json.loads((Path(__file__).parent / "means_reference.json").read_text())
ROWS = REFERENCE["rows"] + REFERENCE["more"]
XS = [0.0, 0.25, 0.5, 0.75, 1.0]
EXACT, LATTICE = 1e-6, 2e-3
# name in the reference: (name, options, relative tolerance)
NAMED = {
    "duchi": ("duchi", {}, EXACT),
    "three_output": ("three-output", {}, EXACT),
    "plateau3": ("three-output", {"plateau": True}, EXACT),
    "n_output": ("n-output", {"corrected": False}, EXACT),
    "n_output_family_opt": ("n-output", {}, EXACT),
    "laplace": ("laplace", {}, LATTICE),
    "pm": ("piecewise", {}, LATTICE),
    "pm_sub": ("piecewise-sub", {}, LATTICE),
    "pm_opt": ("piecewise-opt", {}, LATTICE),
    "hm": ("hybrid", {}, LATTICE),
    "hm_tp": ("hybrid-tp", {}, LATTICE),
    "hm_np": ("hybrid-np", {"corrected": False}, LATTICE),
}
MINE = ["laplace", "truncated-laplace", "three-output", "n-output", "piecewise-opt", "hybrid-tp", "hybrid-np"]


def worst(candidate: OutputLayout) -> float:
    return candidate.worst_case


def published(epsilon: float) -> float:
    return best_layout(epsilon, False, worst).worst_case


def pm_sub(epsilon: float) -> float:
    return sum(piecewise_variance(epsilon, math.exp(epsilon / 3)))


def root(below, low: float, high: float) -> float:
    """Return where ``below`` turns from true to false."""
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low


@pytest.mark.parametrize(
    ("row", "key"),
    [pytest.param(row, key, id=f"{row['epsilon']:g}-{key}") for row in ROWS for key in NAMED if key in row["worst"]],
)
def test_the_variance_is_the_reference(row, key):
    name, options, tolerance = NAMED[key]
    m = mechanism(name, row["epsilon"], **options)
    assert m.worst_case_variance == pytest.approx(row["worst"][key], rel=tolerance)
    if "variance_at" in row:
        at = row["variance_at"][key]
        tolerance = max(tolerance, 1e-5 if key == "plateau3" else 0)  # its reference was found on a grid
        np.testing.assert_allclose(m.variance(XS), at, rtol=tolerance)
        np.testing.assert_allclose(m.variance([-x for x in XS]), at, rtol=tolerance)


@pytest.mark.parametrize("epsilon", REFERENCE["truncated_laplace"])
def test_truncated_laplace_is_the_reference(epsilon):
    m = truncated_laplace(float(epsilon))
    np.testing.assert_allclose(m.variance(XS), REFERENCE["truncated_laplace"][epsilon], rtol=LATTICE)


@pytest.mark.parametrize("row", REFERENCE["rows"], ids=lambda row: str(row["epsilon"]))
def test_the_parameters_are_the_reference(row):
    epsilon = row["epsilon"]
    for corrected, key in ((False, "n_output"), (True, "n_output_corrected")):
        found = best_layout(epsilon, corrected, worst)
        assert found.outputs == row[key]["N"]
        assert found.p0 == pytest.approx(row[key]["p0"], rel=1e-5)
        np.testing.assert_allclose(found.positive, row[key]["positive"], rtol=1e-5)
    assert three_output_p0(epsilon) == pytest.approx(row["three_output_p0"], abs=1e-7)
    assert best_zeta(epsilon) == pytest.approx(row["zeta_opt"], rel=1e-9)
    assert hybrid_np_share(fixed_outputs(epsilon, 3, True)) == pytest.approx(row["hybrid_tp_share"], abs=1e-6)
    hybrid = best_layout(epsilon, False, hybrid_np_worst_case)
    assert hybrid.outputs == row["hybrid_np"]["N"]
    assert hybrid_np_share(hybrid) == pytest.approx(row["hybrid_np"]["share"], abs=1e-6)


@pytest.mark.parametrize("row", REFERENCE["more"], ids=lambda row: str(row["epsilon"]))
def test_the_best_numbers_of_outputs_are_the_reference(row):
    epsilon = row["epsilon"]
    hybrid = best_layout(epsilon, False, hybrid_np_worst_case).outputs
    assert [best_outputs(epsilon, corrected=False), best_outputs(epsilon), hybrid] == row["N"]


@pytest.mark.parametrize(("case", "value"), REFERENCE["fixed_N_paper"].items())
def test_given_numbers_of_outputs(case, value):
    epsilon, outputs = map(int, case.split("_"))
    m = n_output(epsilon, outputs=outputs, corrected=False)
    assert m.worst_case_variance == pytest.approx(value, rel=EXACT)


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.6932, 1, 1.37, 2, 3, 3.5, 4, 5, 6.123456789, 8])
def test_every_epsilon_is_certified_and_used_up(name, epsilon):
    m = mechanism(name, epsilon)
    assert epsilon - 1e-6 < m.certificate.epsilon <= epsilon
    assert m.certificate.holds
    assert m.certificate.unbiased
    assert m.certificate.bias < 1e-11
    text = m.to_json()
    assert len(text) < 4 << 20
    assert Mechanism.from_json(text) == m


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 20])
def test_extreme_epsilons_are_safe(name, epsilon):
    m = mechanism(name, epsilon)
    assert epsilon - 1e-4 < m.certificate.epsilon <= epsilon
    assert m.certificate.unbiased
    assert len(m.to_json()) < 4 << 20


@pytest.mark.parametrize("options", [{}, {"plateau": True}])
def test_three_outputs_around_their_switches(options):
    for epsilon in (0.6475, 0.6476, math.log(2), math.log(2) + 1e-9, 0.7, math.log(3.5), 1.2, 1.3, 1.7099, 1.71):
        m = three_output(epsilon, **options)
        assert epsilon - 1e-9 < m.certificate.epsilon <= epsilon
        assert m.certificate.unbiased
        assert m.worst_case_variance <= mechanism("duchi", epsilon).worst_case_variance * (1 + 1e-12)


def test_the_plateau_is_never_above_and_its_closed_form_is_the_mechanism():
    for epsilon in np.arange(0.1, 16, 0.3).tolist():
        plateau, plain = three_output(epsilon, plateau=True), three_output(epsilon)
        assert plateau.worst_case_variance <= plain.worst_case_variance * (1 + 1e-12)
        a, c = plateau_output(epsilon), math.exp(epsilon)
        if a is not None:
            closed = 2 * a / (c - 1) + a * a / 4 if a <= 2 else a * (c + 1) / (c - 1) - 1
            assert plateau.worst_case_variance == pytest.approx(closed, rel=1e-9)


def test_p0_of_three_outputs_is_the_minimiser():
    for epsilon in np.linspace(0.3, 2.5, 45).tolist():
        top = 1 / (math.exp(epsilon) + 2)
        found = fixed_outputs(epsilon, 3, True).worst_case
        for p0 in np.linspace(0, top, 40).tolist():
            assert found <= OutputLayout(epsilon, 3, p0, (1 / shares(epsilon, 3, p0)[2],)).worst_case * (1 + 1e-12)


# -- what the n-output paper says ---------------------------------------------------------------------------


def test_table_1():
    thresholds = REFERENCE["thresholds"]["table1"]
    assert root(lambda e: best_outputs(e) == 2, 0.5, 1) == pytest.approx(math.log(2), abs=1e-6)

    def three(epsilon):
        return fixed_outputs(epsilon, 3, True).worst_case

    assert root(lambda e: three(e) < pm_sub(e), 2, 3) == pytest.approx(2.5610893, abs=1e-6)
    opt = root(lambda e: three(e) < sum(piecewise_variance(e, best_zeta(e))), 2, 3)
    assert opt == pytest.approx(thresholds["three_output_to_pm_opt"], abs=1e-6)


@pytest.mark.parametrize(("change", "epsilon"), REFERENCE["thresholds"]["best_N_change_eps"].items())
def test_where_the_best_number_of_outputs_changes(change, epsilon):
    before, after = map(int, change.split("->"))
    assert best_outputs(epsilon - 2e-5, corrected=False) == before
    assert best_outputs(epsilon + 2e-5, corrected=False) == min(after, 256)


def test_figure_2_as_published_and_corrected():
    grid = [0.05, 0.5, 1, 2, 2.5, 3, 3.4, 3.69, 3.8, 4, 4.17, 4.58, 4.61]
    assert all(published(e) <= pm_sub(e) for e in grid)
    hole = [3.5, 3.55, 3.6, 3.65, 3.68]
    beyond = [4.18, 4.3, 4.5, 4.57, 4.62, 5, 6, 7, 8]
    assert all(published(e) > pm_sub(e) for e in hole + beyond)
    assert all(best_layout(e, True, worst).worst_case < pm_sub(e) for e in grid + hole)  # the hole closes
    for low, high, edge in ((3.4, 3.6, 3.495), (4.1, 4.3, 4.175)):
        assert root(lambda e: published(e) < pm_sub(e), low, high) == pytest.approx(edge, abs=0.005)
    assert root(lambda e: published(e) > pm_sub(e), 3.6, 3.8) == pytest.approx(3.685, abs=0.005)
    lowest = min(pm_sub(e) / published(e) - 1 for e in np.arange(7.5, 8, 0.02).tolist())
    assert lowest == pytest.approx(-0.0399, abs=2e-4)


def test_the_corrected_optimum_is_never_above_the_published_one():
    gains = []
    for epsilon in [*np.arange(0.5, 8, 0.5).tolist(), 3.5284]:
        corrected = best_layout(epsilon, True, worst).worst_case
        assert corrected <= published(epsilon) * (1 + 1e-12)
        gains.append(1 - corrected / published(epsilon))
    assert max(gains) == pytest.approx(0.0148, abs=1e-4)
    assert root(lambda e: best_outputs(e) == 4, 3.2, 3.5) == pytest.approx(3.3628, abs=1e-3)


def test_lemma_6_the_limit_is_one_over_n_minus_one_squared():
    for outputs in (2, 3, 4, 5, 6, 9, 16):
        assert 1 < layout(20.0, outputs, True).worst_case * (outputs - 1) ** 2 < 1 + 1e-5


def test_algorithm_2_taken_literally_is_far_off():
    # Line 8 as printed keeps Theorem 4 where the *first* peak is the higher one: N = 4 at epsilon = 5.
    literal = OutputLayout(5.0, 4, 0.0, theorem_4(5.0, 4, 0.0))
    knots, moments = literal.lines
    claimed = peak(knots[1:], moments[1:])
    assert claimed == pytest.approx(0.053, abs=5e-4)
    assert literal.worst_case == pytest.approx(0.857, abs=5e-4)
    assert literal.table("literal").worst_case_variance == pytest.approx(literal.worst_case, rel=1e-9)


def test_hybrid_np_is_hybrid_tp_in_the_middle():
    for epsilon in (1.998, 2.3, 3.0, 3.708):
        np_, tp = hybrid_np(epsilon), hybrid_tp(epsilon)
        assert np_.to_document() | {"name": ""} == tp.to_document() | {"name": ""}

    def outputs(epsilon):
        return best_layout(epsilon, True, hybrid_np_worst_case).outputs

    assert root(lambda e: outputs(e) == 2, 1.5, 2.5) == pytest.approx(1.9975, abs=1e-4)
    assert root(lambda e: outputs(e) == 3, 3.0, 4.0) == pytest.approx(3.709, abs=1e-3)
    assert root(lambda e: outputs(e) == 4, 4.0, 5.0) == pytest.approx(4.6955, abs=1e-3)
    alone = root(lambda e: hybrid_np_share(fixed_outputs(e, 2, True)) == 1, 0.3, 1)
    assert alone == pytest.approx(0.610986, abs=1e-6)


def test_piecewise_opt_beats_hybrid_np_from_6_464():
    def hybrid_is_best(epsilon):
        hybrid = best_layout(epsilon, True, hybrid_np_worst_case)
        return hybrid_np_worst_case(hybrid) < sum(piecewise_variance(epsilon, best_zeta(epsilon)))

    assert root(hybrid_is_best, 6, 7) == pytest.approx(6.464, abs=2e-3)
    assert hybrid_np(6.0).worst_case_variance < mechanism("piecewise-opt", 6.0).worst_case_variance
    assert mechanism("piecewise-opt", 7.0).worst_case_variance < hybrid_np(7.0).worst_case_variance


def test_the_share_of_theorem_8_is_the_best_for_every_number_of_outputs():
    trial = np.linspace(0, 1, 101)
    for epsilon in (0.3, 0.65, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.5, 8.0):
        parts = piecewise_variance(epsilon, math.exp(epsilon / 3))
        for corrected in (True, False):
            for outputs in range(2, 20):
                candidate = layout(epsilon, outputs, corrected)
                if candidate is not None:
                    best = hybrid_np_worst_case(candidate)
                    near = np.clip(hybrid_np_share(candidate) + np.array([-1e-4, 1e-4]), 0, 1)
                    others = [peak(*candidate.lines, s, *parts) for s in (*trial.tolist(), *near.tolist())]
                    assert best <= min(others) * (1 + 1e-12)


def test_the_search_finds_the_best_of_all_numbers_of_outputs():
    for epsilon in (0.2, 0.9, 1.6, 2.2, 2.6, 3.1, 3.45, 3.9, 4.65, 5.4, 6.6, 7.9, 9.0):
        for corrected in (True, False):
            every = [d for n in range(2, 40) if (d := layout(epsilon, n, corrected)) is not None]
            for cost in (worst, hybrid_np_worst_case):
                assert cost(best_layout(epsilon, corrected, cost)) <= min(map(cost, every)) * (1 + 1e-12)


def test_average_bits_count_the_selector():
    for row in REFERENCE["rows"]:
        m = hybrid_np(row["epsilon"], corrected=False)
        share = row["hybrid_np"]["share"]
        if share == 1:
            assert m.average_bits == 1
            continue
        # The paper counts 32 bits for a float of PM-sub; the lattice report has 11.
        own = row["hybrid_np"]["bits_float32"] - (1 - share) * (32 - m.parts[1].certificate.bits)
        assert m.average_bits == pytest.approx(own, abs=1e-3)
    assert n_output(4.0).average_bits == 3


# -- lattices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.5, 1.0, 1.37, 2.0, 4.0, 8.0])
def test_laplace_is_within_two_thousandths_everywhere(epsilon):
    xs, s = np.linspace(-1, 1, 201), 2 / epsilon
    np.testing.assert_allclose(laplace(epsilon).variance(xs), 2 * s * s, rtol=1.3e-3)
    truncated = 2 * s * s - math.exp(-1 / s) * np.cosh(xs / s) * s * s
    np.testing.assert_allclose(truncated_laplace(epsilon).variance(xs), truncated, rtol=1.3e-3)


def test_the_atom_of_truncated_laplace_is_decoded_near_one_plus_two_over_epsilon():
    for epsilon in (0.1, 1.0, 4.0):
        m = truncated_laplace(epsilon)
        assert m.values[-1] == pytest.approx(1 + 2 / epsilon, rel=3e-3)
        assert m.values[0] == -m.values[-1]
        # The atom has the continuous law's probability: half at the end itself.
        assert m.matrix()[-1, -1] == pytest.approx(0.5, rel=1e-12)
        assert m.matrix()[0, -1] == pytest.approx(0.5 * math.exp(-epsilon), rel=1e-9)


def test_finer_lattices_come_closer_to_the_continuous_law():
    continuous = 8 - 4 * math.exp(-0.5)
    errors = [abs(truncated_laplace(1.0, steps=n).variance(0.0) / continuous - 1) for n in (4, 16, 64, 256)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-5


# -- bad options -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("n-output", {"outputs": 1}, "outputs must be a whole number of at least 2, not 1"),
        ("n-output", {"outputs": 4.5}, "outputs must be a whole number of at least 2, not 4.5"),
        ("n-output", {"outputs": 4}, "outputs must be at most 3 at epsilon 1, not 4"),
        ("n-output", {"outputs": 1000}, "outputs must be at most 3 at epsilon 1, not 1000"),
        ("hybrid-np", {"outputs": 9}, "outputs must be at most 3 at epsilon 1, not 9"),
        ("hybrid-np", {"outputs": True}, "outputs must be a whole number of at least 2, not True"),
        ("three-output", {"outputs": 3}, "three-output has no option 'outputs'"),
        ("laplace", {"steps": 1}, "steps must be a whole number between 2 and 400, not 1"),
        ("truncated-laplace", {"steps": 100_000}, "steps must be a whole number between 2 and 400, not 100000"),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(DiscreetError, match=message):
        mechanism(name, 1.0, **options)


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 21, "two"])
def test_bad_epsilons_are_named(name, epsilon):
    with pytest.raises(DiscreetError, match="epsilon must be a number between"):
        mechanism(name, epsilon)
