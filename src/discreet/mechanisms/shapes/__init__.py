"""Shapes: the few finite channels that every mechanism is made of."""
