"""Mechanisms: finite channels with an exact epsilon, in families, shapes and the papers' own constructors."""

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Categorical, Numeric, Oracle
from discreet.mechanisms.registry import entries, mechanism, register
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.unary import Unary
from discreet.mechanisms.shapes.window import Window

__all__ = [
    "Categorical",
    "Mechanism",
    "Mixture",
    "Numeric",
    "Oracle",
    "Table",
    "Unary",
    "Window",
    "entries",
    "mechanism",
    "register",
]
