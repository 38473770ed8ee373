"""Plans: a question, the rounds that answer it, and the estimate."""

from discreet.plans.answers import Answer
from discreet.plans.base import Answered, Channel, History, Plan, Round
from discreet.plans.distribution import Distribution
from discreet.plans.frequency import Frequency
from discreet.plans.mean import Mean
from discreet.plans.mean.several import Means
from discreet.plans.quantile import Quantile, Quantiles
from discreet.plans.range_mean import RangeMean
from discreet.plans.range_mean.several import RangeMeans
from discreet.plans.simulate import simulate
from discreet.plans.variance import Variance

__all__ = [
    "Answer",
    "Answered",
    "Channel",
    "Distribution",
    "Frequency",
    "History",
    "Mean",
    "Means",
    "Plan",
    "Quantile",
    "Quantiles",
    "RangeMean",
    "RangeMeans",
    "Round",
    "Variance",
    "simulate",
]
