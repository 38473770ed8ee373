"""Means of those whose number lies in a range: one range (`RangeMean`) or several at once (`RangeMeans`)."""

from discreet.plans.range_mean.plan import RangeMean
from discreet.plans.range_mean.several import RangeMeans

__all__ = ["RangeMean", "RangeMeans"]
