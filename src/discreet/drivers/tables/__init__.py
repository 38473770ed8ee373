"""Tables: the engine that files, data frames, Spark, Dask and streams share.

`Collection` says what is asked of which column, `Stage` turns a batch of values into a batch of reports, `Reports` says
what a table of reports holds and counts a batch of it, `merge` adds the counts. Batches are Arrow record batches.
"""

from discreet.drivers.tables.cells import Cell, Tallies, merge
from discreet.drivers.tables.collection import Budget, Collection
from discreet.drivers.tables.counted import Counted
from discreet.drivers.tables.reports import Reports
from discreet.drivers.tables.stage import Stage

__all__ = ["Budget", "Cell", "Collection", "Counted", "Reports", "Stage", "Tallies", "merge"]
