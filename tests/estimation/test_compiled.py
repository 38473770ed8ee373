"""The compiled EM against its plain twin, for every shape of channel that it takes."""

import numpy as np
import pytest
from tests.estimation.common import beta_histogram, square_wave

from discreet.compiling import using
from discreet.estimation import em as em_module
from discreet.estimation.em import em, ems, joint
from discreet.estimation.two_phase import two_phase_em
from discreet.mechanisms.registry import mechanism
from discreet.operators import Band, Dense, Product, Sparse

pytestmark = pytest.mark.needs("numba")

BUCKETS = 64


def waves():
    yield "aligned", square_wave(1.0, BUCKETS)
    yield "profile", Band(BUCKETS, 6, np.array([0.2, 0.3, 0.4, 0.4, 0.3, 0.2]) / 10, 0.01)
    yield "one wide cell", Band(1, 3, np.array([0.3, 0.4, 0.3]), 0.2)
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
    y = channel @ beta_histogram(channel.shape[1])
    return np.random.default_rng(1).multinomial(n, y / y.sum()).astype(float)


def compiled(action):
    with using(compiled=True):
        return action()


def plain(action):
    with using(compiled=False):
        return action()


@pytest.mark.parametrize("name", CHANNELS)
def test_iterates_stops_and_fixed_points_are_those_of_the_generic_path(name: str) -> None:
    channel = CHANNELS[name]
    assert sum(part[0] for part in channel.compiled()) == channel.shape[0]
    counts = tally(channel)
    actions = [
        lambda: em(channel, counts, epsilon=1.0),
        lambda: ems(channel, counts),
        lambda: ems(channel, counts, boundary="renormalise", stop="released"),
    ]
    for action in actions:
        fast, slow = compiled(action), plain(action)
        assert fast.iterations == slow.iterations
        np.testing.assert_allclose(fast.f, slow.f, atol=1e-11, rtol=0)
        assert fast.log_likelihood == pytest.approx(slow.log_likelihood, rel=1e-12)
    fixed = [run(lambda: ems(channel, counts, stop="fixed-point", tolerance=1e-12).f) for run in (compiled, plain)]
    np.testing.assert_allclose(fixed[0], fixed[1], atol=1e-10, rtol=0)


@pytest.mark.parametrize("per_report", [True, False])
def test_two_phases(per_report: bool) -> None:
    source = mechanism("hybrid-np", 2.0)
    small, wave = (part.operator(BUCKETS) for part in source.parts)
    counts = [tally(channel) for channel in (small, wave)]

    def both():
        tolerance = 1e-5 if per_report else 1e-2  # below that the generic path's differences of sums are rounding
        return two_phase_em(wave, counts[1], small, counts[0], per_report=per_report, tolerance=tolerance)

    fast, slow = compiled(both), plain(both)
    assert fast.iterations == slow.iterations
    np.testing.assert_allclose(fast.f, slow.f, atol=1e-11, rtol=0)
    with pytest.raises(ValueError, match="prior"):
        em_module.reconstruct(small, counts[0], None, "fixed-point", None, None, 10, np.ones(BUCKETS))


def sparse(matrix: np.ndarray) -> Sparse:
    rows, columns = np.nonzero(matrix)
    return Sparse(rows, columns, matrix[rows, columns], matrix.shape)


def test_long_work_continues_compiled(monkeypatch) -> None:
    """The compiled loop takes over from the plain one in the middle, and changes nothing but rounding."""
    channel = square_wave(1.0, BUCKETS)
    counts = tally(channel)
    for action in (
        lambda: em(channel, counts, tolerance=1e-5),
        lambda: ems(channel, counts, stop="fixed-point", tolerance=1e-12),
        lambda: em(channel, counts, tolerance=1e-300, max_iterations=250),
    ):
        whole = compiled(action)
        asked: list[str] = []
        monkeypatch.setattr(em_module, "pays", lambda work, seconds, asked=asked: asked.append(work) or len(asked) > 1)
        both = action()
        monkeypatch.undo()
        assert asked == ["em", "em"]
        assert both.converged == whole.converged
        np.testing.assert_allclose(both.f, whole.f, atol=1e-10, rtol=0)


def test_gaps_in_a_rounding_are_filled() -> None:
    rounding = np.array([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 1.0, 0.5]])
    band = Band(3, 2, 0.4, 0.1)
    channel, dense = Product(band, sparse(rounding)), Dense(band @ rounding)
    counts = np.array([5.0, 7.0, 3.0, 9.0])
    assert channel.compiled() is not None
    np.testing.assert_allclose(ems(channel, counts).f, ems(dense, counts).f, atol=1e-12)


def test_other_channels_are_left_to_the_generic_path() -> None:
    curved = Band(50, 30, 0.01 + np.sin(np.linspace(0.1, 3, 30)) / 50, 0.01)
    rounding = sparse(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]]))
    for channel in (curved, Dense(np.eye(3)), Product(Dense(np.eye(2)), rounding), Product(curved, Dense(np.eye(50)))):
        assert channel.compiled() is None
    wave = square_wave(1.0, 50)
    assert joint([wave, curved], [np.ones(wave.shape[0]), np.ones(79)])[0].compiled() is None
    assert ems(curved, np.ones(79)).converged
