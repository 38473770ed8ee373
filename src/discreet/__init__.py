"""discreet: ask everyone, learn about no one.

Statistics of sensitive numbers and categories under local differential privacy. Start with `Mean`, `simulate` and
`mechanism`; everything is imported on first use.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Categories": "domains",
    "Certificate": "privacy.certificate",
    "DiscreetError": "errors",
    "Distribution": "plans.distribution",
    "DomainError": "errors",
    "Entropy": "privacy.entropy",
    "Estimate": "plans.base",
    "Frequency": "plans.frequency",
    "Interval": "domains",
    "Mean": "plans.mean",
    "Means": "plans.mean",
    "Mechanism": "mechanisms.base",
    "Mixture": "mechanisms.shapes.mixture",
    "Plan": "plans.base",
    "PrivacyError": "errors",
    "RangeMean": "plans.range_mean",
    "RangeMeans": "plans.range_mean",
    "Table": "mechanisms.shapes.table",
    "Tally": "tallies",
    "Unary": "mechanisms.shapes.unary",
    "Variance": "plans.variance",
    "Window": "mechanisms.shapes.window",
    "WireError": "errors",
    "advise": "advice",
    "estimate_frame": "drivers.files",
    "mechanism": "mechanisms.registry",
    "privatize_frame": "drivers.files",
    "register": "mechanisms.registry",
    "simulate": "plans.simulate",
}
_MODULES = ("checks", "metrics", "plots")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module = import_module(f"discreet.{_HOMES[name]}")
        if name == "mechanism" or name == "Mechanism":
            import_module("discreet.mechanisms")  # all shapes, so that from_json knows every kind
        return getattr(module, name)
    if name in _MODULES:
        return import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
