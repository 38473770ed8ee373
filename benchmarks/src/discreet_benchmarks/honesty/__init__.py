"""Do the answers' intervals hold what they promise? Coverage, width and error of every plan, on columns that are known.

`python -m discreet_benchmarks.honesty` measures a few cells and prints them; `discreet bench honesty` runs the standing
suite and writes its page.
"""

from discreet_benchmarks.honesty.cells import Cell, cells, measure

__all__ = ["Cell", "cells", "measure"]
