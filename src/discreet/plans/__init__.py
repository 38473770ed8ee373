"""Plans: a question, the rounds that answer it, and the estimate."""

from discreet.plans.base import Channel, Estimate, Plan, Round
from discreet.plans.mean import Mean
from discreet.plans.simulate import simulate

__all__ = ["Channel", "Estimate", "Mean", "Plan", "Round", "simulate"]
