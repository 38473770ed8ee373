"""The suite's page and pictures for the documentation. Both quote only what was measured."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.text import listed, thousands
from discreet_benchmarks.honesty.cells import Row
from discreet_benchmarks.honesty.questions import QUESTIONS
from discreet_benchmarks.honesty.suite import LEAST, SHARE_WITHIN, WITHIN, is_within, rows_of
from discreet_papers.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "honesty.md"
RESULT = "honesty.json"
LEAD = (
    "A 95 % interval should hold the truth in 95 of 100 surveys, and be no wider than that takes. This page says how "
    "well that holds, for every plan, on columns whose truth is known: smooth, heaped, whole numbers, mostly zeros, "
    "with a heavy tail, and spiky; generated ones, and real ones that are not part of the repository. These columns "
    "are set apart for reporting, and a second set is there to choose by; nothing but care keeps the two apart. "
    "Everyone is drawn at random from the column, and the truth is that of the whole column."
)


AT_LEAST = ("quantile", "quantiles")
"""Plans whose intervals promise a least coverage for every column, and may hold more often."""


def default_of(plan: str) -> str:
    """Return the name of a plan's default method."""
    return next(iter(QUESTIONS[plan].methods))


def is_default(row: Row) -> bool:
    """Whether a row is of its plan's default method."""
    return bool(row["method"] == default_of(row["plan"]))


def markdown(found: dict[str, Any], images: str = "") -> str:
    """Return the page."""
    rows, verdict = rows_of(found), found["verdict"]
    told = [row for row in rows if row["coverage"] is not None]
    machine = found["machine"]
    low, high = WITHIN
    defaults, others = [r for r in told if is_default(r)], [r for r in told if not is_default(r)]
    parts = [
        "<!-- Written by `discreet bench honesty --publish`; edit discreet_benchmarks/honesty/page.py instead. -->",
        "# Do the intervals hold?",
        LEAD + " [How far can I trust this?](../trust.md) explains it in plain words.",
        f"`discreet bench honesty` measures it again: {found['cells']} cells (plan × method × column × ε × people), "
        f"{_surveys(rows, found['runs'])}, drawn from the exact laws of the reports. "
        f"discreet {found['version']}, {found['date']}, "
        f"{machine['cores']} cores, {machine['architecture']}. All figures: [{RESULT}]({RESULT})."
        + (f" {found['taken_over']} cells are of an earlier run of the same code." if found["taken_over"] else "")
        + (f" Cells of older code, until they are measured again: {len(found['older'])}." if found["older"] else "")
        + (f" {found['left_out']} cells of this suite were left out for want of time." if found["left_out"] else ""),
        f"Aim: at least {SHARE_WITHIN:.0%} of all coverages between {low:.2f} and {high:.2f}, none below {LEAST:.2f}. "
        f"**{'Met' if verdict['is_met'] else 'Not met'}**: {verdict['within']} of {verdict['of']} are within, "
        f"{len(verdict['too_low'])} below {LEAST:.2f}, {verdict['too_high']} above {high:.2f}. A share of 0, a "
        "quantile that is a heap, a number that asks on which side of a range's end a heap in the same bucket lies, "
        "and single buckets (bins) may always be covered: no honest interval is so narrow that it sometimes misses "
        "them. Few reports look the same whether everybody in three buckets is in one of them or spread over all, so "
        "the intervals of single buckets hold for both; bars, as many as the reports can tell apart, are judged like "
        "everything else.",
        chance(told, found["runs"]),
        _summary("default methods", defaults, "all other methods", others),
        *([_promised(told)] if any(row["plan"] in AT_LEAST for row in told) else []),
        *([_outside(found)] if found["refused"] else []),
        _measured(rows),
        *([_unmeasured(rows)] if _unmeasured(rows) else []),
        "## Coverage of the defaults",
        "One square per plan, number, column and ε; each was measured with 500, 5 000 or 50 000 people. Grey: there is "
        "nothing to cover, or it was not measured.",
        f"![Heat map of coverage: one row per number, one column per column and ε]({images}honesty_numbers.svg)",
        f"![Heat map of coverage of frequencies]({images}honesty_labels.svg)",
        "## Coverage by method",
        "ε = 1, 5 000 people; the lowest coverage over the columns measured. Methods without intervals are not shown.",
        table(["plan", "method", "lowest coverage", "of", "width", "error ratio"], _methods(rows), left=2),
        "## Coverage and width of the defaults",
        "Width is the interval's mean width over 3.92 times the root mean squared error: 1 is just right, 1.2 asks for "
        "1.4 times the people needed. It falls below 1 where intervals end at 0 or 1.",
        table(["plan", "number", "lowest", "mean", "within", "median width"], _numbers(defaults), left=2),
        "## Errors of the defaults",
        "Means and frequencies: mean squared error over the exact variance; by chance it is within 0.8 and 1.2. Shown "
        "frequencies: over those of Norm-Sub. Variances and range means: root mean squared error over that of the "
        "better of the other methods. Distributions: over that of the better of EMS and HH-ADMM, in hindsight; W₁ and "
        "KS are distances of the whole histogram. Below 1 is better than that.",
        table(["plan", "number", "geometric mean", "largest", "where"], _errors(rows), left=2),
        "## The lowest coverages",
        _list(verdict["too_low"]),
    ]
    return "\n\n".join(parts) + "\n"


def chance(told: Sequence[Row], runs: int) -> str:
    """Say how many coverages would be outside by chance alone."""
    from scipy.stats import binom

    low, high = WITHIN
    outside = 0.0
    for row in told:
        count, exact = row.get("runs") or runs, 1e-9  # a coverage that is exactly 0.92 or 0.98 is within
        outside += binom.cdf(np.ceil(low * count - exact) - 1, count, 0.95)
        outside += 0.0 if row["is_edge"] else binom.sf(np.floor(high * count + exact), count, 0.95)
    return (
        f"If every interval held the truth in exactly 95 of 100 surveys, about {outside:.0f} of the {len(told)} would "
        "be outside by chance."
    )


def _surveys(rows: Sequence[Row], runs: int) -> str:
    def said(count: int) -> str:
        return f"{count:,} surveys (standard error of a coverage: about {(0.95 * 0.05 / count) ** 0.5:.3f})"

    most = max((row.get("runs") or runs for row in rows), default=runs)
    quick = f", and {said(most)} of each that answers within milliseconds" if most > runs else ""
    return f"{said(runs)} of each{quick}".replace(",000", " 000")


def _promised(told: Sequence[Row]) -> str:
    """Say what the figures are without the plans that promise a least coverage."""
    others = [row for row in told if row["plan"] not in AT_LEAST]
    theirs = [row for row in told if row["plan"] in AT_LEAST]
    least = min(row["coverage"] for row in theirs)
    return (
        "Intervals of quantiles are made to hold in at least 94 of 100 surveys also where people round and the "
        "quantile is nearly a tie between two round numbers. Answers look the same where nobody rounds, so there they "
        "hold more often; `heaped=False` tells the plan that nobody does. "
        f"They are counted above ({sum(map(is_within, theirs))} of {len(theirs)} within, the lowest {least:.3f}); "
        f"without them {sum(map(is_within, others))} of {len(others)} are within."
    )


def _summary(*groups: Any) -> str:
    rows = []
    for title, told in zip(groups[::2], groups[1::2], strict=True):
        if told:
            least = min(row["coverage"] for row in told)
            within = sum(map(is_within, told)) / len(told)
            rows.append((title, thousands(len(told)), f"{within:.1%}", f"{least:.3f}"))
    return table(["", "coverages", "within", "lowest"], rows)


def _outside(found: dict[str, Any]) -> str:
    return "Refused by the plan: " + "; ".join(f"{name} ({why})" for name, why in found["refused"].items()) + "."


def _measured(rows: Sequence[Row]) -> str:
    """Return a sentence on how many cells of each plan were measured, and on how many columns."""
    plans: dict[str, set[tuple[Any, ...]]] = {}
    for row in rows:
        plans.setdefault(row["plan"], set()).add((row["method"], row["column"], row["epsilon"], row["n"]))
    said = [f"{plan} {len(of)} on {len({cell[1] for cell in of})} columns" for plan, of in plans.items()]
    return f"Cells by plan: {', '.join(said)}."


def _unmeasured(rows: Sequence[Row]) -> str:
    """Return a sentence on the plans of which nothing was measured, or nothing."""
    plans = [plan for plan in QUESTIONS if plan not in {row["plan"] for row in rows}]
    return f"**Not measured in this run: {listed(plans, 'and')}.**" if plans else ""


def _list(sentences: Sequence[str], most: int = 40) -> str:
    if not sentences:
        return f"None is below {LEAST:.2f}."
    more = [f"- … and {len(sentences) - most} more"] if len(sentences) > most else []
    return "\n".join([*(f"- {sentence}" for sentence in sentences[:most]), *more])


def _grouped(rows: Sequence[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _middle(rows: Sequence[Row], name: str) -> str:
    values = [row[name] for row in rows if row[name] is not None]
    return f"{np.median(values):.2f}" if values else ""


def _methods(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    same = [row for row in rows if row["epsilon"] == 1 and row["n"] == 5_000 and row["coverage"] is not None]
    lines = []
    for (plan, method), of in _grouped(same, "plan", "method").items():
        worst = min(of, key=lambda row: row["coverage"])
        lines.append((plan, method, f"{worst['coverage']:.3f}", f"{worst['functional']}, {worst['column']}",
                      _middle(of, "relative_width"), _middle(of, "ratio")))  # fmt: skip
    return lines


def _numbers(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    return [
        (
            plan,
            number,
            f"{min(row['coverage'] for row in of):.3f}",
            f"{np.mean([row['coverage'] for row in of]):.3f}",
            f"{sum(map(is_within, of))} of {len(of)}",
            _middle(of, "relative_width"),
        )
        for (plan, number), of in _grouped(rows, "plan", "functional").items()
    ]


def _errors(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    lines = []
    told = [row for row in rows if is_default(row) and row["ratio"] is not None and row["ratio"] > 0]
    for (plan, number), of in _grouped(told, "plan", "functional").items():
        middle, largest = np.exp(np.mean([np.log(r["ratio"]) for r in of])), max(of, key=lambda row: row["ratio"])
        where = f"{largest['column']}, ε = {largest['epsilon']:g}, n = {thousands(largest['n'])}"
        lines.append((plan, number, f"{middle:.2f}", f"{largest['ratio']:.2f}", where))
    return lines


def pictures(found: dict[str, Any]) -> "dict[str, Figure]":
    """Return the heat maps by file name."""
    rows = [row for row in rows_of(found) if is_default(row) and row["coverage"] is not None]
    of_labels = [row for row in rows if QUESTIONS[row["plan"]].takes_labels]
    of_numbers = [row for row in rows if not QUESTIONS[row["plan"]].takes_labels]
    found_pictures = {"honesty_numbers": of_numbers, "honesty_labels": of_labels}
    return {name: _heat(part) for name, part in found_pictures.items() if part}


def _heat(rows: Sequence[Row]) -> "Figure":
    """Draw coverage by plan and number (down) and by column and epsilon (across)."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.figure import Figure

    from discreet.plots.style import INK

    down = list(dict.fromkeys((row["plan"], row["functional"]) for row in rows))
    names = list(dict.fromkeys(row["column"] for row in rows))
    epsilons = sorted({row["epsilon"] for row in rows})
    grid = np.full((len(down), len(names) * len(epsilons)), np.nan)
    for row in rows:
        i = down.index((row["plan"], row["functional"]))
        j = names.index(row["column"]) * len(epsilons) + epsilons.index(row["epsilon"])
        value = 0.95 if row["is_edge"] and row["coverage"] > WITHIN[1] else row["coverage"]
        grid[i, j] = np.nanmin([grid[i, j], value])
    bounds = [0, 0.8, 0.85, LEAST, WITHIN[0], WITHIN[1], 0.995, 1.001]
    colours = ["#8c1c00", "#c43c00", "#e8743b", "#f5b98a", "#dcebe3", "#9cc7dd", "#5d9fc4"]
    texts = ["< .80", ".80", ".85", ".90", ".92–.98", "> .98", "1"]
    figure = Figure(figsize=(8.2, 1.75 + 0.2 * len(down)), layout="constrained")
    axes = figure.subplots()
    axes.set_facecolor("#88888833")
    axes.pcolormesh(
        grid,
        cmap=ListedColormap(colours),
        norm=BoundaryNorm(bounds, len(colours)),
        edgecolors="#88888855",
        lw=0.3,
        rasterized=True,
    )
    axes.invert_yaxis()
    plans = [f"{functional}  ·  {plan}" if plan != functional else plan for plan, functional in down]
    axes.set_yticks(np.arange(len(down)) + 0.5, plans, fontsize=7.5, color=INK)
    axes.set_xticks(
        (np.arange(len(names)) + 0.5) * len(epsilons), names, fontsize=7.5, rotation=40, ha="right", color=INK
    )
    axes.tick_params(length=0)
    for edge in range(1, len(names)):
        axes.axvline(edge * len(epsilons), color=INK, linewidth=0.8)
    for side in axes.spines.values():
        side.set_visible(False)
    marks = ", ".join(f"{epsilon:g}" for epsilon in epsilons)
    axes.set_xlabel(f"column; within each, ε = {marks} from left to right", fontsize=8, color=INK)
    handles = [axes.plot([], [], "s", color=c, markersize=7, label=t)[0] for c, t in zip(colours, texts, strict=True)]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(texts), fontsize=7.5, frameon=False,
                  labelcolor=INK, handletextpad=0.1, columnspacing=0.9)  # fmt: skip
    figure.patch.set_alpha(0)
    return figure


def write(found: dict[str, Any], folder: Path) -> str:
    """Write the figures, the page and its pictures; return the figures as text."""
    folder.mkdir(parents=True, exist_ok=True)
    text = as_text(found)
    (folder / RESULT).write_text(text, "utf-8")
    (folder / FILE).write_text(markdown(found), "utf-8")
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "discreet"}):
        for name, figure in pictures(found).items():
            figure.savefig(folder / f"{name}.svg", dpi=200, metadata={"Date": None})
    return text


def as_text(found: dict[str, Any]) -> str:
    """Return the figures as JSON with one line per row, so that a change of a cell is a change of its lines."""
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False, allow_nan=False) for row in found["rows"])
    rest = json.dumps(found | {"rows": []}, ensure_ascii=False, allow_nan=False, indent=1)
    return rest.replace('"rows": []', f'"rows": [\n{rows}\n ]' if rows else '"rows": []', 1) + "\n"
