"""The parent of Spark's Python workers in the tests.

It has loaded everything, which makes workers quick to start, and it has drawn noise before they are forked from it: the
case in which workers would share a stream, were it not keyed anew.
"""

import numpy as np
from pyspark.daemon import manager

import discreet as dc
import discreet.drivers.spark

MECHANISM = dc.mechanism("randomized-response", epsilon=1, size=4)

if __name__ == "__main__":
    assert discreet.drivers.spark
    MECHANISM.tally(MECHANISM.privatize(np.zeros(5000, dtype=np.int64)))
    manager()
