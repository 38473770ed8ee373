"""The N-output mechanism: Tables 1 and 2, the thresholds of Figure 2, and the text's claims about HM-NP.

Everything in this module is exact: closed forms of the continuous mechanisms, and the mechanisms of the registry for
worst cases of the actual mechanism. ``corrected`` means our choice of p0 for odd N; otherwise it is the paper's
equation 12 (Algorithm 2 with line 8 the right way round). Figures 3, 4 and 5 are in `means`, `distributions` and
`federated`.
"""

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.mechanisms.numeric.hybrid_np import hybrid_np_share, hybrid_np_worst_case
from discreet.mechanisms.numeric.n_output import best_layout
from discreet.mechanisms.numeric.output_layouts import OutputLayout, layout, levelled, theorem_4
from discreet.mechanisms.numeric.piecewise import best_zeta, piecewise_variance
from discreet.mechanisms.registry import mechanism
from discreet_papers.job import Cell, Job
from discreet_papers.mechanisms import numeric
from discreet_papers.n_output import distributions, means
from discreet_papers.n_output.federated import study as federated

PRINTED_TABLE_1 = (0.69, 2.56)
PRINTED_TABLE_2 = (0.69, 2.54, 5.41, 7.8, 10.0, 12.1, 14.26, 16.35)
PRINTED_FIGURE_2 = ((0.0, 3.5), (3.7, 4.15))
PRINTED_BITS = {"HM-TP": 28.12, "HM-NP": 23.0}
FLOAT_BITS = 32
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
VARIANCES = {
    "Duchi": "duchi",
    "three-output": "three-output",
    "PM": "piecewise",
    "PM-sub": "piecewise-sub",
    "PM-opt": "piecewise-opt",
    "HM": "hybrid",
    "HM-TP": "hybrid-tp",
    "N-output": "n-output",
    "HM-NP": "hybrid-np",
    "minimax": "minimax",
}
"""Columns of the table of worst-case variances; `minimax` is the limit."""
STAND_INS = (
    "Beta(3, 2) is the paper's. Yellow taxi pickup times (a sample of other months) and hourly mean voltages take the "
    "place of NYtaxi and Voltage, with the paper's numbers of people and dimensions; they are not part of the "
    "repository (papers/README.md says how to get them)."
)
VENDORED = (
    "Beta(3, 2) is the paper's. The papers' files were not found: departures and ages of discreet's demo data take the "
    "place of NYtaxi and Voltage, with the paper's numbers of people and dimensions."
)


def pm_sub(epsilon: float) -> float:
    """Return PM-sub's worst-case variance."""
    return sum(piecewise_variance(epsilon, math.exp(epsilon / 3)))


def pm_opt(epsilon: float) -> float:
    """Return PM-opt's worst-case variance."""
    return sum(piecewise_variance(epsilon, best_zeta(epsilon)))


def of_outputs(epsilon: float, outputs: int, corrected: bool) -> float:
    """Return the worst case with N outputs; infinite where N is too large to be useful."""
    found = layout(epsilon, outputs, corrected)
    return math.inf if found is None else found.worst_case


@functools.lru_cache(maxsize=200_000)
def n_output(epsilon: float, corrected: bool) -> float:
    """Return the worst case with the best N."""
    return best_layout(epsilon, corrected, lambda found: found.worst_case).worst_case


@functools.lru_cache(maxsize=100_000)
def hm_np(epsilon: float) -> float:
    """Return HM-NP's worst case, as published, with the best N for the hybrid."""
    return hybrid_np_worst_case(best_layout(epsilon, False, hybrid_np_worst_case))


def crossing(difference: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function changes its sign, by bisection.

    Examples
    --------
    >>> round(crossing(lambda x: x * x - 2, 0, 2), 6)
    1.414214
    """
    left = difference(low) > 0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if (difference(middle) > 0) == left else (low, middle)
    return (low + high) / 2


def run(job: Job) -> dict[str, Any]:
    """Run the study."""
    step = 0.02 if job.quick else 0.005
    tasks: dict[str, Callable[[], Cell]] = {
        "table 1": table_1,
        "worst cases": worst_cases,
        "hybrids": hybrids,
        "algorithm 2": partial(algorithm_2, 5.0),
        "limits": limits,
    }
    for corrected in (False, True):
        kind = "corrected" if corrected else "published"
        for bits in range(1, 5 if job.quick or corrected else 9):  # beyond this, the correction changes nothing
            tasks[f"table 2 {kind} {bits}"] = partial(table_2, bits, corrected)
        tasks[f"figure 2 {kind}"] = partial(figure_2, corrected, step * (2 if corrected else 1))
    columns = means.attributes(job)
    pilots, runs = (2, 5) if job.quick else (4, 40)
    for column in columns:
        for epsilon in means.EPSILONS:
            tasks[f"mean {column.name} {epsilon:g}"] = partial(means.means_cell, column, epsilon, pilots)
            tasks[f"distribution {column.name} {epsilon:g}"] = partial(
                distributions.distributions_cell, column, epsilon, runs
            )
    settings = {"study": "n-output 2", "quick": job.quick, "columns": [[c.name, c.x.size] for c in columns]}
    cells = job.cells(tasks, settings)
    kinds = ("published", "corrected")
    result: dict[str, Any] = {
        **job.head("n-output"),
        "repeats": {"pilots": pilots, "distributions": runs},
        "data": {
            "note": STAND_INS if any("taxi" in column.name for column in columns) else VENDORED,
            "columns": [
                {"name": c.name, "stands for": c.paper, "n": c.n, "dimensions": c.dimensions, "reporters": c.reporters}
                for c in columns
            ],
        },
        "table_1": cells["table 1"],
        "table_2": {
            kind: [cell for name, cell in cells.items() if name.startswith(f"table 2 {kind}")] for kind in kinds
        },
        "figure_2": {kind: cells[f"figure 2 {kind}"] for kind in kinds},
        "worst_cases": cells["worst cases"]["rows"],
        "hybrids": cells["hybrids"],
        "algorithm_2": cells["algorithm 2"],
        "limits": cells["limits"]["rows"],
        "means": [cell for name, cell in cells.items() if name.startswith("mean ")],
        "distributions": [cell for name, cell in cells.items() if name.startswith("distribution ")],
        "figure_5": federated.run_figure(job),
    }
    from discreet_papers.n_output.claims import claims

    result["claims"] = claims(result)
    return result


# -- cells ------------------------------------------------------------------------------------------------


def table_1() -> Cell:
    """Return the epsilons where the best mechanism changes: Duchi, three-output, PM-sub (or PM-opt)."""
    three = partial(of_outputs, outputs=3, corrected=False)
    return {
        "printed": list(PRINTED_TABLE_1),
        "duchi_to_three_output": crossing(lambda e: 2 - math.exp(e), 0.5, 0.9),  # p0 > 0 from ln 2 on
        "duchi_minus_three_output_at_0.75": of_outputs(0.75, 2, False) - three(0.75),
        "three_output_to_pm_sub": crossing(lambda e: three(e) - pm_sub(e), 2.0, 3.0),
        "three_output_to_pm_opt": crossing(lambda e: three(e) - pm_opt(e), 2.0, 3.0),
    }


def _best_near(epsilon: float, around: int, corrected: bool) -> int:
    """Return the best N among those near a given one."""
    candidates = range(max(2, around - 5), around + 6)
    return min(candidates, key=lambda outputs: of_outputs(epsilon, outputs, corrected))


def table_2(bits: int, corrected: bool) -> Cell:
    """Return the epsilon up to which a number of bits suffices: the best N is at most 2^bits, or less than that.

    The first is what log2 N, rounded up, requires; the second is what the paper prints.
    """
    most = 2**bits
    guess = PRINTED_TABLE_2[bits - 1]
    low, high = max(0.3, guess - 1.2), guess + 1.4

    def until(limit: int) -> float:
        return crossing(lambda e: limit + 0.5 - _best_near(e, limit, corrected), low, high)

    # With two outputs the best N goes from 2 to 3 at ln 2, where three-output's p0 leaves 0.
    enough = math.log(2) if bits == 1 else until(most)
    return {
        "bits": bits,
        "printed": guess,
        "until_more_than": enough,
        "until_as_many_as": None if bits == 1 else until(most - 1),
    }


def figure_2(corrected: bool, step: float) -> Cell:
    """Return the curve PM-sub / N-output - 1 in per cent, where it is positive, and its least value up to 8."""
    grid = np.arange(step, 8 + step / 2, step)
    cell: Cell = {"epsilon": grid[:: max(1, round(0.02 / step))].round(6).tolist()}
    for name, rival in (("pm_sub", pm_sub), ("pm_opt", pm_opt)):

        def gain(epsilon: float, rival: Callable[[float], float] = rival) -> float:
            return 100 * (rival(epsilon) / n_output(epsilon, corrected) - 1)

        curve = np.array([gain(float(e)) for e in grid])
        turns = np.flatnonzero((curve[1:] > 0) != (curve[:-1] > 0))
        ends = [crossing(gain, float(grid[i]), float(grid[i + 1])) for i in turns]
        starts_above = bool(curve[0] > 0)
        marks = ([0.0] if starts_above else []) + ends + ([8.0] if len(ends) % 2 == (0 if starts_above else 1) else [])
        least = int(curve.argmin())
        cell[name] = {
            "curve": curve[:: max(1, round(0.02 / step))].round(4).tolist(),
            "better": [[marks[i], marks[i + 1]] for i in range(0, len(marks) - 1, 2)],
            "least": float(curve[least]),
            "least_at": round(float(grid[least]), 6),
        }
    return cell


def worst_cases() -> Cell:
    """Return the exact worst-case variance of the actual mechanism."""
    rows = []
    for epsilon in EPSILONS:
        built = {label: numeric(name, epsilon) for label, name in VARIANCES.items()}
        rows.append(
            {
                "epsilon": epsilon,
                "variance": {label: m.worst_case_variance for label, m in built.items()},
                "bits": {label: m.average_bits for label, m in built.items()},
                "minimax_3_bits": mechanism("minimax", epsilon, outputs=8).worst_case_variance,
            }
        )
    return {"rows": rows}


def hybrids() -> Cell:
    """Return where HM-NP equals Duchi's hybrid or HM-TP, where PM-opt beats it, and its bits at epsilon = 4."""

    def best(epsilon: float) -> int:
        return best_layout(epsilon, False, hybrid_np_worst_case).outputs

    def three(epsilon: float) -> OutputLayout:
        found = layout(epsilon, 3, False)
        assert found is not None
        return found

    four = best_layout(4.0, False, hybrid_np_worst_case)
    shares = {"HM-TP": (hybrid_np_share(three(4.0)), 3), "HM-NP": (hybrid_np_share(four), four.outputs)}
    bits = {
        name: {
            "printed": PRINTED_BITS[name],
            "share": share,
            "outputs": outputs,
            "bits": share * math.ceil(math.log2(outputs)) + (1 - share) * FLOAT_BITS,
        }
        for name, (share, outputs) in shares.items()
    }
    grid = np.arange(3.8, 8.01, 0.1)
    gains = [100 * (hybrid_np_worst_case(three(float(e))) / hm_np(float(e)) - 1) for e in grid]
    return {
        "hm_tp_from": crossing(lambda e: 2.5 - best(e), 1.0, 3.0),
        "hm_tp_until": crossing(lambda e: 3.5 - best(e), 3.0, 4.0),
        "pm_opt_from": crossing(lambda e: hm_np(e) - pm_opt(e), 6.0, 7.0),
        "pm_opt_gain_at_8": 100 * (hm_np(8.0) / pm_opt(8.0) - 1),
        "largest_gain_over_hm_tp": max(gains),
        "bits_at_4": bits,
    }


def algorithm_2(epsilon: float) -> Cell:
    """Return what Algorithm 2 gives with its line 8 as printed: the chosen N, its claimed and its true worst case."""
    c = math.exp(epsilon)
    chosen: list[tuple[float, OutputLayout]] = []
    for outputs in range(4, 64):
        p0 = 1 / (c + outputs - 1) if outputs % 2 else 0.0
        first = OutputLayout(epsilon, outputs, p0, theorem_4(epsilon, outputs, p0))
        if not _rises(first.positive):
            break
        if _last_peak(first) < _first_peak(first):
            found = layout(epsilon, outputs, False) if outputs % 2 else first
        else:
            positions = levelled(epsilon, outputs, p0)
            found = OutputLayout(epsilon, outputs, p0, positions) if _rises(positions) else None
        if found is not None:
            chosen.append((_last_peak(found), found))
    claimed, found = min(chosen, key=lambda item: item[0])
    right = best_layout(epsilon, False, lambda one: one.worst_case)
    return {
        "epsilon": epsilon,
        "literal_outputs": found.outputs,
        "literal_claimed": claimed,
        "literal_true": found.worst_case,
        "right_outputs": right.outputs,
        "right": right.worst_case,
    }


def _rises(positions: tuple[float, ...]) -> bool:
    return len(positions) > 0 and positions[0] > 0 and bool(np.all(np.diff(positions) > 0))


def _last_peak(found: OutputLayout) -> float:
    """Return Var_n at its own vertex, by the paper's formula."""
    knots, moments = found.lines
    slope = float((moments[-1] - moments[-2]) / (knots[-1] - knots[-2]))
    return float(moments[-1]) - slope * float(knots[-1]) + slope**2 / 4


def _first_peak(found: OutputLayout) -> float:
    """Return Var_1 at its own vertex."""
    knots, moments = found.lines
    slope = float((moments[1] - moments[0]) / (knots[1] - knots[0]))
    return float(moments[0]) + slope**2 / 4


def limits() -> Cell:
    """Return Lemma 6's limit for large epsilon, and how far equation 12 is from the best p0."""
    rows: list[dict[str, Any]] = [
        {"kind": "lemma 6", "outputs": outputs, "epsilon": 20.0, "limit": 1 / (outputs - 1) ** 2}
        | {"worst_case": of_outputs(20.0, outputs, False)}
        for outputs in (2, 3, 4, 5, 6, 9)
    ]
    places = np.arange(3.3, 5.01, 0.01).round(6).tolist()
    gains = [n_output(epsilon, False) / n_output(epsilon, True) - 1 for epsilon in places]
    most = int(np.argmax(gains))
    rows.append({"kind": "equation 12", "epsilon": places[most], "gain_of_best_p0": 100 * gains[most]})
    published, right = (of_outputs(3.5, 5, corrected) for corrected in (False, True))
    rows.append({"kind": "equation 12", "epsilon": 3.5, "outputs": 5, "published": published, "right": right})
    return {"rows": rows}
