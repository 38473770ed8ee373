"""Public batteries of checks that every mechanism must pass, a stranger's too."""

from discreet.checks.mechanism import (
    SIGNIFICANCE,
    CheckFailed,
    CheckReport,
    check_audit,
    check_certificate,
    check_documents,
    check_entropy,
    check_mechanism,
    check_merging,
    check_operator,
    check_paths_agree,
    check_reports,
    check_sampler,
    check_tally_law,
    chi_square,
)

__all__ = [
    "SIGNIFICANCE",
    "CheckFailed",
    "CheckReport",
    "check_audit",
    "check_certificate",
    "check_documents",
    "check_entropy",
    "check_mechanism",
    "check_merging",
    "check_operator",
    "check_paths_agree",
    "check_reports",
    "check_sampler",
    "check_tally_law",
    "chi_square",
]
