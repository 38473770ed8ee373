"""The channel of a lattice Window: a constant plus a band, applied in O(d) without a matrix.

A window of H cells slides one cell per input position over K = d + H - 1 output cells. Position s reports
each cell of its window s … s+H-1 with probability `near`, each other cell with probability `far`:

    E[tally]/n = far·Σf + (near - far)·box_H(f),      box_H(f)_j = Σ f_s over j-H < s ≤ j.

With one bucket per position this is the discrete Square Wave ('bucketise before randomise') of Li et al.
2020, section 5.4, where near = e^ε / ((2b+1)e^ε + d - 1) and H = 2b+1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


class Operator(Protocol):
    """A channel: anything that knows ``A @ f`` and ``A.T @ g`` (an array, a scipy LinearOperator, …)."""

    @property
    def T(self) -> Any:
        """The transposed operator."""

    def __matmul__(self, f: Any, /) -> Any:
        """Probabilities of the reports when the inputs have law f."""


@dataclass(frozen=True, slots=True)
class Band:
    """Constant-plus-band channel with integer window.

    Parameters
    ----------
    positions : int
        Number d of input positions, which are also the buckets of the reconstruction.
    width : int
        Number H of cells in the window.
    near, far : float
        Probability of each cell inside and outside the window, near ≥ far > 0. They may carry a common
        factor (the
        share of the people who were given this channel).

    Examples
    --------
    >>> channel = Band(positions=3, width=2, near=0.375, far=0.125)
    >>> channel.shape
    (4, 3)
    >>> channel @ np.array([1.0, 0.0, 0.0])
    array([0.375, 0.375, 0.125, 0.125])
    """

    positions: int
    width: int
    near: float
    far: float

    def __post_init__(self) -> None:
        if self.positions < 1 or self.width < 1:
            raise ValueError(f"A band needs positions and a width of at least 1, not {self.positions}, {self.width}.")
        if not (np.isfinite(self.near) and self.near >= self.far > 0.0):
            raise ValueError(f"A band needs finite near >= far > 0, not near={self.near}, far={self.far}.")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of output cells, number of positions."""
        return self.positions + self.width - 1, self.positions

    @property
    def T(self) -> "TransposedBand":
        """The transposed operator."""
        return TransposedBand(self)

    def __matmul__(self, f: npt.ArrayLike, /) -> Vector:
        sums = _prefix_sums(f, self.positions, self.width - 1)
        box = sums[self.width :] - sums[: -self.width]
        box *= self.near - self.far
        box += self.far * sums[-1]
        return np.asarray(box)

    def dense(self) -> Vector:
        """The matrix, for small examples and for checks."""
        cell, position = np.ogrid[: self.shape[0], : self.positions]
        inside = (cell >= position) & (cell < position + self.width)
        return np.where(inside, self.near, self.far)


@dataclass(frozen=True, slots=True)
class TransposedBand:
    """Aᵀ of a `Band`."""

    T: Band

    @property
    def shape(self) -> tuple[int, int]:
        """Number of positions, number of output cells."""
        cells, positions = self.T.shape
        return positions, cells

    def __matmul__(self, g: npt.ArrayLike, /) -> Vector:
        band = self.T
        sums = _prefix_sums(g, band.shape[0])
        box = sums[band.width :] - sums[: band.positions]
        box *= band.near - band.far
        box += band.far * sums[-1]
        return np.asarray(box)


def _prefix_sums(values: npt.ArrayLike, size: int, more: int = 0) -> Vector:
    """Sums of the first 0, 1, …, size entries along the first axis, with `more` zeros before and totals after them."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[0] != size:
        raise ValueError(f"The band works on vectors of length {size}, not on an array of shape {array.shape}.")
    sums = np.empty((size + 1 + 2 * more, *array.shape[1:]), order="F")  # each column's sums one after the other
    sums[: more + 1] = 0.0
    np.cumsum(array, axis=0, out=sums[more + 1 : more + 1 + size])
    sums[more + 1 + size :] = sums[more + size]
    return sums


class Stack:
    """Several channels seen as one: the reports of all of them, one below the other.

    EM through a stack is the maximum-likelihood estimate from all the reports together ('joint EM'). Each
    channel speaks about its own people, so the shares of people per channel cancel in the EM map; they only
    add a
    constant to the log-likelihood.

    Parameters
    ----------
    channels : Operator
        Channels with the same buckets.
    cells : sequence of int
        Number of output cells of each channel.
    """

    def __init__(self, channels: Sequence[Operator], cells: Sequence[int]) -> None:
        if not channels or len(channels) != len(cells):
            raise ValueError("A stack needs at least one channel, and the number of cells of each.")
        self.channels = tuple(channels)
        self.cuts = [0, *np.cumsum(cells).tolist()]

    @property
    def T(self) -> "TransposedStack":
        """The transposed operator."""
        return TransposedStack(self)

    def __matmul__(self, f: Any, /) -> Vector:
        return np.concatenate([_product(channel, f) for channel in self.channels])


@dataclass(frozen=True, slots=True)
class TransposedStack:
    """Aᵀ of a `Stack`."""

    T: Stack

    def __matmul__(self, g: Any, /) -> Vector:
        array = np.asarray(g, dtype=np.float64)
        parts = zip(self.T.channels, self.T.cuts, self.T.cuts[1:], strict=False)
        return np.asarray(sum(_product(channel.T, array[first:last]) for channel, first, last in parts))


class RoundedBand:
    """A band behind a rounding: buckets are first spread over positions, A = band · rounding.

    Parameters
    ----------
    band : Band
        Channel of the positions.
    rounding : sparse array
        Share of each bucket (column) that goes to each position (row); a few entries per bucket.
    """

    def __init__(self, band: Band, rounding: Any) -> None:
        if rounding.shape[0] != band.positions:
            raise ValueError(f"The rounding gives {rounding.shape[0]} positions, but the band has {band.positions}.")
        self.band, self.rounding = band, rounding.tocsr()
        self.shape = (band.shape[0], int(rounding.shape[1]))

    @property
    def T(self) -> "TransposedRoundedBand":
        """The transposed operator."""
        return TransposedRoundedBand(self)

    def __matmul__(self, f: Any, /) -> Vector:
        masses: Vector = self.rounding @ np.asarray(f, dtype=np.float64)
        return self.band @ masses


@dataclass(frozen=True, slots=True)
class TransposedRoundedBand:
    """Aᵀ of a `RoundedBand`."""

    T: RoundedBand

    def __matmul__(self, g: Any, /) -> Vector:
        return np.asarray(self.T.rounding.T @ (self.T.band.T @ g))


def as_band(channel: Operator) -> Band | RoundedBand | None:
    """The same channel as a band, perhaps behind a rounding, or None if it is neither.

    An operator of another room is recognised by what it says of itself: a `flat` window of `width` cells with `extra`
    probability over `far`; or a product of one with a sparse matrix, whose two `args` are those.
    """
    if isinstance(channel, Band | RoundedBand):
        return channel
    said: Any = channel
    product = factors(channel)
    if product is not None:
        band = as_band(product[0])
        return RoundedBand(band, product[1]) if isinstance(band, Band) else None
    if not getattr(channel, "flat", False) or not all(hasattr(channel, name) for name in ("width", "extra", "far")):
        return None
    far = float(said.far)
    band = Band(int(said.shape[1]), int(said.width), far + float(np.ravel(said.extra)[0]), far)
    return band if band.shape == tuple(said.shape) else None


def factors(channel: Any) -> tuple[Any, Any] | None:
    """The two factors of a channel that is a product with a sparse matrix, or None."""
    both = getattr(channel, "args", None)
    if isinstance(both, tuple) and len(both) == 2 and hasattr(getattr(both[1], "A", None), "tocsr"):
        return both[0], both[1].A
    return None


_MATRIX_READY = (
    np.ndarray,
    Band,
    TransposedBand,
    Stack,
    TransposedStack,
    RoundedBand,
    TransposedRoundedBand,
)


def apply(channel: Operator, columns: Vector) -> Vector:
    """Return ``channel @ columns`` for a matrix, also where the channel knows only vectors."""
    if isinstance(channel, _MATRIX_READY) or hasattr(channel, "matmat"):
        return np.asarray(channel @ columns)
    return np.stack([np.asarray(channel @ column) for column in columns.T], axis=1)


def _product(channel: Operator, f: Any) -> Vector:
    return apply(channel, f) if np.ndim(f) == 2 else np.asarray(channel @ f)
