"""Drivers: the same plans over files, data frames, Spark, Dask and streams."""
