"""PrivRM's privacy levels (Table 2), what its two halves spend, and the guideline of section 5.3, all exact.

Levels are those of the joint report (tag, value).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.mechanisms.numeric.privrm import Draw, level, range_mechanism
from discreet.plans.range_mean.designs import Belief, predicted_variance
from discreet_papers.job import Cell
from discreet_papers.mechanisms import numeric

INNERS = {"TLM": "truncated-laplace", "SR": "duchi", "PM": "piecewise", "HM": "hybrid", "uSW": "square-wave"}
SHARES = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
EDGES = {"HM": (0.648, 0.649, 0.6499), "TLM": (0.7497, 0.7499)}
"""Values of p where the paper's rounded constants change the branch too late."""
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
AS_PUBLISHED: dict[str, dict[str, Any]] = {
    "privrm-i": {"draw": "random", "calibrated": False},
    "privrm-o": {"draw": "uniform", "calibrated": False},
    "privrm-star": {"draw": "uniform"},
}
THRESHOLDS = {"SR": 3.32, "PM": 3.45, "HM": 3.33, "uSW": 3.24}
"""Below these epsilons PrivRM* always has the least variance, according to section 5.3."""


def printed(name: str, p: float) -> float:
    """Return Table 2's epsilon of PrivRM* with tag probability p.

    Examples
    --------
    >>> round(printed("PM", 0.9), 6)
    2.70805
    """
    odds = p / (1 - p)
    piecewise = math.log(math.sqrt(odds) / (2 - 2 * p))
    if name == "TLM" and p < 0.75:
        root = math.sqrt(odds)
        return math.log(4 * p * (root * p + p - root) / ((1 - p) * math.log(odds)))
    if name == "SR" or (name == "HM" and p < 0.65):
        return math.log(odds)
    if name == "uSW":
        return math.log((2 * p - 1) / (2 * (p - 1) ** 2 * math.log(odds)))
    return piecewise


def logit(p: float) -> float:
    """Return the epsilon of a coin with probability p."""
    return math.log(p / (1 - p))


def truncated(p: float) -> float:
    """Return the exact level with the truncated Laplace mechanism: the largest of all four ratios of appendix E.

    This is the closed form for the continuous mechanism; the registry's has a coarse lattice and another draw.
    """
    odds, e = p / (1 - p), logit(p)
    root = math.sqrt(odds)
    atoms = (2 * p * root, root / (2 - 2 * p))
    between = (4 * p * (root * p + p - root) / ((1 - p) * e), root * e / (4 * (1 - p) * (root - 1)))
    return math.log(max(odds, *atoms, *between))


def level_cell(name: str) -> Cell:
    """Return the exact level of PrivRM* beside Table 2, for tag probabilities p and the inner mechanism at logit p."""
    rows = []
    for p in (*SHARES, *EDGES.get(name, ())):
        found = truncated(p) if name == "TLM" else level(numeric(INNERS[name], logit(p)), 0.5, 1 - p, "uniform")
        rows.append({"p": p, "exact": found, "printed": printed(name, p), "difference": found - printed(name, p)})
    draw: Draw = "best" if name == "TLM" else "uniform"
    largest = {f"{e:g}": range_mechanism("privrm-star", INNERS[name], e, draw=draw).inner.epsilon for e in EPSILONS}
    return {"inner": name, "rows": rows, "largest": largest}


def splits() -> Cell:
    """Return what PrivRM^I and ^O spend when both halves get epsilon/2, and the halves that spend exactly epsilon."""
    rows = []
    for epsilon in (1.0, 2.0, 4.0):
        for method in ("privrm-i", "privrm-o"):
            for name, inner in INNERS.items():
                if name == "TLM":
                    continue
                options = AS_PUBLISHED[method]
                spent = range_mechanism(method, inner, epsilon, **options).certificate.epsilon
                whole = range_mechanism(method, inner, epsilon)
                rows.append(
                    {
                        "epsilon": epsilon,
                        "method": method,
                        "inner": name,
                        "spent": spent,
                        "calibrated_inner": whole.inner.epsilon,
                    }
                )
    return {"rows": rows}


def guideline() -> Cell:
    """Return the epsilon above which I has less variance than *, by the full variance, for several shares and means."""
    rows = []
    for name in THRESHOLDS:
        for share, mean in ((0.1, 0.9), (0.5, 0.0), (0.5, 0.6), (0.5, 0.9), (0.9, 0.9), (1.0, 0.9)):
            belief = _two_points(share, mean)

            def gain(epsilon: float, inner: str = INNERS[name], belief: Belief = belief) -> float:
                variances = []
                for method in ("privrm-i", "privrm-star"):
                    source = range_mechanism(method, inner, epsilon, positions=512, **AS_PUBLISHED[method])
                    variances.append(predicted_variance(source, belief, weighted=False))
                return variances[0] - variances[1]

            rows.append({"inner": name, "share": share, "mean": mean, "threshold": _crossing(gain)})
    return {"rows": rows}


def _two_points(share: float, mean: float) -> Belief:
    """Return people at two points with a given mean and variance 0.05, as in the independent computation."""
    up = min(1 - mean, 0.05**0.5)
    down = 0.05 / up
    return Belief(share, np.array([mean - down, mean + up]), np.array([up, down]) / (up + down))


def _crossing(gain: Callable[[float], float]) -> float | None:
    """Return the epsilon (up to 10, in steps of 0.05) above which * no longer has an advantage, or None."""
    places = np.arange(2.0, 10.01, 1.0)
    signs = [gain(float(e)) > 0 for e in places]
    if signs[-1]:
        return None
    last = max((i for i, sign in enumerate(signs) if sign), default=-1)
    if last < 0:
        return 0.0
    low, high = float(places[last]), float(places[last + 1])
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) > 0 else (low, middle)
    return (low + high) / 2
