import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.categorical.haar_bit import haar_bit
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.numeric.general_wave import wave_shape
from discreet.mechanisms.numeric.square_wave import wave_width
from discreet.mechanisms.shapes.profile import profile_weights
from discreet.privacy.exact import TOTAL, exp_below

# b, p, q of section 5.4 at 256 buckets, from an independent implementation.
DISCRETE = {
    0.5: (91, 0.00296151232010319, 0.0017962480212592793),
    1.0: (65, 0.004448215394358053, 0.0016364069934866477),
    2.5: (23, 0.014720673458523873, 0.0012083464605857957),
}
WAVE_Q = {0.0: 0.5122456069430394, 0.2: 0.4901496908790495, 0.6: 0.45122238057248426, 1.0: 0.4180232931306736}


@pytest.mark.parametrize("epsilon", sorted(DISCRETE))
def test_discrete_square_wave_has_the_papers_p_and_q(epsilon):
    half, p, q = DISCRETE[epsilon]
    m = dc.mechanism("discrete-square-wave", epsilon, size=256)
    assert m.width == 2 * half + 1
    assert m.alphabet == 256 + 2 * half
    assert max(abs(w / TOTAL - p) for w in m.profile) < 1e-12
    assert math.isclose(m.low / TOTAL, q, rel_tol=1e-10)
    assert max(m.profile) - min(m.profile) <= 1
    assert m.operator().flat  # takes the compiled path, one unit or not
    np.testing.assert_allclose(m.operator() @ np.eye(256)[7], m.matrix()[7], rtol=1e-11)


@pytest.mark.parametrize("size", [2, 3, 4, 10, 97, 256, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 10.0])
def test_discrete_square_wave_is_private_and_tight_at_every_size(epsilon, size):
    m = dc.mechanism("discrete-square-wave", epsilon, size=size)
    assert sum(m.profile) + (size - 1) * m.low == TOTAL
    assert Fraction(max(m.profile), m.low) <= exp_below(epsilon)
    assert m.certificate.epsilon > epsilon * (1 - 1e-6)
    assert m.width == 2 * math.floor(wave_width(epsilon) * size) + 1


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_general_wave_is_the_papers_density(epsilon, ratio):
    m = dc.mechanism("general-wave", epsilon, ratio=ratio)
    b = wave_width(epsilon)
    q = 1 / (1 + 2 * b + (math.exp(epsilon) - 1) * b * (1 + ratio))
    assert math.isclose(m.low / TOTAL * (m.positions - 1), q, rel_tol=2e-3)
    if epsilon == 1.0 and ratio in WAVE_Q:
        assert math.isclose(q, WAVE_Q[ratio], rel_tol=1e-9)
    assert Fraction(max(m.profile), m.low) <= exp_below(epsilon)
    assert m.certificate.epsilon > epsilon * (1 - (1e-6 if ratio else 5e-2))
    heights = (np.array(m.profile) / m.low - 1) / (math.exp(epsilon) - 1)
    np.testing.assert_allclose(heights, wave_shape(m.width, ratio), atol=1e-6)
    np.testing.assert_allclose(heights, heights[::-1], atol=1e-9)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("options", [{"ratio": 0.0}, {"ratio": 0.4, "b": 0.15}, {"ratio": 0.8, "b": 0.35}])
def test_waves_pass_the_battery(options):
    dc.checks.check_mechanism(dc.mechanism("general-wave", 1.0, **options), draws=60_000)


@pytest.mark.needs("scipy")
def test_discrete_wave_with_a_remainder_passes_the_battery():
    m = dc.mechanism("discrete-square-wave", 0.5, size=256)
    assert max(m.profile) > min(m.profile)  # 183 cells, 255 outside: a common divisor
    dc.checks.check_mechanism(m, draws=60_000)


def test_profiles_round_towards_privacy():
    rng = np.random.default_rng(5)
    for _ in range(200):
        epsilon, positions, width = rng.uniform(0.01, 8), int(rng.integers(2, 400)), int(rng.integers(1, 200))
        shape = rng.random(width)
        shape[rng.integers(width)] = 1.0
        profile, low = profile_weights(epsilon, positions, shape.tolist())
        assert sum(profile) + (positions - 1) * low == TOTAL
        assert Fraction(max(profile), low) <= exp_below(epsilon)
        assert min(profile) >= low
        assert np.ptp(np.array(profile) - low - shape * (TOTAL - (positions - 1 + width) * low) / shape.sum()) < 3


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.mechanism("general-wave", 1.0, ratio=1.2), "ratio must be .*, not 1.2"),
        (lambda: dc.mechanism("general-wave", 1.0, b=0.0), "b must be .*, not 0.0"),
        (lambda: dc.mechanism("discrete-square-wave", 1.0, size=1), "size must be .*, not 1"),
        (lambda: dc.mechanism("discrete-square-wave", 1.0, size=8, b=-1), "b must be .*, not -1"),
        (lambda: dc.mechanism("discrete-square-wave", 1.0), "needs size"),
        (lambda: profile_weights(1.0, 5, [0.0]), "not all zero"),
    ],
)
def test_bad_waves_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("size", [2, 5, 8])
def test_haar_bits_pass_the_battery_and_decode_differences(size):
    m = haar_bit(1.0, size)
    dc.checks.check_mechanism(m, draws=60_000)
    f = np.random.default_rng(1).dirichlet(np.ones(size))
    padded = np.concatenate([f, np.zeros(2 * m.rows - size)])
    exact = dc.Tally(m.id, 10**9, np.rint(1e9 * (m.operator() @ f)).astype(np.int64))
    np.testing.assert_allclose(m.differences(exact), padded[0::2] - padded[1::2], atol=1e-6)
    n, runs = 2000, []
    inputs = np.random.default_rng(2).choice(size, (200, n), p=f)
    for seed in range(200):
        runs.append(m.differences(m.tally(m.privatize(inputs[seed], dc.Entropy.seeded(seed)))))
    stated = (1 / m.gain**2 - (padded[0::2] - padded[1::2]) ** 2) / n
    assert 0.75 < np.mean(np.var(runs, axis=0)) / stated.mean() < 1.25
    assert not isinstance(m, Oracle)
