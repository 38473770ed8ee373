"""EM through structured channels, compiled by numba: `products` with a channel, and the `loops` around them.

Imported only inside functions, so that nobody pays for numba who does not need it. `plain` holds the twins in numpy.

Why it is fast:

* A prefix sum waits 3-4 cycles for each addition. It is cut into eight stretches whose sums are computed first (a
  vector reduction), so that eight additions are under way at once.
* EM is invariant to the scale of f, and maps any f to one that sums to the sum of the counts (and of a Dirichlet prior,
  if there is one). With shares instead of counts nothing needs to be normalised, and nothing drifts.
* The paper's stopping rule needs L(t+1) - L(t) = Σ n_j ln(y_j / y'_j). With z = (y - y') / (y + y') the logarithm is
  2 artanh z, a short odd polynomial that runs in vector registers and shares its division with n_j / y_j. It is more
  exact than the difference of two sums of logarithms. Where z is not small, logarithms are taken.
* A window profile of straight pieces has second differences only at its few bends: its product is the prefix sum of a
  few shifted prefix sums.
"""
