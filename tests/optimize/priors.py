"""Priors for the tests: the three distributions of AAA's section 7.1 on knots, and noisy estimates of them."""

import math

import numpy as np
from scipy import stats


def normal(scale):
    """Return distribution function, partial mean and second moment of N(0, scale^2) cut to [-1, 1]."""
    mass = 2 * stats.norm.cdf(1 / scale) - 1
    edge = stats.norm.pdf(1 / scale)
    second = scale**2 * (1 - 2 / scale * edge / mass)
    return (
        lambda x: (stats.norm.cdf(x / scale) - stats.norm.cdf(-1 / scale)) / mass,
        lambda x: -scale * (stats.norm.pdf(x / scale) - edge) / mass,
        second,
    )


def exponential(rate):
    """Return the same of an exponential from -1, cut at 1."""
    mass = 1 - math.exp(-2 * rate)

    def partial(x):
        u = x + 1
        return ((1 / rate - (u + 1 / rate) * np.exp(-rate * u)) - (1 - np.exp(-rate * u))) / mass

    first = 1 / rate - 2 * math.exp(-2 * rate) / mass
    second = 2 / rate**2 - (4 + 4 / rate) * math.exp(-2 * rate) / mass
    return lambda x: (1 - np.exp(-rate * (x + 1))) / mass, partial, second - 2 * first + 1


def arcsine():
    """Return the same of Beta(1/2, 1/2) on [-1, 1]."""
    return (
        lambda x: np.arcsin(np.clip(x, -1, 1)) / np.pi + 0.5,
        lambda x: -np.sqrt(np.maximum(0, 1 - x * x)) / np.pi,
        0.5,
    )


PRIORS = {"gauss01": normal(0.1), "gauss02": normal(0.2), "exp6": exponential(6.0), "beta55": arcsine()}


def rounded(name, cells):
    """Return knots, their masses under random rounding (AAA, eq. 6), and what the rounding adds to the variance."""
    distribution, partial, second = PRIORS[name]
    knots = np.linspace(-1, 1, cells + 1)
    mass, mean = np.diff(distribution(knots)), np.diff(partial(knots))
    up = (mean - knots[:-1] * mass) * cells / 2
    prior = np.zeros(cells + 1)
    prior[1:] += up
    prior[:-1] += mass - up
    prior = np.maximum(prior, 0) / prior.sum()
    return knots, prior, float(prior @ knots**2) - second


def noisy(generator, cells, epsilon, users):
    """Return what a server makes of generalised randomised response: unbiased, clipped at zero, normalised."""
    _, prior, _ = rounded(["gauss01", "gauss02", "exp6", "beta55"][generator.integers(4)], cells)
    channel = np.full((cells + 1, cells + 1), 1 / (cells + math.exp(epsilon)))
    np.fill_diagonal(channel, math.exp(epsilon) / (cells + math.exp(epsilon)))
    reports = generator.multinomial(users, prior @ channel)
    estimate = np.maximum(np.linalg.solve(channel, reports / users), 0)
    return estimate / estimate.sum()
