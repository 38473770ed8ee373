"""Empirical audit: a lower bound on epsilon, proven from samples alone.

Two inputs, many reports of each. Some reports choose the event that tells the inputs apart best: the level set of the
likelihood ratio with the largest exact bound on held-out reports, so that rare plain leaks count for what they are.
Reports are drawn in large and small batches, and beside the reports of somebody else. Fresh reports measure it: a fair
coin decides which input each report is of, so that each occurrence of the event belongs to the first input with
probability p / (p + q), whatever else happens. The Clopper-Pearson bound of that proportion bounds p / q, and the true
epsilon is at least its logarithm with probability ``confidence``. An audit can refute a claim; only a certificate can
prove one.
"""

from discreet.privacy.audit.bounds import (
    CONFIDENCE,
    Audit,
    audit_event,
    best_event,
    clopper_pearson,
    lower_bound,
    ratio_bound,
)
from discreet.privacy.audit.randomisers import (
    DEFAULT_INPUTS,
    RandomiserAudit,
    audit_mechanism,
    audit_randomiser,
)

__all__ = [
    "CONFIDENCE",
    "DEFAULT_INPUTS",
    "Audit",
    "RandomiserAudit",
    "audit_event",
    "audit_mechanism",
    "audit_randomiser",
    "best_event",
    "clopper_pearson",
    "lower_bound",
    "ratio_bound",
]
