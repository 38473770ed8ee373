"""The compiled work of the interior point against its plain twin: equal to the last bit."""

import numpy as np
import pytest

from discreet.compiling import using
from discreet.optimize import kernels, plain
from discreet.optimize.programme import adaptive_table


def run(module, inputs, outputs, seed):
    rng = np.random.default_rng(seed)
    entries, ratio = np.exp(3 * rng.normal(size=(5, inputs, outputs))), 1 + 5 * rng.random()
    parts, stiffness = np.empty((8, inputs, outputs)), np.empty(outputs)
    module.prepare(entries, ratio, parts, stiffness)
    targets, force, lift = rng.normal(size=(2, inputs, outputs)), np.empty((2, inputs, outputs)), np.empty(outputs)
    module.push(targets, rng.normal(size=(inputs, outputs)), parts, stiffness, ratio, force, lift)
    step, pull, t = np.empty_like(entries), rng.normal(size=(inputs, outputs)), rng.normal(size=outputs)
    lengths = module.advance(pull, force, t, entries, targets, parts, ratio, step)
    gap = module.gap_after(entries, step, 0.3, 0.7)
    first, second = np.empty_like(targets), rng.normal(size=targets.shape)
    module.second_order(step, 0.1, 1.0, first)
    module.centre(entries, step, 0.3, 0.7, 0.1, second)
    return [parts, stiffness, force, lift, step, lengths, gap, first, second]


@pytest.mark.parametrize(("inputs", "outputs"), [(2, 2), (3, 5), (17, 64), (128, 64)])
def test_twins_agree(inputs, outputs):
    for seed in range(3):
        for fast, slow in zip(run(kernels, inputs, outputs, seed), run(plain, inputs, outputs, seed), strict=True):
            np.testing.assert_array_equal(fast, slow)


def test_both_give_the_same_table():
    weights = []
    for compiled in (True, False):
        with using(compiled=compiled):
            weights.append(adaptive_table(np.linspace(-1, 1, 9), np.arange(1.0, 10), 1.0)[0].weights)
    np.testing.assert_array_equal(*weights)
