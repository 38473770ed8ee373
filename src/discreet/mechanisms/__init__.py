"""Mechanisms: the shapes (table, window, mixture, unary) and the papers' constructors, one file a family."""

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.mixture import Mixture
from discreet.mechanisms.registry import entries, mechanism, register
from discreet.mechanisms.table import Table
from discreet.mechanisms.unary import Unary
from discreet.mechanisms.window import Window

__all__ = ["Mechanism", "Mixture", "Table", "Unary", "Window", "entries", "mechanism", "register"]
