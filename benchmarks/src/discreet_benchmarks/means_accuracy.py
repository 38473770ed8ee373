# ruff: noqa: E402 - threads must be set before numpy is loaded
"""Measured mean square error over exact variance, for every mean mechanism, on three real columns.

    python -m discreet_benchmarks.means_accuracy [--quick] [--data DIRECTORY] [--publish] [--json FILE]

Every repeat privatises the same 2 000 people of a column with the mechanism itself (seeded) and compares the mean of
the decoded reports with the people's own mean: nothing is drawn from a model. The exact variance is the sum of
`Mechanism.variance` over those people, divided by their number squared. With 5 000 repeats the ratio has a standard
error of 2 %. One more run takes the whole column through `discreet.simulate`.

Columns: wages (demo data), taxi rides and voltage (../shared/data); without those files, departures and ages of the
demo data. ``--publish`` writes docs/results/means_accuracy.json and .md.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.registry import entries
from discreet.text import thousands
from discreet_papers import data
from discreet_papers.job import seed_of
from discreet_papers.mechanisms import numeric
from discreet_papers.text import table

EPSILONS = (1.0, 4.0)
PEOPLE = 2_000
REPEATS = 5_000
LOW, HIGH = 0.9, 1.1
EXTRA = ("square-wave",)
"""Mechanisms registered for distributions that are decoded without bias, and so serve means as well."""
RESULT = "means_accuracy"


def names() -> list[str]:
    return [entry.name for entry in entries().values() if entry.question == "mean"] + list(EXTRA)


def build(name: str, epsilon: float, inputs: Any) -> Numeric:
    """Return the mechanism; one that needs a prior gets the column's own histogram."""
    if "prior" in entries()[name].needs:
        prior = np.histogram(inputs, 16, (-1, 1))[0] + 1.0
        return numeric(name, epsilon, prior=(prior / prior.sum()).tolist())
    return numeric(name, epsilon)


def measure(source: Numeric, inputs: Any, repeats: int, seed: int) -> dict[str, float]:
    entropy = dc.Entropy.seeded(seed)
    truth, at_once = float(inputs.mean()), 100
    errors = []
    for start in range(0, repeats, at_once):
        count = min(at_once, repeats - start)
        reports = source.privatize(np.tile(inputs, count), entropy)
        errors.append(source.values[source.indices(reports)].reshape(count, -1).mean(axis=1) - truth)
    found = np.concatenate(errors)
    exact = float(np.sum(source.variance(inputs))) / inputs.size**2
    return {
        "exact_standard_error": math.sqrt(exact),
        "mse_over_variance": float(np.square(found).mean()) / exact,
        "bias_in_standard_errors": float(found.mean() / (found.std(ddof=1) / math.sqrt(repeats))),
    }


def one_run(name: str, column: data.Numbers, epsilon: float, seed: int) -> dict[str, float]:
    """Return one answer for the whole column: estimate, truth, and their distance in exact standard errors."""
    domain = dc.Interval(column.low, column.high)
    inputs = domain.encode(column.values).inputs
    source = build(name, epsilon, inputs)
    tally = source.tally(source.privatize(inputs, dc.Entropy.seeded(seed)))
    mean = float(tally.counts @ source.values) / tally.n
    exact = math.sqrt(float(np.sum(source.variance(inputs)))) / inputs.size
    return {
        "estimate": domain.decode(mean),
        "truth": domain.decode(float(inputs.mean())),
        "z": (mean - float(inputs.mean())) / exact,
    }


def run(repeats: int, given: Path | None = None) -> dict[str, Any]:
    columns = data.numeric(given)
    rows: list[dict[str, Any]] = []
    for column in columns:
        domain = dc.Interval(column.low, column.high)
        order = np.random.default_rng(seed_of(RESULT, column.name)).permutation(column.values.size)
        inputs = domain.encode(column.values[order[:PEOPLE]]).inputs
        for epsilon in EPSILONS:
            for name in names():
                seed = seed_of(RESULT, column.name, epsilon, name)
                source = build(name, epsilon, inputs)
                row = {"column": column.name, "epsilon": epsilon, "mechanism": name}
                rows.append(row | measure(source, inputs, repeats, seed) | one_run(name, column, epsilon, seed + 1))
                print(f"{column.name:20} {epsilon:4g} {name:20} {rows[-1]['mse_over_variance']:.3f}", flush=True)
    ratios = [float(row["mse_over_variance"]) for row in rows]
    is_paper = all(column.paper for column in columns[1:])
    return {
        "date": datetime.date.today().isoformat(),
        "version": dc.__version__,
        "seeds": "SHA-256 of each cell's name (discreet_papers/job.py, seed_of)",
        "people": PEOPLE,
        "repeats": repeats,
        "data": {
            "note": "wages (demo data), taxi rides and voltage (../shared/data)" if is_paper else data.ABSENT,
            "columns": [{"name": c.name, "n": int(c.values.size), "low": c.low, "high": c.high} for c in columns],
        },
        "rows": rows,
        "least": min(ratios),
        "largest": max(ratios),
        "all_within": bool(min(ratios) >= LOW and max(ratios) <= HIGH),
    }


def page(result: dict[str, Any]) -> str:
    """Return the page in Markdown; it quotes only the results."""
    columns = [column["name"] for column in result["data"]["columns"]]
    cells = {(row["column"], row["epsilon"], row["mechanism"]): row for row in result["rows"]}
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in result["rows"]))
    epsilons = list(dict.fromkeys(row["epsilon"] for row in result["rows"]))
    keys = [(column, epsilon) for epsilon in epsilons for column in columns]
    heads = [f"{column}, ε = {epsilon:g}" for column, epsilon in keys]
    ratios = [(f"`{m}`", *(f"{cells[(*key, m)]['mse_over_variance']:.3f}" for key in keys)) for m in mechanisms]
    whole = [(f"`{m}`", *(f"{cells[(*key, m)]['z']:+.2f}" for key in keys)) for m in mechanisms]
    described = ", ".join(
        f"{c['name']} ({thousands(c['n'])} values, range {thousands(c['low'])} to {thousands(c['high'])})"
        for c in result["data"]["columns"]
    )
    return "\n\n".join(
        [
            "<!-- Written by `python -m discreet_benchmarks.means_accuracy --publish`; edit that, not this page. -->",
            "# Accuracy of the means: measured error over exact variance",
            f"Mean squared error of {result['repeats']} repeats with {result['people']} people each, over the exact "
            f"variance that the mechanism states. Every repeat draws every report with the mechanism itself. Columns: "
            f"{described}. {result['data']['note'].capitalize()}. Made by "
            f"`python -m discreet_benchmarks.means_accuracy` with discreet {result['version']} on {result['date']}.",
            f"All ratios lie between {result['least']:.3f} and {result['largest']:.3f}.",
            table(["mechanism", *heads], ratios),
            "One run with the whole column: the estimate's distance from the truth, in exact standard errors.",
            table(["mechanism", *heads], whole),
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="300 repeats")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--publish", action="store_true", help="write docs/results")
    arguments = parser.parse_args()
    result = run(300 if arguments.quick else REPEATS, arguments.data)
    text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if arguments.json:
        arguments.json.write_text(text, "utf-8")
    if arguments.publish:
        folder = Path("docs/results")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{RESULT}.json").write_text(text, "utf-8")
        (folder / f"{RESULT}.md").write_text(page(result), "utf-8")
    print(f"least {result['least']:.3f}, largest {result['largest']:.3f}, all within: {result['all_within']}")


if __name__ == "__main__":
    main()
