"""Ranges that nobody has to guess: a part of the people shows where the values are, the others are asked in that range.

    share s of the people:  three rounds of "is your value at most t?" for the deciles q10, q50, q90
    the others:             the question itself, on  [q10 - K (q50 - q10), q90 + K (q90 - q50)]  within the interval

Noise grows with the width of the interval: ten times too wide costs nearly a hundred times the people. Clipping costs a
bias. The best range leaves out about beta = sqrt(V / 4n) of the people at each end (V the variance of one report on
[-1, 1]): that is as small as the rank error of *all* people, so a part of them cannot find such a quantile, but it
finds deciles. The range goes beyond them by

    K = 1.5 L,    L = ln(0.1 / beta) / ln 5,    on the longer side of skewed data  K = 0.8 L^2 if that is more

L would reach mass beta if tails were exponential. Tails of skewed data are heavier on their longer side, and the more
so the further out: the optimum of K was 1.8, 2.6, 3.2 and 3.7 times L for wages at epsilon 0.5, 1, 2 and 4, and 1.5 to
1.7 times for flight delays. 0.8 L^2 lies between them. [shared notes: ranges learnt in rounds]

Where people are few or epsilon is small the deciles are vague: they are taken one standard error of their rank further
inside, where values lie closer, and L is that of the share which is then outside. From the second round on, people are
divided between the outer deciles in proportion to their distance from the median: an error on the longer side costs
most. A share of the people that keeps the rank error at what it is at epsilon 1 is enough: 20 % at epsilon 0.5, 13 % at
1, 5 % from 2 on.

What cannot be learnt is a small cluster far out. 0.25 % of the taxi rides in the tests last 40 times as long as most
others. At epsilon 2 the people who show the range see such a share with 0.4 standard errors, and at epsilon 4 with 1.3:
a rule that kept room for them would keep it for nothing in nearly all other data, at up to ten times the error.

Learning stops, and everybody else is asked in the whole interval, if what was learnt after two rounds is not much
narrower, or if people are too few to find deciles. The range depends on the learning rounds only through clipping, so
that the answer stays unbiased for the clipped values, and its interval is right for them. Nobody can measure the bias
itself: the answer says how many people lie outside the range, and what that could mean at worst.
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
