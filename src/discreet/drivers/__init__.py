"""Drivers: run a plan over files, frames, Spark and streams."""
