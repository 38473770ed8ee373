"""Mechanisms for categories 0..size-1, one file per mechanism or family."""
