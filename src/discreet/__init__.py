"""Ask everyone, learn about no one: statistics of sensitive values under local differential privacy.

Start with `Mean`, `simulate` and `mechanism`. Every name is imported when it is first used, so that ``import discreet``
stays quick; type checkers see the real types.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from discreet.optimize import memory as _memory

__version__ = "0.2.0"

__all__ = [
    # What people hold.
    "Categories",
    "Interval",
    # Questions and answers.
    "Answer",
    "Choice",
    "CrossTable",
    "Distribution",
    "Frequency",
    "Groups",
    "Mean",
    "Means",
    "Number",
    "Plan",
    "Quantile",
    "Quantiles",
    "Questionnaire",
    "RangeMean",
    "RangeMeans",
    "Ticks",
    "Variance",
    "advise",
    "compare",
    "compare_all",
    "raked",
    "simulate",
    "weighted",
    # Mechanisms.
    "Categorical",
    "Certificate",
    "Entropy",
    "Mechanism",
    "Mixture",
    "Numeric",
    "Oracle",
    "Table",
    "Tally",
    "Unary",
    "Window",
    "mechanism",
    "register",
    # Files, data frames and devices.
    "Collector",
    "Ledger",
    "estimate_file",
    "estimate_frame",
    "privatize_file",
    "privatize_frame",
    # Errors.
    "DiscreetError",
    "DomainError",
    "MissingExtra",
    "PrivacyError",
    "WireError",
    # Modules.
    "checks",
    "metrics",
    "plots",
]

if TYPE_CHECKING:
    from discreet import checks, metrics, plots
    from discreet.advice import advise
    from discreet.device.client import Collector
    from discreet.device.ledger import Ledger
    from discreet.domains import Categories, Interval
    from discreet.drivers.files import estimate_file, privatize_file
    from discreet.drivers.frames import estimate_frame, privatize_frame
    from discreet.errors import DiscreetError, DomainError, MissingExtra, PrivacyError, WireError
    from discreet.mechanisms.base import Mechanism
    from discreet.mechanisms.families import Categorical, Numeric, Oracle
    from discreet.mechanisms.registry import mechanism, register
    from discreet.mechanisms.shapes.mixture import Mixture
    from discreet.mechanisms.shapes.table import Table
    from discreet.mechanisms.shapes.unary import Unary
    from discreet.mechanisms.shapes.window import Window
    from discreet.plans.answers import Answer
    from discreet.plans.base import Plan
    from discreet.plans.comparison import compare, compare_all
    from discreet.plans.cross_table import CrossTable
    from discreet.plans.distribution import Distribution
    from discreet.plans.frequency import Frequency
    from discreet.plans.groups import Groups
    from discreet.plans.mean import Mean, Means
    from discreet.plans.quantile import Quantile, Quantiles
    from discreet.plans.questionnaire import Choice, Number, Questionnaire, Ticks
    from discreet.plans.range_mean import RangeMean, RangeMeans
    from discreet.plans.simulate import simulate
    from discreet.plans.variance import Variance
    from discreet.plans.weights import raked, weighted
    from discreet.privacy.certificate import Certificate
    from discreet.privacy.entropy import Entropy
    from discreet.tallies import Tally
else:
    # The same imports, made on first use; tests/test_exports.py keeps the two in step.
    _HOMES = {
        "advice": ("advise",),
        "device.client": ("Collector",),
        "device.ledger": ("Ledger",),
        "domains": ("Categories", "Interval"),
        "drivers.files": ("estimate_file", "privatize_file"),
        "drivers.frames": ("estimate_frame", "privatize_frame"),
        "errors": ("DiscreetError", "DomainError", "MissingExtra", "PrivacyError", "WireError"),
        "mechanisms.base": ("Mechanism",),
        "mechanisms.families": ("Categorical", "Numeric", "Oracle"),
        "mechanisms.registry": ("mechanism", "register"),
        "mechanisms.shapes.mixture": ("Mixture",),
        "mechanisms.shapes.table": ("Table",),
        "mechanisms.shapes.unary": ("Unary",),
        "mechanisms.shapes.window": ("Window",),
        "plans.answers": ("Answer",),
        "plans.base": ("Plan",),
        "plans.comparison": ("compare", "compare_all"),
        "plans.cross_table": ("CrossTable",),
        "plans.distribution": ("Distribution",),
        "plans.frequency": ("Frequency",),
        "plans.groups": ("Groups",),
        "plans.mean": ("Mean", "Means"),
        "plans.quantile": ("Quantile", "Quantiles"),
        "plans.questionnaire": ("Choice", "Number", "Questionnaire", "Ticks"),
        "plans.range_mean": ("RangeMean", "RangeMeans"),
        "plans.simulate": ("simulate",),
        "plans.variance": ("Variance",),
        "plans.weights": ("raked", "weighted"),
        "privacy.certificate": ("Certificate",),
        "privacy.entropy": ("Entropy",),
        "tallies": ("Tally",),
    }
    _MODULES = ("checks", "metrics", "plots")
    _HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

    def __getattr__(name):
        if name in _HOME_OF:
            found = globals()[name] = getattr(import_module(f"discreet.{_HOME_OF[name]}"), name)
            return found
        if name in _MODULES:
            return import_module(f"discreet.{name}")
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})


def _solved_tables() -> "_memory.Store":
    from discreet.drivers.solved import SolvedTables

    return SolvedTables()


# Tables that were solved for are kept in files. The room that solves must not touch files, so it is told here.
_memory.keep_in(_solved_tables)
