"""Linear programmes over mechanisms: adaptive additive noise (AAA) and minimax, solved fast and made exact.

Arrays of floats in, exact tables of whole weights out.

* `programme`: the mechanism of least expected variance under a prior (AAA).
* `minimax`: the mechanism of least worst-case variance; `alphabet` chooses its output values.
* `interior`, `newton`: the interior-point method that solves both; `kernels` and `plain` do its elementwise work.
* `pricing`: bounds that no mechanism can beat.
* `repair`: from a solver's floating-point answer to a table that is exactly private and unbiased.
* `tables`: minimax tables that come with the package; `memory` keeps the others that were solved.
* `reference`: the same programme solved by HiGHS, for comparison.
"""
