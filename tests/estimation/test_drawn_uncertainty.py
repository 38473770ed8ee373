"""Intervals from drawn errors: they hold the truth, and are about as wide as the errors are."""

import itertools

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.functionals import Cdf, Range, RangeMean
from discreet.estimation.uncertainty import extremes
from discreet.estimation.within import Within
from discreet.plans.distribution.designs import oracle_errors
from discreet.plans.frequency import best_oracle

DOMAIN = dc.Interval(0, 100)
EVEN = (np.arange(1024) + 0.5) / 1024 * 100
EVEN_SHARES = np.full(1024, 1 / 1024)
BELL = EVEN**4 * (100 - EVEN) / (EVEN**4 * (100 - EVEN)).sum()
MOSTLY_ZERO = 0.4 * EVEN_SHARES + 0.6 * (np.arange(1024) == 0)
"""Six of ten people hold the first value, which lies in the first bucket."""


def surveys(method, shares, runs, values=EVEN, bins=64, epsilon=1.0):
    plan = dc.Distribution(DOMAIN, epsilon=epsilon, bins=bins, method=method)
    return [dc.simulate(plan, values, seed, people=5000, weights=shares) for seed in range(runs)]


@pytest.mark.parametrize("method", ["hh", "haar-hrr", "hh-admm"])
def test_quantiles_of_hierarchies_are_as_wide_as_their_errors(method) -> None:
    """An interval from the first crossing of a noisy curve to its last is half as wide again, and never misses."""
    answers = surveys(method, BELL, 40, bins=256)
    for q in (0.25, 0.5, 0.75):
        truth = EVEN[np.searchsorted(np.cumsum(BELL), q)]
        numbers = [answer.quantile(q) for answer in answers]
        low, high = np.array([number.interval for number in numbers]).T
        off = np.array([number.value for number in numbers]) - truth
        error = np.sqrt(np.square(off).mean())
        assert ((low <= truth) & (truth <= high)).mean() > 0.87
        assert 0.75 < (high - low).mean() / (3.92 * error) < 1.45
        assert method == "hh-admm" or abs(off.mean()) < 0.6 * error


@pytest.mark.parametrize("shares", [EVEN_SHARES, MOSTLY_ZERO], ids=["even", "mostly zero"])
def test_the_mean_of_coarse_buckets_has_the_exact_width(shares) -> None:
    """The frequencies' errors are not independent: together they are always one, and reports support them together."""
    answers = surveys("binning", shares, 12)
    oracle = answers[0].asked.oracle("all")
    cells = shares.reshape(oracle.size, -1).sum(axis=1)
    centres = 100 * (np.arange(oracle.size) + 0.5) / oracle.size
    centred = centres - centres.mean()  # what all frequencies have too much is known, and removed
    error = np.sqrt(centred @ oracle.frequency_covariance(cells, 5000) @ centred)
    assert np.mean([answer.mean.details["standard_error"] for answer in answers]) == pytest.approx(error, rel=0.06)
    assert np.mean([np.diff(answer.mean.interval) for answer in answers]) == pytest.approx(3.92 * error, rel=0.15)


@pytest.mark.parametrize("method", ["binning", "hh", "haar-hrr", "hh-admm"])
def test_a_heap_in_the_bucket_where_a_share_ends_is_held(method) -> None:
    answers = surveys(method, MOSTLY_ZERO, 40, EVEN - EVEN[0])
    low, high = np.array([answer.cdf(0.0).interval for answer in answers]).T
    truth = MOSTLY_ZERO[0]
    assert ((low <= truth) & (truth <= high)).mean() > 0.84
    assert (high < 0.9).mean() > 0.8


@pytest.mark.parametrize("size", [16, 32, 64])
def test_drawn_errors_have_the_covariance_of_the_oracle(size) -> None:
    oracle = best_oracle(1.0, size)[0]
    f = np.full(size, 0.4 / size) + 0.6 * (np.arange(size) == 0)
    drawn = oracle_errors(oracle, 3000, f, 20_000, 1)
    exact = oracle.frequency_covariance(f, 3000)
    for weights in (np.arange(size), np.arange(size) < size // 2, np.arange(size) == 0):
        assert (drawn @ weights).std() == pytest.approx(np.sqrt(weights @ exact @ weights), rel=0.03)
    assert np.abs(drawn.mean(axis=0)).max() < 4.5 * np.sqrt(np.diag(exact).max() / 20_000)


PLACES = [0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.9, 1.0]


@pytest.mark.parametrize("functional", [
    *(Cdf(x) for x in PLACES),
    *(Range(a, b) for a, b in itertools.combinations(PLACES, 2)),
    *(RangeMean(a, b) for a, b in itertools.combinations(PLACES, 2)),
], ids=str)  # fmt: skip
def test_extremes_are_the_least_and_the_most_wherever_the_mass_lies(functional) -> None:
    """The mass of the buckets that an end of the range cuts may lie anywhere in them; in the others it is even."""
    size, f, random = 4, np.array([0.3, 0.2, 0.1, 0.4]), np.random.default_rng(1)
    least, most = (functional(f, law) for law in extremes(functional, size))
    low, high = (0.0, functional.x) if isinstance(functional, Cdf) else (functional.low, functional.high)
    lower, upper = int(size * low), min(int(size * high), size - 1)
    is_cut = {lower: low * size > lower, upper: high < 1}
    if lower == upper:
        is_cut[upper] = high < 1 or low * size > lower or isinstance(functional, RangeMean)
    buckets = np.array(sorted(bucket for bucket, cut in is_cut.items() if cut), np.int64)
    held = []
    for _ in range(300):
        places = (buckets + random.choice([0.0, *random.uniform(size=6), 1 - 1e-6], buckets.size)) / size
        for i, bucket in enumerate(buckets):
            close = [end + step for end in (low, high) for step in (0.0, -1e-6) if int(size * (end + step)) == bucket]
            if close and random.uniform() < 0.5:
                places[i] = random.choice(close)
        law = Within(size, places, buckets, np.ones(buckets.size))
        if isinstance(functional, Cdf) or f @ law.inside(low, high)[0] > 0:
            held.append(functional(f, law))
        else:
            assert isinstance(functional, RangeMean) or least == 0
    assert least <= min(held) + 1e-5
    assert max(held) <= most + 1e-5
    if not isinstance(functional, RangeMean):
        assert (min([*held, least]), max(held)) == pytest.approx((least, most), abs=1e-5)
