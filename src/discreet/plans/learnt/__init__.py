"""Ranges that nobody has to guess: a part of the people shows where the values are, the others are asked in that range.

    share s of the people:  three rounds of "is your value at most t?" for the median m and the octiles a, b beside it
    the others:             the question itself, on  [a - K (m - a), b + K (b - m)]  within the interval

Noise grows with the width of the interval: ten times too wide costs nearly a hundred times the people. Clipping costs a
bias. The best range leaves out about beta = sqrt(V / 4n) of the people at each end (V the variance of one report on
[-1, 1]): that is as small as the rank error of *all* people, so a part of them cannot find such a quantile, but it
finds octiles. One curve is fitted to all their answers (`discreet.plans.learnt.curve`). The range goes beyond by

    K = L = ln((1/8) / beta) / ln 4,    on the longer side of skewed data  K = 0.8 L^2 if that is more

L reaches mass beta if tails are exponential. Tails of skewed data are heavier on their longer side, and the more so the
further out. Over log-normal, Weibull, gamma and Pareto laws 0.6 to 0.7 L^2 has the least worst case; 0.8 is what wages
need at epsilon 4, and costs those laws 3 to 7 % of error. Nothing that a part of the people can see tells wages from
flight delays: relative to b - m, they differ beyond the 99.5 % quantile only. [shared notes: ranges learnt in rounds]

From the second round on, people are divided between the octiles in proportion to their distance from the median: an
error on the longer side costs most. A share of the people that keeps the rank error at what it is at epsilon 1 is
enough: 20 % at epsilon 0.5, 13 % at 1, 5 % from 2 on.

What cannot be learnt is a small cluster far out. 0.25 % of the taxi rides in the tests last 40 times as long as most
others. At epsilon 2 the people who show the range see such a share with 0.4 standard errors, and at epsilon 4 with 1.3:
a rule that kept room for them would keep it for nothing in nearly all other data, at up to ten times the error.

Learning stops, and everybody else is asked in the whole interval, if what was learnt after two rounds is not much
narrower, or if people are too few to find octiles. The range depends on the learning rounds only through clipping, so
that the answer stays unbiased for the clipped values, and its interval is right for them. Nobody can measure the bias
itself: the answer says how many people lie outside the range, and what that could mean at worst.
"""

from discreet.plans.learnt.column import OCTILES, PARTS, WIDE, Column, range_for
from discreet.plans.learnt.plan import LearntRange, check_learnt, learning_share, learnt_arguments

__all__ = [
    "OCTILES",
    "PARTS",
    "WIDE",
    "Column",
    "LearntRange",
    "check_learnt",
    "learning_share",
    "learnt_arguments",
    "range_for",
]
