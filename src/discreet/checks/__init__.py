"""Public checks that every mechanism, every source of randomness and every device must pass, yours too."""

from discreet.checks.adaptors import ProcessDevice, PythonDevice
from discreet.checks.base import CheckFailed
from discreet.checks.device import DeviceReport, check_device
from discreet.checks.entropy import check_entropy
from discreet.checks.exact import check_bytes, check_operator, check_values
from discreet.checks.mechanism import (
    CheckReport,
    check_certificate,
    check_documents,
    check_mechanism,
    check_merging,
    check_reports,
)
from discreet.checks.paths import check_paths_agree
from discreet.checks.statistics import SIGNIFICANCE, check_audit, check_sampler, check_tally_law, chi_square

__all__ = [
    "SIGNIFICANCE",
    "CheckFailed",
    "CheckReport",
    "DeviceReport",
    "ProcessDevice",
    "PythonDevice",
    "check_audit",
    "check_bytes",
    "check_certificate",
    "check_device",
    "check_documents",
    "check_entropy",
    "check_mechanism",
    "check_merging",
    "check_operator",
    "check_paths_agree",
    "check_reports",
    "check_sampler",
    "check_tally_law",
    "check_values",
    "chi_square",
]
