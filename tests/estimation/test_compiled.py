"""The compiled EM against the generic one, for every shape of channel that it takes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator
from tests.estimation.common import beta_histogram, square_wave

from discreet.estimation import em as em_module
from discreet.estimation.compiled import parts
from discreet.estimation.em import em, ems, joint
from discreet.estimation.two_phase import two_phase_em
from discreet.mechanisms.registry import mechanism
from discreet.operators import Band as MechanismBand

BUCKETS = 64


def waves():
    yield "aligned", square_wave(1.0, BUCKETS)
    yield "profile", MechanismBand(BUCKETS, np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]) / 10, 0.01)
    yield "one wide cell", MechanismBand(1, np.array([0.1, 0.2, 0.1]), 0.2)
    for ratio in (0.0, 0.2, 0.6, 0.8):
        yield f"trapezoid {ratio}", mechanism("general-wave", 1.0, ratio=ratio, positions=101).operator(BUCKETS)
    for epsilon in (0.5, 1.0, 4.0):
        source = mechanism("hybrid-np", epsilon)
        pieces = getattr(source, "parts", [source])
        yield (
            f"stack {epsilon}",
            joint([p.operator(BUCKETS) for p in pieces], [np.zeros(p.alphabet) for p in pieces])[0],
        )


CHANNELS = dict(waves())


def tally(channel, n: int = 100_000) -> np.ndarray:
    size = np.asarray(channel.T @ np.ones(parts_cells(channel))).size
    y = np.asarray(channel @ beta_histogram(size))
    return np.random.default_rng(1).multinomial(n, y / y.sum()).astype(float)


def parts_cells(channel) -> int:
    return sum(part[0] for part in parts(channel))


@pytest.fixture
def generic(monkeypatch):
    """Runs something with the compiled path switched off."""

    def run(action):
        with monkeypatch.context() as patch:
            patch.setattr(em_module, "parts", lambda channel: None)
            patch.setattr(em_module, "as_band", lambda channel: None)
            return action()

    return run


@pytest.mark.parametrize("name", CHANNELS)
def test_iterates_stops_and_fixed_points_are_those_of_the_generic_path(name: str, generic) -> None:
    channel = CHANNELS[name]
    counts = tally(channel)
    actions = [
        lambda: em(channel, counts, epsilon=1.0),
        lambda: ems(channel, counts),
        lambda: ems(channel, counts, boundary="renormalise", stop="released"),
    ]
    for action in actions:
        compiled, plain = action(), generic(action)
        assert compiled.iterations == plain.iterations
        np.testing.assert_allclose(compiled.f, plain.f, atol=1e-11, rtol=0)
        assert compiled.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-12)
    fixed = [
        run(lambda: ems(channel, counts, stop="fixed-point", tolerance=1e-12).f) for run in (lambda a: a(), generic)
    ]
    np.testing.assert_allclose(fixed[0], fixed[1], atol=1e-10, rtol=0)


@pytest.mark.parametrize("per_report", [True, False])
def test_two_phases(per_report: bool, generic) -> None:
    source = mechanism("hybrid-np", 2.0)
    small, wave = (part.operator(BUCKETS) for part in source.parts)
    counts = [tally(channel) for channel in (small, wave)]

    def both():
        tolerance = 1e-5 if per_report else 1e-2  # below that the generic path's differences of sums are rounding
        return two_phase_em(wave, counts[1], small, counts[0], per_report=per_report, tolerance=tolerance)

    compiled, plain = both(), generic(both)
    assert compiled.iterations == plain.iterations
    np.testing.assert_allclose(compiled.f, plain.f, atol=1e-11, rtol=0)
    with pytest.raises(ValueError, match="prior"):
        em_module.reconstruct(small, counts[0], None, "fixed-point", None, None, 10, np.ones(BUCKETS))


def test_gaps_in_a_rounding_are_filled() -> None:
    rounding = csr_array(np.array([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 1.0, 0.5]]))
    channel = MechanismBand(3, np.array([0.3, 0.3]), 0.1) @ aslinearoperator(rounding)
    dense = MechanismBand(3, np.array([0.3, 0.3]), 0.1) @ rounding.toarray()
    counts = np.array([5.0, 7.0, 3.0, 9.0])
    assert parts(channel) is not None
    np.testing.assert_allclose(ems(channel, counts).f, ems(dense, counts).f, atol=1e-12)


def test_other_channels_are_left_to_the_generic_path() -> None:
    curved = MechanismBand(50, np.sin(np.linspace(0.1, 3, 30)) / 50, 0.01)
    impossible = np.array([[1.0, 0.0], [0.0, 1.0]])
    rounding = csr_array(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]]))
    for channel in (curved, np.eye(3), aslinearoperator(impossible) @ aslinearoperator(rounding)):
        assert parts(channel) is None
    assert parts(joint([square_wave(1.0, 50), curved], [[1.0] * 10, [1.0] * 79])[0]) is None
    assert ems(curved, np.ones(79)).converged
