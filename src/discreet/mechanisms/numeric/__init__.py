"""Mechanisms for numbers in [-1, 1], one file per mechanism or family."""
