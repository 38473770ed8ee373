"""Quantiles in rounds of one-bit answers: one (`Quantile`) or several at once (`Quantiles`)."""

from discreet.plans.quantile.plan import Quantile, Quantiles

__all__ = ["Quantile", "Quantiles"]
