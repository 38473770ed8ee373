"""Structured linear operators: for every mechanism E[tally]/n = A f, computed in O(size) rather than O(size²).

Estimators only use ``A @ f`` and ``A.T @ g``, for vectors and for matrices (column by column). Nothing here needs more
than numpy.

* `base`: what every operator can do.
* `matrices`: small tables, and sparse matrices such as the rounding of buckets to knots.
* `band`: a window that slides over the reports.
* `oracles`: the support counts of frequency oracles.
* `combined`: products of operators, and operators one below the other.
"""

from discreet.operators.band import Band
from discreet.operators.base import Operator, Part, Transposed
from discreet.operators.combined import Product, Stack, after_rounding
from discreet.operators.matrices import Dense, Sparse, spread
from discreet.operators.oracles import Incidence, Support

__all__ = [
    "Operator",
    "Transposed",
    "Part",
    "Dense",
    "Sparse",
    "spread",
    "Band",
    "Support",
    "Incidence",
    "Product",
    "Stack",
    "after_rounding",
]
