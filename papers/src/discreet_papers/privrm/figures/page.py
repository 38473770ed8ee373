"""Sections and plots of PrivRM's Figures 2, 3 and 5 to 8, from the results alone."""

from typing import TYPE_CHECKING, Any

from discreet.text import thousands
from discreet_papers import frame
from discreet_papers.privrm.figures import study as figures
from discreet_papers.privrm.figures.claims import ADJUSTED
from discreet_papers.text import number, panels, small_axes, styles, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def budgets(images: str) -> dict[str, list[str]]:
    """Return heading and picture of Figure 2."""
    says = "ε′ of each phase of PrivRM* against ε, for five inner mechanisms"
    return {"Figure 2: the budget of each phase": [frame.picture(images, "privrm_figure_2", says)]}


def sections(result: dict[str, Any], images: str) -> dict[str, list[str]]:
    """Return headings and paragraphs of Figures 5 to 8."""
    return {
        "Figure 5: the size of the range": [
            f"Root mean squared error in the column's units, PM inside, ε = {figures.FIXED:g}, ranges from the lower "
            "end of the domain on; the whole domain has size 2. *PrivRM* is the better of ^I and * as published, "
            "*outside-symbol* ours with PM; both exact.",
            _sizes(result),
            frame.picture(images, "privrm_figure_5", "Error against the size of the range, for every column"),
        ],
        "Figure 6: the implementations": [
            f"{result['figure_6'][0]['question'].capitalize()}: exact error of ^I, ^O and * as published, over the "
            "least of the three; then measured errors of * over ^I with adaptive adjustment as printed.",
            _implementations(result),
        ],
        "Figure 7: bins of the distribution": [
            f"Lower halves, ε = {figures.FIXED:g}: root mean squared error of the distribution's own range mean, "
            "beside PrivRM with PM as published (exact) and adjusted (measured).",
            _bins(result),
        ],
        "Figure 8: original and unbiased Square Wave": [
            f"Exact mean squared error of the mean of {thousands(figures.PEOPLE)} people, ".replace(",", " ")
            + f"a Gaussian with standard deviation {figures.SPREAD:g} truncated to (0, 300), in the domain's units.",
            _waves(result),
            frame.picture(images, "privrm_figure_8", "Both errors against ε and against the centre"),
        ],
    }


def _sizes(result: dict[str, Any]) -> str:
    rows = [
        (
            cell["question"],
            f"{cell['size']:g}",
            f"{cell['share']:.3f}",
            *(number(cell["measured"][name]) for name in ("direct/piecewise", "distribution")),
            number(cell["optimal"]),
            number(cell["measured"][ADJUSTED]),
            number(cell["outside-symbol"]),
        )
        for cell in result["figure_5"]
    ]
    head = ["column", "size", "share inside", "direct", "distribution", "PrivRM", "adjusted, printed", "outside-symbol"]
    return table(head, rows)


def _implementations(result: dict[str, Any]) -> str:
    cells = result["figure_6"]
    names, methods = list(cells[0]["exact"]), list(cells[0]["exact"]["SR"])
    short = {"privrm-i": "^I", "privrm-o": "^O", "privrm-star": "*"}
    rows = []
    for cell in cells:
        shown = [f"{cell['exact'][n][m] / min(cell['exact'][n].values()):.2f}" for n in names for m in methods]
        more = [f"{cell['adjusted'][n]['privrm-star'] / cell['adjusted'][n]['privrm-i']:.2f}" for n in cell["adjusted"]]
        rows.append((f"{cell['epsilon']:g}", *shown, *more))
    head = [
        "ε",
        *(f"{n} {short[m]}" for n in names for m in methods),
        *(f"{n} */^I, adj." for n in cells[0]["adjusted"]),
    ]
    return table(head, rows, left=0)


def _bins(result: dict[str, Any]) -> str:
    cells = result["figure_7"]
    bins = list(cells[0]["distribution"])
    rows = [
        (c["question"], *(number(c["distribution"][b]) for b in bins), number(c["optimal"]), number(c["adjusted"]))
        for c in cells
    ]
    return table(["column", *(f"{b} bins" for b in bins), "PrivRM", "adjusted, printed"], rows)


def _waves(result: dict[str, Any]) -> str:
    cell, unit = result["figure_8"], 150.0**2
    rows = [
        (says.format(place), *(number(unit * error) for error in pair))
        for kind, says in (("epsilon", "centre 100, ε = {}"), ("centre", "centre {}, ε = 1"))
        for place, pair in cell[kind].items()
    ]
    return table(["people", "original", "unbiased"], rows)


def plots(result: dict[str, Any]) -> "dict[str, Figure]":
    """Return Figures 2, 5 and 8."""
    return {
        "privrm_figure_2": _figure_2(result["figure_2"]),
        "privrm_figure_5": _figure_5(result["figure_5"]),
        "privrm_figure_8": _figure_8(result["figure_8"]),
    }


def _figure_2(cell: dict[str, Any]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8), layout="constrained", facecolor="white")
    axes, drawn = small_axes(figure, 1, 1)[0, 0], styles([*cell["curves"], "^I and ^O: ε/2"])
    for name, curve in cell["curves"].items():
        axes.plot(cell["epsilon"], curve, label=name, **drawn[name])
    axes.plot(cell["epsilon"], [e / 2 for e in cell["epsilon"]], label="^I and ^O: ε/2", **drawn["^I and ^O: ε/2"])
    axes.set_xlabel("ε of the whole report  (exact)", fontsize=9)
    axes.set_ylabel("ε′ of each phase", fontsize=9)
    axes.legend(fontsize=8, frameon=False)
    return figure


def _figure_5(cells: list[dict[str, Any]]) -> "Figure":
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for name in dict.fromkeys(cell["question"] for cell in cells):
        of = [cell for cell in cells if cell["question"] == name]
        heights = {
            "direct": [cell["measured"]["direct/piecewise"] for cell in of],
            "distribution": [cell["measured"]["distribution"] for cell in of],
            "PrivRM": [cell["optimal"] for cell in of],
            "adjusted, printed": [cell["measured"][ADJUSTED] for cell in of],
            "outside-symbol": [cell["outside-symbol"] for cell in of],
        }
        curves[name] = {label: ([cell["size"] for cell in of], curve) for label, curve in heights.items()}
    return panels(curves, "size of the range", "error", most=2, log=True)


def _figure_8(cell: dict[str, Any]) -> "Figure":
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for kind, says in (("epsilon", "against ε, centre 100"), ("centre", "against the centre, ε = 1")):
        places = [float(place) for place in cell[kind]]
        curves[says] = {
            label: (places, [150.0**2 * pair[i] for pair in cell[kind].values()])
            for i, label in enumerate(("original", "unbiased"))
        }
    return panels(curves, "", "mean squared error", log=True)
