"""Mechanisms: the shapes (table, window, mixture, unary) and the papers' constructors, one file a family."""

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import entries, mechanism, register
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.unary import Unary
from discreet.mechanisms.shapes.window import Window

__all__ = ["Mechanism", "Mixture", "Table", "Unary", "Window", "entries", "mechanism", "register"]
