"""Compiled samplers; each has a plain twin beside its shape."""
