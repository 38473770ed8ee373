"""Estimation: from tallies to distributions, through nothing but ``A @ f`` and ``A.T @ g``.

Pure mathematics on arrays; knows neither mechanisms nor plans. Nothing here loads numba or scipy until it is needed.

* `band`: the channel of a window in O(d), stacked channels, and which operators are such.
* `em`, `two_phase`: expectation maximisation, plain, smoothed, joint, and in two phases.
* `simplex`, `tree`: from noisy frequencies to distributions, flat and in hierarchies.
* `spline`, `hybrid`: densities whose smoothness the reports choose, without and with spikes.
* `functionals`, `intervals`: what is read off a histogram, and how sure one may be of it.
"""
