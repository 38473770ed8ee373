"""Means: of one number (`Mean`), in one round or adapted in two, and of several numbers at once (`Means`)."""

from discreet.plans.mean.plan import Mean
from discreet.plans.mean.several import Means

__all__ = ["Mean", "Means"]
