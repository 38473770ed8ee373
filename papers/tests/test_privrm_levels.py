"""PrivRM's privacy levels in closed form: against stored references, and against the lattices that run."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.shapes.ranged import envelope
from discreet_papers.privrm.closed_forms import (
    HYBRID_SWITCH,
    draw_ratios,
    largest_split,
    largest_star,
    lower_mass,
    split_level,
    star_level,
)

ROOT = Path(__file__).parents[2]
REFERENCE = json.loads((ROOT / "tests/mechanisms/ranged_reference.json").read_text("utf-8"))
INNERS = ("duchi", "piecewise", "hybrid", "square-wave")
EPSILONS = (0.5, 1.0, 2.0, 5.0)


def flat(table):
    return [(name, float(key), value) for name, row in table.items() for key, value in row.items()]


def test_hybrid_switch():
    assert pytest.approx(REFERENCE["hybrid_switch"], abs=1e-12) == HYBRID_SWITCH


@pytest.mark.parametrize(("name", "p", "level"), flat(REFERENCE["star_level"]))
def test_star_level(name, p, level):
    assert star_level(name, p) == pytest.approx(level, abs=1e-9)


@pytest.mark.parametrize(("name", "epsilon", "largest"), flat(REFERENCE["largest_star"]))
def test_largest_star(name, epsilon, largest):
    found = largest_star(name, epsilon)
    assert found == pytest.approx(largest, abs=1e-9)
    assert star_level(name, 1 / (1 + math.exp(-found))) <= epsilon + 1e-12


@pytest.mark.parametrize("kind", ["privrm-i", "privrm-o"])
def test_half_split(kind):
    for name, epsilon, level in flat(REFERENCE["half_split"][kind]):
        assert split_level(kind, name, epsilon / 2, epsilon / 2) == pytest.approx(level, abs=1e-9)
        assert level <= epsilon + 1e-12


def test_lower_mass():
    for name, epsilon, row in flat(REFERENCE["outside_symbol"]):
        kappa = lower_mass(name, epsilon)
        assert kappa == pytest.approx(row["kappa"], abs=1e-9)
        assert (1 - kappa) / (math.exp(epsilon) - kappa) == pytest.approx(row["A"], abs=1e-9)


def test_the_paper_is_exceeded_by_hybrid_and_only_there():
    # Table 2 gives logit(p) for HM below p = 0.65; HM mixes from p = 0.6478 on, and has PM's level there.
    p = 0.6499
    assert star_level("hybrid", p) - math.log(p / (1 - p)) > 0.04
    assert star_level("hybrid", 0.6477) == pytest.approx(math.log(0.6477 / 0.3523), abs=1e-12)
    for name, p, stated in flat(REFERENCE["table_2"]):
        assert star_level(name, p) == pytest.approx(stated, abs=1e-9) or name == "hybrid"


def test_hybrid_has_a_plateau_at_its_jump():
    assert largest_star("hybrid", 0.63) == HYBRID_SWITCH
    assert largest_star("hybrid", 0.66) > HYBRID_SWITCH


# -- the lattices that run ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", INNERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_lattice_levels_are_near_the_continuous_ones(inner, epsilon):
    star = range_mechanism("privrm-star", inner, epsilon, draw="uniform")
    assert star.inner.epsilon == pytest.approx(largest_star(inner, epsilon), abs=5e-5)
    o = range_mechanism("privrm-o", inner, epsilon, draw="uniform")
    assert o.inner.epsilon == pytest.approx(largest_split("privrm-o", inner, epsilon), abs=5e-5)
    paper = range_mechanism("privrm-o", inner, epsilon, draw="uniform", calibrated=False)
    assert paper.certificate.epsilon == pytest.approx(
        split_level("privrm-o", inner, epsilon / 2, epsilon / 2), abs=5e-5
    )
    if inner == "duchi":
        assert star.inner.epsilon == pytest.approx(epsilon, abs=1e-9)
        assert paper.certificate.epsilon == pytest.approx(
            REFERENCE["half_split"]["privrm-o"]["duchi"].get(f"{epsilon:g}", paper.certificate.epsilon), abs=1e-9
        )


def test_draw_ratios_bound_the_lattice():
    m = range_mechanism("privrm-o", "piecewise", 2.0, draw="uniform")
    low, high = (np.array(side) / 2.0**64 for side in envelope(m.inner))
    up, down = draw_ratios("piecewise", m.inner.epsilon)
    assert (high * m.inner.alphabet).max() == pytest.approx(up, rel=1e-4)
    assert (1 / (low * m.inner.alphabet)).max() == pytest.approx(down, rel=1e-4)
