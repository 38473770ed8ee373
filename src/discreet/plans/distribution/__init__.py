"""The distribution of a number over equal buckets, by the papers' methods and by our own."""

from discreet.plans.distribution.plan import Distribution

__all__ = ["Distribution"]
