"""Linear programmes over channels: adaptive additive noise (AAA) and minimax, solved fast and repaired exactly.

Pure mathematics: arrays of floats in, exact integer tables out, and nothing of the rest of discreet. Read
`programme` (least expected variance under a prior) or `minimax` (least worst-case variance), then `repair`.
"""

from discreet.optimize.minimax import Minimax, plateau, solve_minimax, solve_table, worst_case_variance
from discreet.optimize.programme import Solution, adaptive_table, lattice_outputs, reach, solve
from discreet.optimize.reference import TailedNoise, solve_highs, solve_tailed
from discreet.optimize.repair import (
    ExactTable,
    Verification,
    repair_on_alphabet,
    repair_with_extremes,
    tightened,
    verify,
)
from discreet.optimize.tables import minimax_table, next_lower, shipped
from discreet.privacy.exact import TOTAL

__all__ = [
    "solve",
    "solve_highs",
    "solve_tailed",
    "lattice_outputs",
    "adaptive_table",
    "Solution",
    "TailedNoise",
    "minimax_table",
    "solve_table",
    "solve_minimax",
    "plateau",
    "worst_case_variance",
    "Minimax",
    "shipped",
    "next_lower",
    "repair_on_alphabet",
    "repair_with_extremes",
    "tightened",
    "verify",
    "reach",
    "ExactTable",
    "Verification",
    "TOTAL",
]
