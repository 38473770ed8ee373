"""The test that groups have the same distribution: a few cells of equal width, decoded linearly from the reports.

Whatever the laws are, groups that are alike have reports of the same law. So any fixed linear statistic of the reports
may be compared between groups, and its covariance is known: that of a multinomial where a tally counts whole reports,
that of the oracle's support otherwise. The statistic taken here is the best one for distributions that are flat within
each of a few cells,

    M_c = J^-1 n_c (X_c L)' W_c,    J = sum over channels of n_c (X_c L)' W_c X_c L

with X_c = A_c B what a channel sees of the cells, L the shares that are free (all but the last) and W_c the inverse
variances of what is counted. Distributions that are not flat within the cells make it less powerful, never false. It
needs no histogram with an uncertainty of its own, whose spread would have to be right.
"""

from collections.abc import Sequence

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.comparing import TestResult, homogeneity
from discreet.estimation.simplex import clip
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.draws import counts_reports
from discreet.mechanisms.families import Categorical, Oracle, require_oracle
from discreet.plans.base import Answered
from discreet.tallies import Tally

SAME = "the groups have the same distribution"
FINEST = 1024
"""Most buckets in which a channel for numbers is described."""


def same_distributions(groups: Sequence[Answered], guess: Floats, cells: int) -> TestResult:
    """Test that groups which were asked alike have the same distribution.

    Parameters
    ----------
    groups : sequence of Answered
        The same round, as each group answered it.
    guess : numpy.ndarray
        A histogram of everybody, from which inverse variances are taken: a bad one costs power, nothing else.
    cells : int
        In how many cells of equal width they are compared.
    """
    asked = groups[0].round
    free = np.vstack([np.eye(cells - 1), -np.ones(cells - 1)])
    maps: list[Floats] = []
    information = np.zeros((cells - 1, cells - 1))
    counted: list[list[Tally]] = []
    for channel in asked.channels:
        tallies = [one.tally(channel.key) for one in groups]
        seen, weights = _seen(channel.mechanism, guess, cells)
        projected = (seen @ free).T * weights * sum(tally.n for tally in tallies)
        maps.append(projected)
        information += projected @ seen @ free
        counted.append(tallies)
    if min(tally.n for tallies in counted for tally in tallies) < 2:
        raise DiscreetError("each group needs at least 2 reports in every channel to be compared")
    inverse = np.linalg.pinv(information)
    width = int(np.linalg.matrix_rank(information, tol=1e-9 * np.trace(information)))
    if width < cells - 1:
        raise DiscreetError(f"the reports do not tell {cells} cells apart; compare fewer")
    estimates = np.zeros((len(groups), cells - 1))
    covariances = np.zeros((len(groups), cells - 1, cells - 1))
    for channel, projected, tallies in zip(asked.channels, maps, counted, strict=True):
        decode = inverse @ projected
        together = Tally.merge(tallies)
        person = _covariance(channel.mechanism, together, decode)
        for g, tally in enumerate(tallies):
            estimates[g] += decode @ _read(channel.mechanism, tally)
            covariances[g] += person / tally.n
    return homogeneity(estimates, covariances, SAME)


def _read(mechanism: Mechanism, tally: Tally) -> Floats:
    """Return what is compared of a tally: the shares of its reports, or decoded frequencies."""
    if counts_reports(mechanism):
        return np.asarray(tally.counts / tally.n)
    oracle = require_oracle(mechanism, "A comparison")
    return np.asarray((oracle.support_counts(tally) / tally.n - oracle.q) / (oracle.p - oracle.q))


def _covariance(mechanism: Mechanism, tally: Tally, decode: Floats) -> Floats:
    """Return the covariance of one person's decoded report, from the reports of all groups together."""
    shares = _read(mechanism, tally)
    if counts_reports(mechanism):
        mean = decode @ shares
        return np.asarray((decode * shares) @ decode.T - np.outer(mean, mean))
    oracle = require_oracle(mechanism, "A comparison")
    return np.asarray(decode @ oracle.frequency_covariance(clip(shares)) @ decode.T)


def _seen(mechanism: Mechanism, guess: Floats, cells: int) -> tuple[Floats, Floats]:
    """Return what a channel sees of the cells, and the inverse variances of what is counted."""
    size = mechanism.size if isinstance(mechanism, Categorical) else min(FINEST, -(-guess.size // cells) * cells)
    spread, known = overlap(size, cells), overlap(size, guess.size) @ guess
    if counts_reports(mechanism):
        operator = mechanism.operator(size)
        law = np.asarray(operator @ known)
        return np.asarray(operator @ spread), 1 / np.maximum(law, 1e-9 / law.size)
    oracle: Oracle = require_oracle(mechanism, "A comparison")
    return spread, 1 / np.maximum(np.diag(oracle.frequency_covariance(clip(known))), 1e-12)


def overlap(wanted: int, given: int) -> Floats:
    """Return which part of each of ``given`` equal cells lies in each of ``wanted`` ones, a row for each wanted.

    Examples
    --------
    >>> overlap(2, 3)
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 1. ]])
    """
    ends, cuts = np.arange(given + 1) / given, np.arange(wanted + 1) / wanted
    shared = np.minimum(cuts[1:, None], ends[1:]) - np.maximum(cuts[:-1, None], ends[:-1])
    return np.asarray(np.clip(shared * given, 0.0, 1.0))
