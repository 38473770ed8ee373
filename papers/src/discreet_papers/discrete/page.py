"""The comparison paper's page and plots, from the results alone."""

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.text import thousands
from discreet_papers import frame
from discreet_papers.discrete import study
from discreet_papers.discrete.laws import COLUMNS
from discreet_papers.text import small_axes, styles, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMPLEMENTED = (
    ("II.A, II.B", "RR, k-RR", "`randomized-response`", "p + (d−1) q = 1 exactly; constrained maximum likelihood"),
    ("II.C", "k-subset", "`subset-selection`", "exactly k values; by default the k of least exact variance"),
    ("II.D", "Basic RAPPOR", "`basic-rappor`; `rappor(size, q=, p=, f=)`", "calibrated to ε; or its own constants"),
    ("II.E", "CMS", "`count-mean-sketch`", "one-hot as in the paper, or Apple's sketch"),
    ("II.F", "HR", "`hadamard-response`", "simple, or in blocks and calibrated for the blocks in use"),
    ("[14]", "OUE, OLH", "`optimized-unary`, `local-hashing`", "future work according to the paper"),
    ("beyond", "HRR, PGR", "`hadamard-randomized-response`, `projective-geometry`", "short reports"),
)


def page(result: dict[str, Any], images: str = "") -> str:
    """Return the page in Markdown."""
    published = [_published_text(result), *_published_tables(result)] if result["data"]["is_the_papers"] else None
    return frame.page(
        "discrete",
        "Discrete distributions: five mechanisms compared",
        "Ba Dung Le and Tanveer Zia, *Discrete Distribution Estimation with Local Differential Privacy: A Comparative "
        "Analysis*. Five algorithms on Statlog, Adult and USCensus1990 at ε = 0.5, 1 and 2, by mean absolute error "
        "(MAE). This page shows what we implement, what we corrected, the paper's tables as published, and a fair "
        "comparison: every oracle at the same ε, with the same post-processing.",
        result,
        how=f"{result['runs']} runs per cell of the tables (the paper: {study.PRINTED_RUNS}). Support counts of unary "
        "encodings (Basic RAPPOR, OUE) are drawn from their exact distribution, two binomials per value; for all other "
        "oracles every person's report is drawn and tallied in every run.",
        implemented=IMPLEMENTED,
        corrected=_corrections(result),
        sections=({"Tables II to IV as published": published} if published else {})
        | {
            "The comparison at equal ε": [
                f"MAE ± its standard error over {result['runs']} runs. Bold: best, or tied with the best within "
                f"{study.TIE:g} standard errors of the difference, or identical to it: where the best k is 1, k-RR, "
                "k-subset and HR in blocks of two columns are the same channel and differ only by noise. One-hot CMS "
                "is the same mechanism as Basic RAPPOR and has no column of its own.",
                *_equal_tables(result),
                _ratios(result),
            ],
            "Figures 2 to 5": [
                f"Geometric data (the ratio is not in the paper; {study.SHARE} here). Top: as published; bottom: at "
                "equal ε, after Norm-Sub. The paper prints only plots, so we can compare the shapes but not the "
                "numbers.",
                *[
                    frame.picture(
                        images,
                        f"discrete_figure_{figure}",
                        f"Figure {figure}: MAE against the number of people, d = {size}",
                    )
                    for figure, (size, _) in study.FIGURES.items()
                ],
            ],
        },
        takes=("minutes; finished cells are stored in out/reproduce", "seconds, with fewer runs"),
    )


def _corrections(result: dict[str, Any]) -> list[str]:
    constants = result["constants"]
    worst = max(constants["subset"], key=lambda cell: cell["variance_ratio"])
    return [
        f"**Basic RAPPOR** was run with its own constants (q = 0.75, p = 0.5, f = 0), whose ε is "
        f"{constants['rappor_epsilon']:.4f} in every row of the tables. `basic-rappor` is calibrated to ε; "
        "`rappor` takes the constants instead of ε and reports the ε they have.",
        "**CMS** flips with probability 1/(e^(ε/2) + 1), decodes with c = (e^(ε/2) + 1)/(e^(ε/2) − 1) and "
        "divides by n. As printed it is biased (see the verdicts).",
        f"**k-subset** was run with k = ⌊d/2⌋. The best k is smaller; at {worst['attribute']}, ε = "
        f"{worst['epsilon']:g} it is {worst['best_k']} instead of {worst['published_k']} and the variance "
        f"{worst['variance_ratio']:.2f} times smaller. The printed inclusion probability is that of one set.",
        "**HR** in blocks is calibrated here for the blocks in use. The printed estimator holds for one "
        "block only; c'(v) counts all reports in S_v.",
        "**RR**: ε is |ln(p/(1−p))|; the printed one is negative for p < 1/2.",
    ]


def _published_text(result: dict[str, Any]) -> str:
    rows = []
    for column in result["columns"]:
        rows.append((column["column"], column["fits"], f"**{column['rms_z']:.2f}**", column["verdict"]))
        rows += [("", name, f"{z:.1f}", "") for name, z in column["others"].items()]
    fits = table(["column", "constants and post-processing", "rms z", "verdict"], rows, left=2)
    return (
        "The paper does not say which constants and post-processing it used. The first line of each column is the "
        "choice that reproduces its 18 printed means; z is the distance in standard errors (from its 100 runs, ours, "
        "and rounding), so a right guess has an rms z near 1. *Cleared* means that negative frequencies are set to "
        "zero and nothing else. Every column has its own post-processing, and one its own ε, so the tables do not "
        "compare the mechanisms on equal terms. We infer this from the numbers; the authors' scripts were not "
        "available.\n\n" + fits
    )


def _published_tables(result: dict[str, Any]) -> list[str]:
    parts = []
    for epsilon, number in study.TABLES.items():
        rows = []
        for cell in result["published"]:
            if cell["epsilon"] == epsilon:
                shown = []
                for name in COLUMNS:
                    column = cell["columns"][name]
                    first = next(iter(column["candidates"].values()))
                    shown.append(f"{column['printed'][0]:.3f} / {first['mean']:.4f}")
                rows.append((f"{cell['attribute']} ({cell['d']})", *shown))
        head = ["attribute (d)", *(f"{name}: paper / ours" for name in COLUMNS)]
        parts += [f"### Table {number}: ε = {epsilon:g}", table(head, rows)]
    return parts


def _equal_tables(result: dict[str, Any]) -> list[str]:
    parts = []
    for post, title in (("raw", "Raw (unbiased)"), ("norm_sub", "After Norm-Sub")):
        rows = []
        for epsilon in study.EPSILONS:
            for cell in result["equal"]:
                if cell["epsilon"] == epsilon:
                    shown = []
                    for label, found in cell["oracles"].items():
                        number = f"{found[post]['mean']:.4f}"
                        number = f"**{number}**" if study.best_or_tied(cell, label, post) else number
                        shown.append(f"{number} ± {found[post]['se']:.4f}")
                    rows.append((f"{cell['attribute']} ({cell['d']})", f"{epsilon:g}", *shown))
        parts += [f"### {title}", table(["attribute (d)", "ε", *study.ORACLES], rows)]
    return parts


def _ratios(result: dict[str, Any]) -> str:
    rows = []
    for label in study.ORACLES:
        ratios = [cell["oracles"][label]["mse_over_variance"] for cell in result["equal"]]
        rows.append((label, f"{np.mean(ratios):.3f}", f"{min(ratios):.3f}", f"{max(ratios):.3f}"))
    head = ["oracle", "mean", "least", "largest"]
    return "Measured mean square error over the exact variance, over the cells above:\n\n" + table(head, rows)


def plots(result: dict[str, Any]) -> "dict[str, Figure]":
    """Return Figures 2 to 5: three epsilons side by side, as published (top) and at equal epsilon (bottom)."""
    return {f"discrete_figure_{figure}": _figure(result, figure) for figure in study.FIGURES}


def _figure(result: dict[str, Any], figure: str) -> "Figure":
    from matplotlib.figure import Figure

    size, _ = study.FIGURES[figure]
    drawn = Figure(figsize=(8.4, 6.2), layout="constrained", facecolor="white")
    axes = small_axes(drawn, 2, 3)
    labels = [name for name in study.ORACLES if name not in ("HR in blocks", "HRR")]
    same = {"bRAPPOR": "Basic RAPPOR"}
    style = styles([*labels, "CMS"])
    for place, epsilon in enumerate(study.EPSILONS):
        cells = sorted(
            (cell for cell in result["figures"] if cell["figure"] == figure and cell["epsilon"] == epsilon),
            key=lambda cell: cell["n"],
        )
        people = [cell["n"] for cell in cells]
        for name in COLUMNS:
            heights = [cell["published"][name]["mean"] for cell in cells]
            label = same.get(name, name)
            axes[0, place].plot(people, heights, marker="o", markersize=3, label=label, **style[label])
        for name in labels:
            heights = [cell["equal"][name]["norm_sub"]["mean"] for cell in cells]
            axes[1, place].plot(people, heights, marker="o", markersize=3, label=name, **style[name])
        axes[0, place].set_title(f"as published, “ε = {epsilon:g}”", fontsize=9)
        axes[1, place].set_title(f"equal ε = {epsilon:g}, Norm-Sub", fontsize=9)
        for row in (0, 1):
            axes[row, place].set_xscale("log")
            axes[row, place].set_yscale("log")
            axes[row, place].set_xlabel("people", fontsize=8)
            axes[row, place].set_xticks(people, [thousands(n) for n in people], fontsize=7)
            axes[row, place].set_xticks([], minor=True)
    for row in (0, 1):
        axes[row, 0].set_ylabel(f"MAE, d = {size}", fontsize=8)
    known: dict[str, Any] = {}
    for row in (0, 1):
        handles, names = axes[row, 0].get_legend_handles_labels()
        known |= dict(zip(names, handles, strict=True))
    drawn.legend(
        list(known.values()),
        list(known),
        loc="outside lower center",
        ncols=len(known),
        frameon=False,
        fontsize=8,
        handlelength=2.8,
    )
    return drawn
