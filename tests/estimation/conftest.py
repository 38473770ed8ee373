"""One thread per test worker: BLAS threads that wait for each other on shared cores are many times slower."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
