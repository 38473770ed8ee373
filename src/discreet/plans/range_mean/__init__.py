"""Means of the people whose number lies in a range: one range (`RangeMean`) or several (`RangeMeans`)."""

from discreet.plans.range_mean.plan import RangeMean
from discreet.plans.range_mean.several import RangeMeans

__all__ = ["RangeMean", "RangeMeans"]
