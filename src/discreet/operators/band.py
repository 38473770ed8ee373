"""The channel of a window that slides over the reports, such as Square Wave and the piecewise mechanisms."""

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.errors import DiscreetError
from discreet.operators.base import FLAT, NO_ROUNDING, NO_TABLE, Operator, Part

MOST_BENDS = 12
"""Window profiles with more straight pieces than this have no fast prefix-sum product."""
NEGLIGIBLE = 1e-10
"""Share of a profile's height that counts as rounding: integer weights bend a straight line by less than this."""


class Band(Operator):
    """A constant plus a band: a window of cells with more probability that slides with the position.

    A window of H cells slides one cell per input position over d + H - 1 output cells. Position s reports cell s + h
    of its window with probability near_h, every other cell with probability far:

        (A f)_j = far Σ f + Σ_h (near_h - far) f_{j-h}.

    A flat window is a difference of prefix sums. With one bucket per position it is the discrete Square Wave
    ('bucketise before randomise') of Li et al. 2020, section 5.4, where near = e^ε / ((2b+1)e^ε + d - 1) and H = 2b+1.

    Parameters
    ----------
    positions : int
        Number d of input positions.
    width : int
        Number H of cells in the window.
    near : float or array
        Probability of each cell inside the window, one number for a flat window.
    far : float
        Probability of each cell outside the window.

    Examples
    --------
    >>> channel = Band(positions=3, width=2, near=0.375, far=0.125)
    >>> channel.shape
    (4, 3)
    >>> channel @ np.array([1.0, 0.0, 0.0])
    array([0.375, 0.375, 0.125, 0.125])
    """

    def __init__(self, positions: int, width: int, near: float | Floats, far: float) -> None:
        profile = np.asarray(near, dtype=np.float64)
        if positions < 1 or width < 1 or profile.shape not in ((), (width,)):
            raise DiscreetError(
                f"a band needs at least 1 position and a window of at least 1 cell with one probability per cell,"
                f" not {positions} positions, {width} cells and probabilities of shape {profile.shape}"
            )
        highest = float(profile.max())
        if not (np.isfinite(profile).all() and profile.min() > 0.0 and highest >= far > 0.0):
            raise DiscreetError(f"a band needs finite near >= far > 0, not near={highest}, far={far}")
        self.positions, self.width, self.far = positions, width, float(far)
        self.shape = (positions + width - 1, positions)
        self.flat = bool((profile == highest).all())
        self.near: float | Floats = highest if self.flat else profile
        self.extra = np.broadcast_to(profile - far, (width,))

    def _forward(self, f: Floats) -> Floats:
        if not self.flat:
            return np.asarray(self.far * f.sum(axis=0) + _convolve(f, self.extra))
        sums = _prefix_sums(f, self.width - 1)
        return self._windows(sums[self.width :] - sums[: -self.width], sums[-1])

    def _backward(self, g: Floats) -> Floats:
        if not self.flat:
            inside = _convolve(g, self.extra[::-1])[self.width - 1 : g.shape[0]]
            return np.asarray(self.far * g.sum(axis=0) + inside)
        sums = _prefix_sums(g)
        return self._windows(sums[self.width :] - sums[: self.positions], sums[-1])

    def _windows(self, box: Floats, total: Floats) -> Floats:
        box *= self.extra[0]
        box += self.far * total
        return box

    def gram(self, weights: Floats) -> Floats:
        """Return Aᵀ diag(weights) A up to u1ᵀ + 1uᵀ: for a flat window, the weights that two windows share."""
        if not self.flat:
            return super().gram(weights)
        sums = _prefix_sums(weights)
        first, last = sums[: self.positions], sums[self.width : self.width + self.positions]
        shared = np.minimum.outer(last, last) - np.maximum.outer(first, first)
        np.maximum(shared, 0.0, out=shared)
        shared *= self.extra[0] ** 2
        return shared

    def compiled(self) -> tuple[Part, ...] | None:
        """Return the window; None if its profile has too many straight pieces."""
        if self.flat:
            near = self.far + float(self.extra[0])
            return ((self.shape[0], self.width, near, self.far, *FLAT, NO_TABLE, NO_ROUNDING, NO_ROUNDING),)
        bent = _bends(self.extra)
        if bent is None:
            return None
        return ((self.shape[0], self.width, self.far, self.far, *bent, NO_TABLE, NO_ROUNDING, NO_ROUNDING),)


def _prefix_sums(values: Floats, more: int = 0) -> Floats:
    """Return the sums of the first 0, 1, … entries of each column, with `more` zeros before and totals after them."""
    size = values.shape[0]
    sums = np.empty((size + 1 + 2 * more, *values.shape[1:]), order="F")  # each column's sums one after the other
    sums[: more + 1] = 0.0
    np.cumsum(values, axis=0, out=sums[more + 1 : more + 1 + size])
    sums[more + 1 + size :] = sums[more + size]
    return sums


def _convolve(values: Floats, window: Floats) -> Floats:
    """Return the whole convolution of each column with the window, by Fourier transforms."""
    size = values.shape[0] + window.size - 1
    fast = 1 << (size - 1).bit_length()
    transform = np.fft.rfft(window, fast)
    if values.ndim == 2:
        transform = transform[:, None]
    return np.asarray(np.fft.irfft(np.fft.rfft(values, fast, axis=0) * transform, fast, axis=0)[:size])


def _bends(extra: Floats) -> tuple[Floats, Counts, Floats] | None:
    """Return the profile as straight pieces, where its slope changes, and by how much; None if there are too many."""
    edged = np.concatenate([[0.0, 0.0], extra, [0.0, 0.0]])  # index i is cell i - 2
    size = NEGLIGIBLE * float(np.abs(extra).max())
    nodes = np.flatnonzero(np.abs(np.diff(edged, n=2)) > 8 * size) + 1
    if nodes.size > MOST_BENDS:
        return None
    straight = np.interp(np.arange(edged.size), nodes, edged[nodes])
    if np.abs(straight - edged).max() > size:
        return None
    return straight[2:-2].copy(), nodes - 1, np.diff(straight, n=2)[nodes - 1]
