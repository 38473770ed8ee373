"""Names for the kinds of numpy arrays that all rooms pass around."""

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
