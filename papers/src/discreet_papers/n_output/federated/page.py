"""Figure 5 of the N-output paper: claims, tables and plots, from the results alone."""

from typing import TYPE_CHECKING, Any

from discreet_papers import frame
from discreet_papers.n_output.federated.study import (
    BUDGETS,
    CASE_STUDY,
    KS,
    RANGE,
    RANGES,
    REFERENCE,
    SETS,
    TUNED,
    against_reference,
    difference,
    rank_correlation,
)
from discreet_papers.text import small_axes, styles, table
from discreet_papers.verdicts import FAILS, HOLDS, WRONG, Claims, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("non-private", "as published: HM-NP", "as published: HM-TP", "as published: PM-sub", "HM-NP", TUNED)
"""Curves of the plot."""


def claims(figure: dict[str, Any]) -> Claims:
    """Return the claims of the paper's section 5.3, and ours."""
    cells = figure["cells"]
    equal = [difference(cells[data], "HM-NP", rival) for data in SETS for rival in ("HM-TP", "PM-sub")]
    printed = [difference(cells[data], "as published: HM-NP", "as published: HM-TP") for data in SETS]
    ahead = [difference(cells[data], "as published: HM-TP", "as published: PM-sub") for data in SETS]
    near = [difference(cells[data], "HM-NP", "non-private") for data in SETS]
    tuned = [difference(cells[data], TUNED, "HM-NP") for data in SETS]
    spent = cells[SETS[0]]["HM-NP"]["spent"]
    worst = figure["epsilon"] * figure["rounds"]
    names = figure["mechanisms"]
    ranks = {by: [rank_correlation(figure, data, by) for data in SETS] for by in ("met", "worst_case")}
    return [
        claim(
            "5.3, Fig. 5",
            "HM-NP is consistently more accurate than HM-TP and PM-sub",
            f"at equal k, percentage points over HM-TP and PM-sub: {_gaps(equal[:2])} (gamma), {_gaps(equal[2:])} "
            f"(shuttle); as published over HM-TP: {_gaps(printed)}",
            HOLDS if all(map(_clear, equal)) else WRONG if all(map(_clear, printed)) else FAILS,
            "the released code runs “HM-NP” as HM-TP with k = 1, and HM-TP with k = 2: the gain comes from k",
        ),
        claim(
            "5.3, Fig. 5",
            "HM-TP is slightly more accurate than PM-sub",
            f"as published {_gaps(ahead)} (gamma, shuttle)",
            all(map(_clear, ahead)),
            "HM-TP was given k = 2, PM-sub k = 1, which is better",
        ),
        claim(
            "5.3, Fig. 5",
            "on gamma HM-NP comes close to learning without privacy",
            f"{_gaps(near[:1])} on gamma ({_gaps(near[1:])} on shuttle)",
            near[0][0] > -1,
            "so does every mechanism whose variance near zero is small",
        ),
        claim(
            "5.3",
            f"federated learning with ε = {figure['epsilon']:g}",
            f"ε = {figure['epsilon']:g} is per round: over {figure['rounds']} rounds a client spends "
            f"{spent['mean']:.0f} on average, one in a hundred {spent['p99']:.0f}, the busiest {spent['busiest']:.0f}, "
            f"and {worst:g} if drawn every time",
            WRONG if spent["mean"] > figure["epsilon"] else HOLDS,
            "the budgets of rounds add up; the paper does not say so",
        ),
        claim(
            "not in the paper",
            "(ours) the variance near zero says more about the accuracy than the worst case",
            f"rank correlation of accuracy, over {len(names)} mechanisms (gamma, shuttle): "
            f"{_both(ranks['met'])} with the variance at the updates that occurred, "
            f"{_both(ranks['worst_case'])} with the worst case",
            all(met < least for met, least in zip(ranks["met"], ranks["worst_case"], strict=True)),
        ),
        claim(
            "not in the paper",
            "(ours) the mechanism tuned to small updates is at least as accurate as HM-NP",
            f"{_gaps(tuned)} (gamma, shuttle), with "
            f"{100 * (1 - cells['gamma'][TUNED]['variance_met'] / cells['gamma']['HM-NP']['variance_met']):.0f} % and "
            f"{100 * (1 - cells['shuttle'][TUNED]['variance_met'] / cells['shuttle']['HM-NP']['variance_met']):.0f} % "
            "less variance at the updates that occurred",
            all(gap > -2 * error for gap, error in tuned),
        ),
    ]


def _clear(gap: tuple[float, float]) -> bool:
    return gap[0] > 2 * gap[1]


def _gaps(gaps: list[tuple[float, float]]) -> str:
    return ", ".join(f"{gap:+.2f} ± {error:.2f}".replace("-", "−") for gap, error in gaps)


def _both(numbers: list[float]) -> str:
    return " and ".join(f"{number:+.2f}".replace("-", "−") for number in numbers)


def sections(figure: dict[str, Any], images: str) -> dict[str, list[str]]:
    """Return this section of the page: heading and paragraphs."""
    paper = all(figure["paper_data"].values())
    source = (
        "The paper's own data (UCI MAGIC gamma telescope, Statlog shuttle)."
        if paper
        else "Drawn data of the same size, because the paper's files are not here: accuracies cannot be compared."
    )
    parts = [
        f"{source} Softmax regression; {figure['clients']} clients, {figure['drawn']} per round, {figure['rounds']} "
        f"rounds, ε = {figure['epsilon']:g} per round, updates clipped to ±{figure['range']:g}. Test accuracy after "
        f"the last round in per cent, {figure['runs']} runs ± standard error; all settings share shards, first models "
        "and the clients of each round. More: [federated learning](../federated.md).",
        case_study(figure),
        "*Reference*: an independent implementation of the same protocol, 30 runs."
        + (f" {agreement(figure)}" if paper else ""),
        frame.picture(images, "n_output_figure_5", "Accuracy by round, and against two variances"),
        "Mechanisms at k = 1, ordered by their variance at the updates that occurred. Inputs are updates divided by "
        "the range.",
        mechanisms(figure),
    ]
    if not figure_is_quick(figure):
        parts += [
            "More coordinates per client, each at ε/k:",
            by_k(figure),
            "Other ranges:",
            by_range(figure),
            "A limit on what a client may spend over all rounds, and what it costs in accuracy:",
            by_budget(figure),
        ]
    return {"Figure 5: federated learning": parts}


def agreement(figure: dict[str, Any]) -> str:
    """Compare the table with the reference; name the differences above two standard errors."""
    apart = {
        f"{CASE_STUDY[name].label} on {data} ({abs(value):.1f})": abs(value)
        for data, found in against_reference(figure).items()
        for name, value in found.items()
    }
    beyond = [says for says, value in apart.items() if value > 2]
    told = f"Of {len(apart)} differences {len(apart) - len(beyond)} are within two standard errors (of both)"
    if not beyond:
        return f"{told}."
    return f"{told}; beyond: {'; '.join(beyond)}. One in twenty is expected by chance."


def figure_is_quick(figure: dict[str, Any]) -> bool:
    """Return whether the sweeps were left out."""
    return not set(BUDGETS) <= set(figure["cells"][SETS[0]])


def _accuracy(cell: dict[str, Any]) -> str:
    return f"{cell['accuracy']:.2f} ± {cell['standard_error']:.2f}"


def case_study(figure: dict[str, Any]) -> str:
    """Return the table of the case study beside the reference."""
    rows = []
    for name, setting in CASE_STUDY.items():
        row = [setting.label]
        for place, data in enumerate(SETS):
            row.append(_accuracy(figure["cells"][data][name]))
            told = REFERENCE.get(name)
            row.append("—" if told is None else f"{told[place][0]:.2f} ± {told[place][1]:.2f}")
        rows.append(row)
    return table(["setting", "gamma", "reference", "shuttle", "reference"], rows)


def mechanisms(figure: dict[str, Any]) -> str:
    """Return mechanisms by variance, least first."""
    cells = figure["cells"]
    names = sorted(figure["mechanisms"], key=lambda name: sum(cells[data][name]["variance_met"] for data in SETS))
    rows = [
        [
            name,
            *(f"{figure['mechanisms'][name][at]:.4f}" for at in ("at_zero", "at_a_tenth", "worst_case")),
            *(
                shown
                for data in SETS
                for shown in (f"{cells[data][name]['variance_met']:.4f}", _accuracy(cells[data][name]))
            ),
        ]
        for name in names
    ]
    head = ["mechanism", "variance at 0", "at 0.1", "worst case", "met, gamma", "gamma", "met, shuttle", "shuttle"]
    return table(head, rows)


def by_k(figure: dict[str, Any]) -> str:
    """Return accuracy against k."""
    names = {1: ("HM-NP", TUNED)} | {k: (f"HM-NP, k = {k}", f"{TUNED}, k = {k}") for k in KS}
    cells = figure["cells"]
    rows = [[k, *(_accuracy(cells[data][name]) for data in SETS for name in both)] for k, both in names.items()]
    return table(["k", "gamma: HM-NP", "tuned", "shuttle: HM-NP", "tuned"], rows, left=0)


def by_range(figure: dict[str, Any]) -> str:
    """Return accuracy against the range, and how many updates were clipped."""
    names = {r: (f"HM-NP, range {r:g}", f"{TUNED}, range {r:g}") for r in RANGES} | {RANGE: ("HM-NP", TUNED)}
    rows = []
    for reach, both in sorted(names.items()):
        row = [f"±{reach:g}"]
        for data in SETS:
            cells = [figure["cells"][data][name] for name in both]
            row += [f"{cells[0]['clipped_percent']:.2g} %", *map(_accuracy, cells)]
        rows.append(row)
    head = ["range", "gamma: clipped", "HM-NP", "tuned", "shuttle: clipped", "HM-NP", "tuned"]
    return table(head, rows, left=0)


def by_budget(figure: dict[str, Any]) -> str:
    """Return accuracy against what a client may spend in total."""
    rows = []
    for name in (TUNED, *BUDGETS):
        cell = figure["cells"][SETS[0]][name]
        limit = BUDGETS[name].limit if name in BUDGETS else None
        most = cell["epsilon"] * figure["rounds"] if limit is None else limit
        label = BUDGETS[name].label if name in BUDGETS else f"ε = {cell['epsilon']:g} per round, no limit"
        spent = [f"{cell['spent'][key]:.3g}" for key in ("mean", "busiest")]
        rows.append([label, *spent, f"{most:g}", *(_accuracy(figure["cells"][data][name]) for data in SETS)])
    return table(["tuned to small updates, k = 1", "spent: mean", "busiest", "at most", *SETS], rows)


def plots(figure: dict[str, Any]) -> "dict[str, Figure]":
    """Return Figure 5, and below it accuracy against the variance at the updates and against the worst case."""
    from matplotlib.figure import Figure

    from discreet.plots import style as house

    drawn = styles(SHOWN)
    drawn["non-private"] |= {"color": house.INK, "linestyle": house.STYLES[2]}
    picture = Figure(figsize=(8.4, 6.6), layout="constrained", facecolor="white")
    axes = small_axes(picture, 2, len(SETS))
    for column, data in enumerate(SETS):
        cells = figure["cells"][data]
        curves, dots = axes[0, column], axes[1, column]
        for name in SHOWN:
            curve = cells[name]["curve"]
            curves.plot(range(1, len(curve) + 1), curve, label=CASE_STUDY[name].label, **drawn[name])
        curves.set_ylim(bottom=min(cells[name]["accuracy"] for name in SHOWN) - 6)  # the first rounds look alike
        curves.set_title(data, fontsize=9)
        curves.set_xlabel("round", fontsize=9)
        for by, colour, mark, label in (
            ("met", house.BLUE, "o", "variance at the updates that occurred"),
            ("worst", house.VERMILLION, "x", "worst-case variance"),
        ):
            places = [
                cells[name]["variance_met"] if by == "met" else facts["worst_case"]
                for name, facts in figure["mechanisms"].items()
            ]
            heights = [cells[name]["accuracy"] for name in figure["mechanisms"]]
            dots.plot(places, heights, mark, color=colour, label=label, markersize=5)
        dots.set_xscale("log")
        dots.set_xlabel("variance of the mechanism (one point each, k = 1)", fontsize=9)
        dots.axhline(cells["non-private"]["accuracy"], color=house.INK, linestyle=house.STYLES[2], linewidth=1)
    for row, says in zip(axes, ("test accuracy, %", "accuracy after the last round, %"), strict=True):
        row[0].set_ylabel(says, fontsize=9)
    axes[0, 0].legend(fontsize=7, frameon=False, loc="lower right")
    axes[1, 0].legend(fontsize=7, frameon=False, loc="lower left")
    return {"n_output_figure_5": picture}
