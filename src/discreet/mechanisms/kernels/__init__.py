"""Compiled samplers and counters; `discreet.compiling` says when they serve instead of their plain twins."""
