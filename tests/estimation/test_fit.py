import numpy as np
import pytest
from scipy.stats import chi2, norm

import discreet as dc
from discreet.estimation.fit import SIGNIFICANCE, goodness_of_fit
from discreet.estimation.tails import chi_square_tail, normal_tail


@pytest.mark.parametrize("degrees", [1, 2, 5, 47, 255, 5000, 65535])
def test_chi_square_tail_is_that_of_scipy(degrees: int) -> None:
    for p in (1e-200, 1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999999):
        statistic = float(chi2.isf(p, degrees))
        assert chi_square_tail(statistic, degrees) == pytest.approx(chi2.sf(statistic, degrees), rel=1e-9)
    assert chi_square_tail(0.0, degrees) == 1.0


def test_normal_tail_is_that_of_scipy() -> None:
    z = np.linspace(-5, 30, 36)
    np.testing.assert_allclose([normal_tail(float(x)) for x in z], norm.sf(z), rtol=1e-12)


@pytest.mark.parametrize("name", ["square-wave", "hybrid-np", "duchi"])
def test_numeric_reports(name: str) -> None:
    m = dc.mechanism(name, epsilon=1)
    honest = m.tally(m.privatize(np.random.default_rng(1).uniform(-1, 1, 20_000), dc.Entropy.seeded(1)))
    assert not goodness_of_fit(m, honest).alarm
    if m.alphabet > 2:  # two reports in any proportion can be honest, within their odds
        lies = m.tally(np.tile([0, m.alphabet // 3], 10_000))
        found = goodness_of_fit(m, lies)
        assert found.alarm
        assert found.to_dict()["p_value"] < SIGNIFICANCE


@pytest.mark.parametrize("name", ["optimized-unary", "local-hashing"])
def test_support_counts(name: str) -> None:
    m = dc.mechanism(name, epsilon=1, size=12)
    values = np.random.default_rng(1).integers(0, 12, 20_000)
    honest = m.tally(m.privatize(values, dc.Entropy.seeded(1)))
    assert not goodness_of_fit(m, honest).alarm
    same = m.tally(m.privatize([3], dc.Entropy.seeded(1)))
    for _ in range(10):
        same = same + same
    assert goodness_of_fit(m, same).alarm


def test_too_few_reports_are_not_tested() -> None:
    m = dc.mechanism("randomized-response", epsilon=1, size=3)
    found = goodness_of_fit(m, m.tally([0] * 29))
    assert (found.test, found.p_value, found.alarm) == ("none", None, False)
    assert "fewer than 30" in found.reason
