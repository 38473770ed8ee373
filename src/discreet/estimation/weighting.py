"""Weights: what a sample says about a population with other shares, and how uncertain that is.

    post-stratified:  sum W_g m_g,   variance  sum W_g^2 v_g
    raked:            sum w_c m_c,   variance  sum (w_c^2 / n_c) (s_c^2 + e_c^2) - sum (w_c^2 / n_c) s_c^2 / n_c

Raking (iterative proportional fitting) finds cell weights w with the given margins that keep the sample's odds ratios:
it is right only if those are the population's. s_c^2 is the spread of the decoded reports of a cell, e_c the residual
of its mean from the weighted additive fit; the last term takes the noise out of e_c^2. Noise knows no weights: its part
grows by exactly Kish's factor n sum w^2 / (sum w)^2.
"""

from collections.abc import Sequence

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError

STEPS = 1000
"""Raking stops after this many rounds."""
CLOSE = 1e-12
"""Margins that are this near count as reached."""


def rake(counts: Floats, margins: Sequence[Floats]) -> Floats:
    """Return cell weights, of sum 1, that have these margins: one margin per axis.

    Examples
    --------
    >>> rake(np.array([[4.0, 1.0], [1.0, 4.0]]), [np.array([0.5, 0.5]), np.array([0.6, 0.4])]).sum(axis=0).round(6)
    array([0.6, 0.4])
    """
    weights = counts / counts.sum()
    for _ in range(STEPS):
        for axis, margin in enumerate(margins):
            others = tuple(other for other in range(counts.ndim) if other != axis)
            factor = margin / weights.sum(axis=others)
            weights = weights * factor.reshape([-1 if other == axis else 1 for other in range(counts.ndim)])
        gaps = [
            np.abs(weights.sum(axis=tuple(other for other in range(counts.ndim) if other != axis)) - margin).max()
            for axis, margin in enumerate(margins)
        ]
        if max(gaps) < CLOSE:
            return np.asarray(weights)
    raise DiscreetError("the margins cannot be reached with these cells; merge categories with few reports")


def raked_mean(counts: Floats, means: Floats, spreads: Floats, margins: Sequence[Floats]) -> tuple[float, float]:
    """Return the raked mean and its variance.

    Parameters
    ----------
    counts, means, spreads : numpy.ndarray
        Of each cell: its reports, the mean of what they are decoded to, and their variance.
    margins : sequence of numpy.ndarray
        The population's shares along each axis.
    """
    w = rake(counts, margins)
    flat, y = w.ravel(), means.ravel()
    root = np.sqrt(flat)
    design = _additive(counts.shape)
    fit, *_ = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)
    each = flat**2 / counts.ravel()
    within = float(each @ spreads.ravel())
    between = float(each @ np.square(y - design @ fit)) - float(each @ (spreads.ravel() / counts.ravel()))
    return float(flat @ y), within + max(0.0, between)


def _additive(shape: tuple[int, ...]) -> Floats:
    """Return the design of an additive model: one column per category of each axis."""
    places = np.indices(shape).reshape(len(shape), -1)
    return np.hstack([np.eye(size)[place] for size, place in zip(shape, places, strict=True)])


def kish(weights: Floats, counts: Floats) -> float:
    """Return by how much weights inflate the noise: n times the sum of squared weights of people."""
    return float(counts.sum() * (weights**2 / counts).sum() / weights.sum() ** 2)
