import numpy as np
from tests.estimation.common import beta_histogram, reports, square_wave

from discreet.estimation.em import em, ems
from discreet.estimation.held_out import held_out_gain


def test_overfitting_loses_and_the_truth_wins() -> None:
    channel, truth = square_wave(1.0, 64), beta_histogram(64)
    counts = reports(channel, truth, 50_000, 1)

    def overfitted(tally):
        return em(channel, tally, tolerance=1e-9, max_iterations=3000).f

    def smooth(tally):
        return ems(channel, tally).f

    def right(tally):
        return truth

    assert held_out_gain(channel, counts, smooth, overfitted) > 1
    assert held_out_gain(channel, counts, right, smooth) > 0
    assert held_out_gain(channel, counts, smooth, smooth) == 0
    # On the reports that it has seen, the overfitted one looks better.
    assert em(channel, counts, tolerance=1e-9, max_iterations=3000).log_likelihood > ems(channel, counts).log_likelihood


def test_one_report_cannot_be_held_out() -> None:
    channel = square_wave(1.0, 8)
    counts = np.zeros(channel.shape[0])
    counts[3] = 1
    assert held_out_gain(channel, counts, lambda t: np.full(8, 1 / 8), lambda t: np.eye(8)[0]) == 0
