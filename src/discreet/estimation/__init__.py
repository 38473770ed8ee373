"""Estimation: from tallies to distributions, through nothing but ``A @ f`` and ``A.T @ g``.

Mathematics on arrays. Nothing here loads numba or scipy until it is needed.

* `em`, `two_phase`: expectation maximisation, with and without smoothing, jointly or in two phases; `plain` and
  `kernels` hold its loops in numpy and compiled.
* `simplex`, `shrinkage`, `tree`: from noisy frequencies to a distribution, flat and in hierarchies.
* `density`, `explanations`: log-densities that explain the reports, smooth, rough or heaped, and their average.
* `shapes`: a distribution from few reports.
* `functionals`, `within`, `intervals`, `uncertainty`: what is read off a histogram, with intervals.
* `cumulative`, `stairs`: the share of people at most x from a few thresholds, smooth or as people round.
* `watched`: intervals that hold however often somebody looks while reports come in.
* `fit`, `tails`: whether honest people could have sent the reports.
* `resampling`: the random generator for all of it.
"""
