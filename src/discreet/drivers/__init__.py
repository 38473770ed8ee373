"""Drivers: the same plans over files, data frames, Spark, Dask and streams. All of them move Arrow record batches."""

from discreet.extras import require

require("pyarrow", "dataframes", "Working on files, data frames and streams")
