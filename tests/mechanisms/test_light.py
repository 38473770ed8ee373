"""Small batches load neither numba nor scipy: certificates, reports, tallies, means and frequencies need numpy only."""

import subprocess
import sys

CODE = """
import sys
import numpy as np
import discreet as dc
from discreet.mechanisms.registry import entries

given = {"size": 20, "sizes": [2, 2, 5], "options": 5, "most": 2}
for entry in entries().values():
    if not set(entry.needs) <= set(given):
        continue
    m = entry.build(1.0, **{need: given[need] for need in entry.needs})
    x = np.linspace(-1, 1, 100) if isinstance(m, dc.Numeric) else np.arange(100) % 20
    tally = m.tally(m.privatize(x))
    singles = m.tally(np.array([m.one(v) for v in x.tolist()]))
    assert singles.n == tally.n
    if isinstance(m, dc.Oracle):
        m.support_counts(tally)
    assert m.certificate.holds and dc.Mechanism.from_json(m.to_json()) == m
dc.simulate(dc.Mean(dc.Interval(0, 1), 1), np.full(1000, 0.5), seed=1)
dc.simulate(dc.Frequency(dc.Categories("a b c".split()), 1), ["a", "b"] * 500, seed=1)
print(sorted({"numba", "scipy"} & set(sys.modules)))
"""


def test_the_core_loads_neither_numba_nor_scipy() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
