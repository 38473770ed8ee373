"""Ranges that nobody has to guess: a part of the people shows where the values are, the others are asked in that range.

    share s of the people:  three rounds of "is your value at most t?" for the deciles q10, q50, q90
    the others:             the question itself, on  [q10 - K (q50 - q10), q90 + K (q90 - q50)]  within the interval

Noise grows with the width of the interval: ten times too wide costs nearly a hundred times the people. Clipping costs a
bias. The best range leaves out about beta = sqrt(V / 4n) of the people at each end (V the variance of one report on
[-1, 1]): that is as small as the rank error of *all* people, so a part of them cannot find such a quantile, but it
finds deciles. The range goes beyond them by

    K = L^2,    L = ln(0.1 / beta) / ln 5

L would reach mass beta if tails were exponential. Squared, it reaches beyond that by more the more people there are: a
bias never shows, while a range that is somewhat too wide only costs people. [shared notes: ranges learnt in rounds]

The longer side of the range is where an error costs most: from the second round on, people are divided between the
outer deciles in proportion to their distance from the median, and both are taken 1.5 standard errors of their rank
further inside.

Learning stops, and everybody else is asked in the whole interval, if what was learnt after two rounds is not much
narrower, or if people are too few to find deciles. The range depends on the learning rounds only
through clipping, so that the answer stays unbiased for the clipped values, and its interval is right for them. Nobody
can measure the bias itself: the answer says how many people lie outside the range, and what that could mean at worst.
"""

from discreet.plans.learnt.column import DECILES, PARTS, WIDE, Column, range_for
from discreet.plans.learnt.plan import LearntRange, check_learnt, learning_share, learnt_arguments

__all__ = [
    "DECILES",
    "PARTS",
    "WIDE",
    "Column",
    "LearntRange",
    "check_learnt",
    "learning_share",
    "learnt_arguments",
    "range_for",
]
