"""Hierarchies of frequencies: make the estimates of all layers agree.

A hierarchy is a list of layers, from the children of the root down to the leaves. Every node of a layer has the same
number of children (β in the papers), so the size of each layer is a multiple of the one above it. The root, the number
of people, is known: its frequency is `total`.

* `consistent`: the least-squares estimate in which every node is the sum of its children, with each layer weighted by
  the inverse of its variance; two passes, O(d) (Hay et al. 2010; Li et al. 2020, section 4.2).
* `non_negative`: the same with all frequencies ≥ 0, problem (2) of Li et al. 2020 (section 4.3), which they solve by
  ADMM. Here it is solved exactly and without iteration, by a dynamic programme on piecewise linear functions,
  O(d log d). Their objective does not weight the layers; inverse variances reduce the Wasserstein distance by 13–35 %.
* `haar_leaves`: leaves from the differences between left and right halves (HaarHRR, Kulkarni et al. 2019).

The dynamic programme gives every node a price m for mass. A leaf with estimate y and weight w then takes the mass
max(0, y + m/w). An inner node pays w(X - y) for its own estimate and passes the price λ = m - w(X - y) down, so its
mass X(m) solves X = S(λ), where S is the sum of what its children take: again increasing, convex and piecewise linear.
On the way up breakpoints are merged, at the root S(λ) = total gives the price, and on the way down each node reads off
its mass.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.errors import DiscreetError

Layers = Sequence[npt.ArrayLike]
"""Estimates of a hierarchy, from the children of the root down to the leaves."""


def consistent(layers: Layers, variances: npt.ArrayLike | None = None, total: float | None = 1.0) -> Floats:
    """Return the leaves of the least-squares estimate in which every node is the sum of its children.

    Parameters
    ----------
    layers : sequence of arrays
        Unbiased estimates, from the children of the root down to the leaves.
    variances : array, optional
        Variance of the estimates of each layer; equal unless given. All positive.
    total : float or None
        Frequency of the root; None if it is unknown.

    Examples
    --------
    >>> consistent([[0.5, 0.5], [0.2, 0.2, 0.35, 0.35]])
    array([0.225, 0.225, 0.275, 0.275])
    """
    estimates, weights = _checked(layers, variances, total)
    spread = 1.0 / weights
    best, variance = estimates[-1], np.full(estimates[-1].size, spread[-1])
    upward = [(best, variance)]
    for own, layer_variance in zip(estimates[-2::-1], spread[-2::-1], strict=True):
        # There are two independent estimates of a node: its own, and the sum of its children.
        below, below_variance = (part.reshape(own.size, -1).sum(axis=1) for part in (best, variance))
        share = below_variance / (below_variance + layer_variance)
        best, variance = share * own + (1.0 - share) * below, share * layer_variance
        upward.append((best, variance))
    parents = np.array([best.sum() if total is None else total])
    for best, variance in reversed(upward):
        # The difference between a parent's mass and the sum of its children goes to them in proportion to their
        # variances.
        best, variance = best.reshape(parents.size, -1), variance.reshape(parents.size, -1)
        missing = (parents - best.sum(axis=1)) / variance.sum(axis=1)
        parents = (best + variance * missing[:, None]).ravel()
    return parents


def non_negative(
    layers: Layers,
    variances: npt.ArrayLike | None = None,
    total: float = 1.0,
    method: Literal["exact", "admm"] = "exact",
) -> Floats:
    """Return the leaves of the non-negative least-squares estimate in which every node is the sum of its children.

    Minimises ½ Σ_layers ‖X - estimate‖² / variance subject to consistency, X ≥ 0 and root = total.

    Parameters
    ----------
    layers : sequence of arrays
        Unbiased estimates, from the children of the root down to the leaves.
    variances : array, optional
        Variance of the estimates of each layer. Without it all layers have the same weight, as in the paper.
    total : float
        Frequency of the root.
    method : {"exact", "admm"}
        "admm" is the paper's iteration, to 10⁻¹⁰; it is slower, and here for comparison.

    Examples
    --------
    >>> non_negative([[0.9, 0.1], [0.5, 0.4, 0.2, -0.1]]).round(3)
    array([0.486, 0.386, 0.129, 0.   ])
    """
    estimates, weights = _checked(layers, variances, total)
    if method == "exact":
        return _price_programme(estimates, weights, total)
    if method == "admm":
        return _admm(estimates, weights, total)
    raise DiscreetError(f"method must be 'exact' or 'admm', not {method!r}")


def haar_leaves(differences: Layers, total: float = 1.0) -> Floats:
    """Return leaves from the differences (left half minus right half) of every node, the root's first.

    Examples
    --------
    >>> haar_leaves([[0.2], [0.0, 0.4]])
    array([0.3, 0.3, 0.4, 0. ])
    """
    nodes = np.array([total], dtype=np.float64)
    if not differences:
        raise DiscreetError("differences must hold at least the one at the root")
    for layer in differences:
        difference = np.asarray(layer, dtype=np.float64)
        if difference.shape != nodes.shape or not np.isfinite(difference).all():
            raise DiscreetError(f"a Haar layer must hold {nodes.size} finite differences, not shape {difference.shape}")
        nodes = np.stack([nodes + difference, nodes - difference], axis=1).ravel() / 2.0
    return nodes


def sums(leaves: npt.ArrayLike, sizes: Sequence[int]) -> list[Floats]:
    """Return the layers of a hierarchy with these leaves, one for each size."""
    f = np.asarray(leaves, dtype=np.float64)
    return [f.reshape(size, -1).sum(axis=1) for size in sizes]


def _price_programme(estimates: list[Floats], weights: Floats, total: float) -> Floats:
    """Return the exact solution; see the top of the module."""
    # The mass taken at price m is Σ_k steps_k·(m - prices_k)₊, with one row of breakpoints per node.
    prices = -weights[-1] * estimates[-1][:, None]
    steps = np.full(prices.shape, 1.0 / weights[-1])
    curves: list[tuple[Floats, Floats, Floats]] = []
    for own, weight in zip([*estimates[-2::-1], np.zeros(1)], [*weights[-2::-1], 0.0], strict=True):
        prices, steps = prices.reshape(own.size, -1), steps.reshape(own.size, -1)
        # A stable sort recognises the sorted runs of the children and merges them.
        order = np.argsort(prices, axis=1, kind="stable")
        prices = np.take_along_axis(prices, order, axis=1)
        slopes = np.cumsum(np.take_along_axis(steps, order, axis=1), axis=1)
        masses = np.zeros_like(prices)
        np.cumsum(slopes[:, :-1] * np.diff(prices, axis=1), axis=1, out=masses[:, 1:])
        # From the price that the children see to the price that the node itself sees.
        prices = prices + weight * (masses - own[:, None])
        slopes = slopes / (1.0 + weight * slopes)
        steps = np.diff(slopes, axis=1, prepend=0.0)
        curves.append((prices, masses, slopes))
    prices, masses, slopes = curves.pop()
    last = int(np.searchsorted(masses[0], total)) - 1
    price = np.array([prices[0, last] + (total - masses[0, last]) / slopes[0, last]])
    for own, weight, (prices, masses, slopes) in zip(estimates[:-1], weights[:-1], reversed(curves), strict=True):
        offered = np.repeat(price, own.size // price.size)
        count = (prices <= offered[:, None]).sum(axis=1)
        row, segment = np.arange(own.size), np.maximum(count - 1, 0)
        reached = masses[row, segment] + slopes[row, segment] * (offered - prices[row, segment])
        mass = np.where(count > 0, reached, 0.0)
        price = offered - weight * (mass - own)
    offered = np.repeat(price, estimates[-1].size // price.size)
    return np.asarray(np.maximum(estimates[-1] + offered / weights[-1], 0.0))


def _admm(
    estimates: list[Floats], weights: Floats, total: float, accuracy: float = 1e-10, max_iterations: int = 100_000
) -> Floats:
    """Alternate a consistent step and a non-negative step, with the running sum of their differences (ADMM)."""
    sizes = [layer.size for layer in estimates]
    cuts = np.cumsum(sizes)[:-1]
    pull = np.repeat(weights, sizes)
    target = np.concatenate(estimates)
    kept, gap = np.maximum(target, 0.0), np.zeros_like(target)
    for _ in range(max_iterations):
        blend = (pull * target + kept - gap) / (pull + 1.0)
        agreed = np.concatenate(sums(consistent(np.split(blend, cuts), 1.0 / (weights + 1.0), total), sizes))
        before, kept = kept, np.maximum(agreed + gap, 0.0)
        gap += agreed - kept
        if max(np.abs(agreed - kept).max(), np.abs(kept - before).max()) < accuracy:
            break
    return np.asarray(kept[cuts[-1] :] if cuts.size else kept)


def _checked(layers: Layers, variances: npt.ArrayLike | None, total: float | None) -> tuple[list[Floats], Floats]:
    """Return the estimates as vectors, and the weights of the layers with 1 as the largest."""
    estimates = [np.asarray(layer, dtype=np.float64) for layer in layers]
    if not estimates or any(layer.ndim != 1 or layer.size == 0 for layer in estimates):
        raise DiscreetError("a hierarchy must have at least one layer, and each must be a non-empty vector")
    if not all(np.isfinite(layer).all() for layer in estimates):
        raise DiscreetError("the estimates of a hierarchy must be finite")
    for above, below in pairwise(estimates):
        if below.size % above.size:
            raise DiscreetError(f"a layer of {below.size} nodes cannot be shared by {above.size} parents")
    spread = np.ones(len(estimates)) if variances is None else np.asarray(variances, dtype=np.float64)
    if spread.shape != (len(estimates),) or not (np.isfinite(spread).all() and (spread > 0).all()):
        raise DiscreetError(f"variances must be one positive, finite number for each of the {len(estimates)} layers")
    if total is not None and not (np.isfinite(total) and total > 0):
        raise DiscreetError(f"total must be positive, not {total}")
    return estimates, spread.min() / spread
