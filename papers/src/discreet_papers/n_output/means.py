"""Means in the N-output paper's settings (Figure 3): the error of one attribute of many, exact given the people.

A share k / dim of the n people is asked for this attribute, with epsilon / k each. With m = n k / dim reporters chosen
at random and mean noise variance v, the mean of the reports has

    MSE = (v + (1 - k/dim) Var X) / m,

where the last term accounts for the random choice of reporters. One-round mechanisms are not simulated. For AAA and
NP-AAA, v comes from `aaa.accuracy` and is exact given the first round's reports, which are drawn.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.plans.mean.adaptive import Adaptive
from discreet_papers import data
from discreet_papers.aaa import accuracy
from discreet_papers.job import Cell, Job, seed_of

EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0)
ONE_ROUND = {
    "Duchi": "duchi",
    "three-output": "three-output",
    "N-output": "n-output",
    "PM-sub": "piecewise-sub",
    "HM-TP": "hybrid-tp",
    "HM-NP": "hybrid-np",
    "minimax": "minimax",
}
"""The paper's one-round mechanisms, and our mechanism of least worst-case variance."""
SAMPLED = ("three-output", "PM-sub", "HM-TP")
"""The mechanisms for which the paper uses equation 3 and so k > 1; the others have k = 1."""
ADAPTIVE = ("AAA", "NP-AAA")
BETA = (3.0, 2.0)


@dataclass(frozen=True)
class Attribute:
    """A column on [-1, 1] with the paper's number of people and of dimensions."""

    name: str
    paper: str
    x: Floats
    n: int
    dimensions: int

    @property
    def reporters(self) -> int:
        """Number of people asked for this attribute if each person answers one."""
        return round(self.n / self.dimensions)

    def people(self, seed: int) -> Floats:
        """Return the reporters' values: drawn from the column."""
        return np.asarray(np.random.default_rng(seed).choice(self.x, self.reporters))


def attributes(job: Job) -> list[Attribute]:
    """Return Beta(3, 2) and the columns in place of NYtaxi and Voltage."""
    points = (np.arange(accuracy.POINTS) + 0.5) / accuracy.POINTS
    from scipy.special import betaincinv

    beta = Attribute("Beta(3, 2)", "Beta", 2 * betaincinv(*BETA, points) - 1, 1_000_000, 10)
    times, volts = data.time_and_voltage(job.data)
    sizes = (("NYtaxi", 3_066_766, 19, times), ("Voltage", 1_044_506, 9, volts))
    return [beta] + [
        Attribute(one.name, paper, np.clip(2 * (one.values - one.low) / (one.high - one.low) - 1, -1, 1), n, dimensions)
        for paper, n, dimensions, one in sizes
    ]


def answers(epsilon: float, dimensions: int) -> int:
    """Return k of equation 3.

    Examples
    --------
    >>> [answers(epsilon, 10) for epsilon in (1.0, 4.9, 5.0, 100.0)]
    [1, 1, 2, 10]
    """
    return max(1, min(dimensions, math.floor(epsilon / 2.5)))


def error(attribute: Attribute, variance: float, k: int = 1) -> float:
    """Return the root mean squared error of the mean."""
    share = k / attribute.dimensions
    return math.sqrt((variance + (1 - share) * float(attribute.x.var())) / (attribute.n * share))


def means_cell(attribute: Attribute, epsilon: float, runs: int) -> Cell:
    """Return the errors of all mechanisms on one attribute, with the paper's k and with k = 1."""
    k = answers(epsilon, attribute.dimensions)
    found: dict[str, float] = {}
    single: dict[str, float] = {}
    for label, name in ONE_ROUND.items():
        single[label] = error(attribute, float(accuracy.one_round(name, epsilon).variance(attribute.x).mean()))
        found[label] = single[label]
        if label in SAMPLED and k > 1:
            found[label] = error(
                attribute, float(accuracy.one_round(name, epsilon / k).variance(attribute.x).mean()), k
            )
    published, ours = [], []
    plan = Adaptive(accuracy.UNIT, epsilon, pilot="hybrid-np", share=0.1)
    for run in range(runs):
        seed = seed_of("means", attribute.name, epsilon, run)
        x = attribute.people(seed)
        published.append(accuracy.as_published(x, epsilon, seed, cells=16, q=4.0))
        ours.append(accuracy.ours(plan, x, seed)[0])
    for label, n_mse in zip(ADAPTIVE, (published, ours), strict=True):
        single[label] = found[label] = error(attribute, float(np.mean(n_mse)))
    return {"attribute": attribute.name, "paper": attribute.paper, "epsilon": epsilon, "k": k} | {
        "rmse": found,
        "rmse_at_k_1": single,
    }
