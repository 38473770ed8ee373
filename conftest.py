"""Modules whose examples cannot be collected here: they need an extra that has an environment of its own."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("flwr") else ["src/discreet/federated/flower.py"]
