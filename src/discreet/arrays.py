"""Names for the kinds of numpy arrays that all rooms pass around, and sums that several of them take."""

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
"""An array of any type, such as reports in their smallest unsigned type."""
Floats = npt.NDArray[np.float64]
"""Real numbers: inputs, probabilities, decoded values."""
Counts = npt.NDArray[np.int64]
"""Whole numbers: tallies, indices."""
Words = npt.NDArray[np.uint64]
"""Random 64-bit words."""
Bytes = npt.NDArray[np.uint8]
"""Raw bytes: report ids, packed reports."""


def sums_at_edges(parts: Floats) -> Floats:
    """Return the sums of parts up to each edge between them, the first of which is 0; of rows, sums of rows.

    Examples
    --------
    >>> sums_at_edges(np.array([0.2, 0.3, 0.5]))
    array([0. , 0.2, 0.5, 1. ])
    """
    sums = np.zeros((len(parts) + 1, *parts.shape[1:]))
    np.cumsum(parts, axis=0, out=sums[1:])
    return sums
