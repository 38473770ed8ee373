"""pyarrow, which every driver of tables moves its batches with; or one sentence that says how to install it."""

from discreet.extras import require

_PURPOSE = "Working on files, data frames and streams"

pa = require("pyarrow", "dataframes", _PURPOSE)
compute = require("pyarrow.compute", "dataframes", _PURPOSE)
csv = require("pyarrow.csv", "dataframes", _PURPOSE)
ipc = require("pyarrow.ipc", "dataframes", _PURPOSE)
parquet = require("pyarrow.parquet", "dataframes", _PURPOSE)
