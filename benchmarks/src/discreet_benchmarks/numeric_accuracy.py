"""Accuracy of means and distributions: our default beside the usual default, our best beside the best of the others.

No peer library has means or distributions under local privacy. Means stand beside the closed forms of the mechanisms
that everybody uses; distributions beside the published methods, run as their papers set them.
"""

import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from discreet.arrays import Floats
from discreet.metrics import kolmogorov_smirnov, wasserstein
from discreet.plans.distribution.plan import METHODS, Distribution
from discreet.plans.mean.plan import Mean, best_mean_mechanism
from discreet.plans.simulate import simulate
from discreet_benchmarks.honesty.columns import Column
from discreet_benchmarks.rows import Row, Settings, Task
from discreet_papers.data import demo_column

PART = "accuracy"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = 10_000
AT_LEAST = 1.0
"""The ratio to the better peer that a default aims for."""
OURS = ("auto", "hybrid", "spline")
"""Methods for distributions that no paper has; all others are published ones."""
USUAL = "square-wave-ems"
"""What is recommended for distributions: Square Wave with EMS, as its paper sets it."""
JUDGED = 16
"""How many times as many runs the two defaults have: a ratio of theirs is good to 1.5 %."""
DISTANCES = {"W1": wasserstein, "KS": kolmogorov_smirnov}


def tasks(settings: Settings) -> dict[str, Task]:
    """Return the tasks: worst cases of means, means of a column, and one task per column of distributions."""
    found: dict[str, Task] = {"means": means, "means-of-wages": partial(means_of_wages, settings)}
    return found | {
        f"distributions-{name.replace(' ', '-')}": partial(distributions, settings, name)
        for name in list(COLUMNS)[: 2 if settings.quick else None]
    }


def usual_variances(epsilon: float, x: Floats | None = None) -> dict[str, float]:
    """Return the variance of one report of the usual mechanisms on [-1, 1]: the worst, or the mean over inputs.

    Examples
    --------
    >>> {name: round(variance, 4) for name, variance in usual_variances(1.0).items()}
    {'Laplace': 8.0, 'Duchi': 4.6827, 'piecewise': 5.2236, 'hybrid': 4.289}
    """
    c, h = math.exp(epsilon), math.exp(epsilon / 2)
    far = ((c + 1) / (c - 1)) ** 2
    least, most = (0.0, 1.0) if x is None else (float(np.mean(np.square(x))),) * 2
    return {
        "Laplace": 8 / epsilon**2,
        "Duchi": far - least,
        "piecewise": most / (h - 1) + (h + 3) / (3 * (h - 1) ** 2),
        # piecewise with probability 1 - e^(-epsilon/2), Duchi otherwise [Wang et al. 2019, section III]
        "hybrid": (h + 3) / (3 * h * (h - 1)) + far / h if epsilon > 0.61 else far - least,
    }


def usual_variance(epsilon: float) -> tuple[float, str]:
    """Return the least worst-case variance of Laplace, Duchi, piecewise and hybrid on [-1, 1], and whose it is.

    Examples
    --------
    >>> variance, name = usual_variance(1.0)
    >>> f"{variance:.4f}", name
    ('4.2890', 'hybrid')
    """
    forms = usual_variances(epsilon)
    name = min(forms, key=lambda form: forms[form])
    return forms[name], name


def means() -> list[Row]:
    """Compare exact worst-case variances of one report."""
    rows = []
    for epsilon in EPSILONS:
        chosen = best_mean_mechanism(epsilon)
        note = f"{chosen.name}, {chosen.certificate.bits} bits per report; exact, not simulated"
        others = {
            f"mean epsilon={epsilon:g}": usual_variance(epsilon),
            f"mean by default epsilon={epsilon:g}": (usual_variances(epsilon)["Laplace"], "Laplace"),
        }
        rows += [
            Row(
                PART, name, "accuracy", "worst-case variance", chosen.worst_case_variance,
                variance, f"{whose}, closed form", peer_target=AT_LEAST, note=note,
            )
            for name, (variance, whose) in others.items()
        ]  # fmt: skip
    return rows


def means_of_wages(settings: Settings) -> list[Row]:
    """Compare variances of one report on the demo wages: our best, two rounds included, beside the best usual one."""
    column, runs = demo("wages"), 60 if settings.quick else 300
    inputs = column.domain.encode(column.values).inputs
    spread = column.variance / (column.domain.width / 2) ** 2
    held = np.repeat(inputs, np.rint(column.shares * 1e5).astype(int))
    rows = []
    for epsilon in EPSILONS:
        single = float(column.shares @ best_mean_mechanism(epsilon).variance(inputs)) + spread
        plan, errors = Mean(column.domain, epsilon, rounds=2), []
        for run in range(runs):
            answer = simulate(plan, column.values, run, people=PEOPLE, weights=column.shares)
            errors.append((answer.value - column.mean) / (column.domain.width / 2))
        twice = float(np.mean(np.square(errors))) * PEOPLE
        best, name = min((single, "one round, exact"), (twice, f"two rounds, {runs} runs of {PEOPLE} people"))
        usual = {whose: variance + spread for whose, variance in usual_variances(epsilon, held).items()}
        whose = min(usual, key=lambda form: usual[form])
        rows.append(
            Row(
                PART, f"mean at best epsilon={epsilon:g}", "accuracy", "variance per person, demo wages", best,
                usual[whose], f"{whose}, closed form", note=name, details={"one_round": single, "two_rounds": twice},
            )
        )  # fmt: skip
    return rows


COLUMNS: dict[str, tuple[str, str, tuple[float, float]]] = {
    "wages": ("income_cps", "wage", (0, 200_000)),
    "ages": ("income_cps", "age", (0, 100)),
    "departures": ("flights_nyc13", "dep_minute", (0, 1440)),
}
"""File, array and domain of the demo data's columns by name."""


def demo(name: str) -> Column:
    """Return a column of the demo data."""
    file, array, ends = COLUMNS[name]
    return Column.of(name, "demo", "reporting", ends, ends, demo_column(file, array))


def distributions(settings: Settings, name: str) -> list[Row]:
    """Compare W1 and KS of histograms: our default beside EMS, our best beside the best of the published methods."""
    column, runs, epsilon = demo(name), 20 if settings.quick else 60, 1.0
    truth = column.histogram(Distribution(column.domain, epsilon).bins)
    found: dict[str, dict[str, float]] = {}
    for method in METHODS:
        plan = Distribution(column.domain, epsilon, method=method)
        made = _histograms(plan, column, JUDGED * runs if method in ("auto", USUAL) else runs)
        found[method] = {kind: float(np.mean([of(truth, f) for f in made])) for kind, of in DISTANCES.items()}
    rows = []
    for kind in DISTANCES:
        errors = {method: distances[kind] for method, distances in found.items()}
        details = {"people": PEOPLE, "epsilon": epsilon, "runs": runs, "judged_runs": JUDGED * runs, "errors": errors}
        ours = min((m for m in errors if m in OURS), key=lambda m: errors[m])
        theirs = min((m for m in errors if m not in OURS), key=lambda m: errors[m])
        for which, mine, peer, target, note in (
            ("by default", "auto", USUAL, AT_LEAST, "auto"),
            ("at best", ours, theirs, None, f"{ours}; both in hindsight"),
        ):
            rows.append(
                Row(
                    PART, f"distribution {kind} {which}, {name}", "accuracy", f"{kind} on the scale of [0, 1]",
                    errors[mine], errors[peer], peer, peer_target=target, note=note, details=details,
                )
            )  # fmt: skip
    return rows


def _histograms(plan: Distribution, column: Column, runs: int) -> Iterable[Floats]:
    """Return one histogram per run; tallies are drawn from their laws, and no interval is computed."""
    return [
        simulate(plan, column.values, run, people=PEOPLE, weights=column.shares).probabilities for run in range(runs)
    ]
