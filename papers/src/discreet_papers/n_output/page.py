"""The N-output paper's page and plots, from the results alone."""

from typing import TYPE_CHECKING, Any

from discreet_papers import frame
from discreet_papers.n_output import study
from discreet_papers.n_output.distributions import LABELS, METRICS, ORACLES, RELEASED
from discreet_papers.n_output.federated import page as federated
from discreet_papers.text import panels, small_axes, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMPLEMENTED = (
    ("2.2", "Duchi, three-output", "`duchi`, `three-output`", "also the better plateau form: `plateau=True`"),
    ("2.2", "PM, PM-sub, PM-opt", "`piecewise`, `piecewise-sub`, `piecewise-opt`", "one window, three widths"),
    ("3", "N-output", "`n-output`", "any N or the best; `corrected=False` keeps equation 12"),
    ("4.1", "HM-TP, HM-NP", "`hybrid-tp`, `hybrid-np`", "Theorem 8 for every N, N = 2 and 3 included"),
    ("4.2", "2PEM", '`Distribution(method="hybrid-np-2pem")`', "see the distribution methods"),
    ("4.3", "NP-AAA", '`Mean(method="np-aaa")`', "reuse of the first round, weighted"),
    ("beyond", "—", "`minimax`", "least worst case of all unbiased mechanisms"),
)
CORRECTED = (
    "**Algorithm 2, line 8** is reversed; it must test whether the last peak is at least the first (Var_n ≥ Var_1). "
    "Line 18 means Ω₂, not Ω₁, and the test that N is too large is missing.",
    "**Equation 11** needs p₀ for output 0 when N is odd; with p the probabilities do not sum to one.",
    "**Equation 12** is not the best p₀ for odd N ≥ 5; we search p₀ (one variable).",
    "**Theorem 8** needs a_n in D, and does not cover N = 2 and N = 3 with p₀ < p; written with the last line of the "
    "second moment it covers every N.",
    "**Table 2** and the example of bits count one bit too many for N = 4, 8, 16, … and omit the bit that says which "
    "part of the hybrid was used.",
    "**The released sampler** is not private for N ≥ 4 (some outputs have probability zero for some inputs). Ours "
    "samples a table whose exact ratio is the certificate.",
)

SHOWN = ("DE", "OUE", RELEASED, "SW + EMS", "HM-NP + 2PEM", "auto")
"""Curves of Figure 4; the table has all methods."""


def page(result: dict[str, Any], images: str = "") -> str:
    """Return the page in Markdown."""
    return frame.page(
        "n-output",
        "The N-output mechanism, its hybrids, and the limit",
        "The paper generalises Duchi's two outputs and the three-output mechanism to N outputs, and mixes it with "
        "PM-sub (HM-NP). This page shows what we implement, what we corrected, the paper's tables and thresholds from "
        "exact functions, how far its mechanisms are from the least possible worst case, and its experiments with "
        "samplers that are private.",
        result,
        how="Tables 1 and 2, Figure 2 and all worst cases are exact. Errors of means are exact for one-round "
        "mechanisms, and for AAA and NP-AAA exact given the first round's reports, drawn "
        f"{result['repeats']['pilots']} times (the paper: 100). Distributions were simulated "
        f"{result['repeats']['distributions']} times, `auto` a fifth as often.",
        implemented=IMPLEMENTED,
        corrected=CORRECTED,
        sections={
            "Table 1: which mechanism is best of Duchi, three-output and PM-sub": [_table_1(result)],
            "Table 2: bits": [_table_2(result)],
            "Figure 2: N-output beside PM-sub": [
                frame.picture(images, "n_output_figure_2", "PM-sub over N-output less one, in per cent, against ε")
            ],
            "Worst-case variance and the limit": [
                "Exact for the actual mechanisms (on their lattices, with integer weights), on inputs from −1 to 1. "
                "`minimax` is a table close to the least worst case of any unbiased ε-LDP mechanism; in three bits it "
                "has eight outputs. Bold: the least of the papers' own.",
                _variances(result),
                frame.picture(images, "n_output_worst_case", "Worst-case variance relative to minimax, against ε"),
                "Measured on real columns, mean square error over exact variance: "
                "[accuracy of the means](../results/means_accuracy.md).",
            ],
            "Figure 3: means": [
                "Root mean squared error of one attribute's mean on [−1, 1], times 1000, with the paper's numbers of "
                "people and dimensions and its k. *AAA* is the published protocol with noise that satisfies ε-LDP, "
                "*NP-AAA* is ours. Bold: the least of the paper's own.",
                _means(result),
                frame.picture(images, "n_output_figure_3", "Error of means over the least of all, against ε"),
            ],
            "Figure 4: distribution, variance, quantiles": [
                "Errors on [−1, 1], times 1000 ± standard error. DE and OUE ask for one of 1024 buckets (Norm-Sub). "
                "*SW as released* is the Square Wave of this paper's code, which is neither private nor Square Wave. "
                "Bold: the least of DE, OUE, 2PEM and Square Wave with EMS. *Their stop* is 2PEM's stopping rule.",
                *_distributions(result),
                frame.picture(images, "n_output_figure_4", "Three errors against ε, for three columns"),
            ],
        }
        | federated.sections(result["figure_5"], images),
        takes=("a quarter of an hour", "a minute"),
    )


def _table_1(result: dict[str, Any]) -> str:
    found = result["table_1"]
    first, second = found["printed"]
    rows = [
        ("Duchi → three-output", first, f"{found['duchi_to_three_output']:.5f}"),
        ("three-output → PM-sub", second, f"{found['three_output_to_pm_sub']:.5f}"),
        ("three-output → PM-opt", "—", f"{found['three_output_to_pm_opt']:.5f}"),
    ]
    return table(["change at ε", "paper", "ours"], rows)


def _table_2(result: dict[str, Any]) -> str:
    right = {row["bits"]: row for row in result["table_2"]["corrected"]}
    rows = []
    for row in result["table_2"]["published"]:
        other = right.get(row["bits"])
        reached = "—" if row["until_as_many_as"] is None else f"{row['until_as_many_as']:.4f}"
        better = "—" if other is None else f"{other['until_more_than']:.4f}"
        rows.append((row["bits"], f"{row['printed']:g}", reached, f"{row['until_more_than']:.4f}", better))
    head = ["bits", "paper: up to ε", "best N reaches 2^bits", "really enough up to ε", "the same, p₀ corrected"]
    return table(head, rows, left=0)


def _variances(result: dict[str, Any]) -> str:
    rows = []
    for row in result["worst_cases"]:
        least = min(value for name, value in row["variance"].items() if name != "minimax")
        shown = [f"**{v:.5g}**" if v == least else f"{v:.5g}" for v in row["variance"].values()]
        rows.append((f"{row['epsilon']:g}", *shown, f"{row['minimax_3_bits']:.5g}"))
    return table(["ε", *study.VARIANCES, "minimax, 3 bits"], rows, left=0)


def _means(result: dict[str, Any]) -> str:
    labels = list(result["means"][0]["rmse"])
    rows = []
    for cell in result["means"]:
        least = min(value for name, value in cell["rmse"].items() if name != "minimax")
        shown = [f"**{1e3 * v:.3f}**" if v == least else f"{1e3 * v:.3f}" for v in cell["rmse"].values()]
        rows.append((cell["attribute"], f"{cell['epsilon']:g}", cell["k"], *shown))
    return table(["column", "ε", "k", *labels], rows)


def _distributions(result: dict[str, Any]) -> list[str]:
    parts = []
    for metric, says in METRICS.items():
        rows = []
        for cell in result["distributions"]:
            found = cell["methods"]
            least = min(found[name][metric][0] for name in (*ORACLES, "SW + EMS", "HM-NP + 2PEM"))
            shown = []
            for label in LABELS:
                value, error = (1e3 * number for number in found[label][metric])
                mark = "**" if found[label][metric][0] == least else ""
                shown.append(f"{mark}{value:.3g}{mark} ± {error:.2g}")
            rows.append((cell["attribute"], f"{cell['epsilon']:g}", *shown))
        parts += [f"### {says}", table(["column", "ε", *LABELS], rows)]
    return parts


def plots(result: dict[str, Any]) -> "dict[str, Figure]":
    """Return Figure 2 and the worst cases relative to the limit."""
    from matplotlib.figure import Figure

    from discreet.mechanisms.comparison import worst_case_variances
    from discreet.plots import style as house
    from discreet.plots import worst_case_variance

    figure = Figure(figsize=(6.4, 3.8), layout="constrained", facecolor="white")
    axes = small_axes(figure, 1, 1)[0, 0]
    curves = (
        ("published", "pm_sub", "beside PM-sub, as published", house.BLUE, "-"),
        ("corrected", "pm_sub", "beside PM-sub, p₀ corrected", house.GREEN, house.STYLES[1]),
        ("published", "pm_opt", "beside PM-opt", house.VERMILLION, house.STYLES[2]),
    )
    for kind, rival, label, colour, dash in curves:
        cell = result["figure_2"][kind]
        axes.plot(cell["epsilon"], cell[rival]["curve"], color=colour, linestyle=dash, linewidth=1.7, label=label)
    axes.axhline(0, color=house.INK, linewidth=1)
    axes.set_xlim(0, 8)
    axes.set_ylim(-10, 30)
    axes.set_xlabel("ε  (exact, no simulation)", fontsize=9)
    axes.set_ylabel("gain of N-output in worst-case variance, %", fontsize=9)
    axes.legend(fontsize=8, frameon=False)
    names = [name for name in study.VARIANCES.values() if name not in ("duchi", "piecewise")]
    epsilons = [e / 10 for e in range(5, 61, 5)] + [6.5, 7.0, 7.5, 8.0]
    worst = worst_case_variance(worst_case_variances(epsilons, names), epsilons, relative=True)
    return {
        "n_output_figure_2": figure,
        "n_output_worst_case": worst,
        "n_output_figure_3": _figure_3(result),
        "n_output_figure_4": _figure_4(result),
    } | federated.plots(result["figure_5"])


def _figure_3(result: dict[str, Any]) -> "Figure":
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for name in dict.fromkeys(cell["attribute"] for cell in result["means"]):
        cells = [cell for cell in result["means"] if cell["attribute"] == name]
        places = [cell["epsilon"] for cell in cells]
        curves[name] = {
            label: (places, [cell["rmse"][label] / min(cell["rmse"].values()) for cell in cells])
            for label in cells[0]["rmse"]
            if label != "Duchi"
        }
    return panels(curves, "ε", "error / least error")


def _figure_4(result: dict[str, Any]) -> "Figure":
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for metric, says in METRICS.items():
        for name in dict.fromkeys(cell["attribute"] for cell in result["distributions"]):
            cells = [cell for cell in result["distributions"] if cell["attribute"] == name]
            places = [cell["epsilon"] for cell in cells]
            curves[f"{name}\n{says}"] = {
                label: (places, [cell["methods"][label][metric][0] for cell in cells]) for label in SHOWN
            }
    return panels(curves, "ε", "error", log=True)
