"""The AAA paper's page and plots, from the results alone."""

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.mechanisms.families import require_numeric
from discreet.text import thousands
from discreet_papers import frame
from discreet_papers.aaa import accuracy, study
from discreet_papers.aaa.claims import against, rival
from discreet_papers.text import panels, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMPLEMENTED = (
    ("4, 5", "AAA's linear programme", "`adaptive-additive`", "free outputs, or the paper's lattice (`sigma`, `q`)"),
    (
        "6",
        "AAA in two rounds",
        '`Mean(method="aaa", people=n)`',
        "small, reused first round; warns if it cannot pay",
    ),
    ("n-output 4.3", "NP-AAA", '`Mean(method="np-aaa")`', "HM-NP and 2PEM in the first round"),
    ("appendix B", "GRR in round one", '`Mean(method="aaa", pilot="randomized-response", reuse=False)`', "as printed"),
    ("appendix C", "several attributes", '`Means(method="aaa")`', "k answers at ε/k each, k by exact variance"),
    ("beyond", "—", "`minimax`", "no first round: least worst-case variance"),
)
CORRECTED = (
    "**Equation 14** lacks the unbiasedness of equation 10 and every constraint on its geometric tails. As printed its "
    "optimum is a constant output; with unbiasedness restored its likelihood ratio is still infinite. We use one "
    "finite alphabet for all inputs.",
    "**The alphabet must reach C = (e^ε+1)/(e^ε−1)**; the paper's q = 4 cannot be unbiased below ε = ln 2.",
    "**The released code** calibrates the noise to half the domain (a quarter of the variance) and adds it with the "
    "wrong sign.",
    "**Solver answers are repaired** to whole weights and verified in rational arithmetic before anyone is asked with "
    "them; a client checks the table itself.",
    "**Outputs are free**: at most two per knot are ever needed, and the variance is lower than on the lattice.",
    "**First-round reports are reused**, with weights n/(v + Var X); equal weights would be harmful.",
    "**The first round's estimate** is the average over all simple shapes that its reports make likely, not the most "
    "likely one: expected variance is linear in the prior, so the linear programme needs the posterior mean.",
    "**The first round is small**: max(2, 4/ε)/√n of the people, where its cost and the error of its "
    "estimate are about equal.",
    "**Equation 19** neglects the variance of rounding to knots; here it is part of every number.",
    "**People are assigned at random**, not in file order (the released scripts take the first tenth).",
)


def page(result: dict[str, Any], images: str = "") -> str:
    """Return the page in Markdown."""
    return frame.page(
        "aaa",
        "AAA: noise fitted to the distribution, corrected",
        "The paper learns the distribution of the values from a tenth of the people and then solves a linear programme "
        "for the noise of least expected variance. The idea is good, but the printed programme is not private. This "
        "page shows what we implement, what we corrected, and the paper's figures with noise that satisfies ε-LDP.",
        result,
        how="Expected variances are exact. Errors are exact given the people and the first round's reports, drawn "
        f"{result['runs']} times{_shorter(result)} (the paper: 100 runs).",
        implemented=IMPLEMENTED,
        corrected=CORRECTED,
        sections={
            "Figure 3: expected variance when the distribution is known": [
                "Inputs on [−1, 1], including the variance of rounding to knots. *Limit* is a lower bound for every "
                "unbiased ε-LDP mechanism, from a dual certificate with 64 cells. In brackets: an independent "
                "computation with another solver.",
                _variances(result),
                frame.picture(
                    images, "aaa_variance", "Expected variance over the limit, against ε, for three distributions"
                ),
            ],
            "Figure 4: errors of means in two rounds": [
                "n × mean squared error. *As published*: randomised response, a tenth of the people, lattice, no "
                "reuse, correctly scaled noise; in brackets: an independent run. *Best* is the best one-round "
                "mechanism of all papers. *s* is the share of our first round, and *taught / best* the ratio we would "
                "get if it revealed the distribution exactly.",
                _errors(result),
                _lost(result),
                frame.picture(images, "aaa_errors", "Errors over the best one-round mechanism, synthetic people"),
            ],
            "Beyond the paper: other distributions": [
                "Five answers of unequal popularity (`likert`), a normal distribution clipped at both ends, a skewed "
                "log-normal, two triangles, and shares with many zeros. They are not an independent test: one "
                "parameter of the method was chosen on the first of them when all five were known.",
                _fresh(result),
            ],
            "Figure 5: real columns": [
                "All people of each column. *Whole range* scales by the largest value, as the paper does; otherwise "
                "the range is one that an analyst would choose.",
                _columns(result),
                frame.picture(images, "aaa_columns", "Errors over the best one-round mechanism, real columns"),
            ],
            "Figures 6 and 8: share, bin size, noise range": [
                "AAA as published; n × mean squared error. Bins of 0.125 (Gaussian) and 1 (Bernoulli) unless "
                "they vary, s = 0.05, and q = 8 rather than the paper's 4, with which there is no unbiased "
                "mechanism at ε = 0.5.",
                _settings(result),
                frame.picture(images, "aaa_bins", "Error against the bin size"),
            ],
            "Figure 7: several attributes": [
                "n × the sum of squared errors over the attributes; each person answers k of them at ε/k. *Known* is "
                "given every attribute's distribution: the most that adaptation could gain. *As published* and *aaa* "
                "are two rounds with the n/d people who answer each question; "
                f"{result['dimensions'][0]['runs']} collections.",
                _dimensions(result),
                frame.picture(images, "aaa_dimensions", "Error over the best competitor, many attributes"),
            ],
            "Figures 1 and 2: the channels": [
                frame.picture(images, "aaa_channel_gaussian", "Channel for N(0, 0.2²) at ε = 2"),
                frame.picture(images, "aaa_channel_exponential", "Channel for Exp(6) at ε = 2"),
                frame.picture(images, "aaa_channel_beta", "Channel for Beta(½, ½) at ε = 2"),
                "Each column is the distribution of one input's report, exactly 2-LDP and exactly unbiased. Where many "
                "people are, noise concentrates around the input, and rare outputs far away keep it unbiased, as the "
                "paper says of its own.",
            ],
            "The solver": [
                "CPU seconds of one thread, N(0, 0.2²), best of three up to N = 32: the paper's lattice with M = 3N; "
                "free outputs with a bound for all real ones; and the table repaired and verified exactly, which a "
                "plan needs between its rounds. Sparse HiGHS in the same run, up to N = 32.",
                _solver(result),
            ],
        },
        takes=("half an hour", "a minute"),
    )


def _shorter(result: dict[str, Any]) -> str:
    return "" if result["runs"] == study.RUNS else f", fewer than the {study.RUNS} of the command without --quick"


def _people(cell: dict[str, Any]) -> str:
    return thousands(cell["n"])


def _figure(value: float | None) -> str:
    return "—" if value is None else f"{value:.4g}"


def _variances(result: dict[str, Any]) -> str:
    head = ["distribution", "ε", "Laplace", "Duchi", "PM", "HM", "HM-NP", "minimax"]
    head += ["lattice, N = 100", "free, N = 16", "free, N = 32", "limit", "best rival / limit"]
    rows = []
    for cell in result["variance"]:
        one, earlier = cell["one_round"], cell["earlier"]
        shown = [_figure(one[name]) for name in (*accuracy.RIVALS, "hybrid-np", "minimax")]
        values = (cell["lattice_100"], cell["free_16"], cell["free_32"], cell["limit"])
        both = [f"{_figure(a)} ({_figure(b)})" for a, b in zip(values, earlier[:4], strict=True)]
        best, name = rival(cell)
        rows.append(
            (study.SHAPES[cell["shape"]], f"{cell['epsilon']:g}", *shown, *both, f"{best / cell['limit']:.3f} ({name})")
        )
    return table(head, rows)


def _methods(cell: dict[str, Any]) -> list[str]:
    means = {name: value["mean"] for name, value in cell["methods"].items()}
    ratio = against(cell, "aaa", cell["best"])
    mark = "**" if ratio <= study.TIE else ""
    return [
        *(_figure(means[name]) for name in accuracy.RIVALS),
        f"{_figure(means[cell['best']])} ({cell['best']})",
        _figure(means["minimax"]),
        _figure(means["as published"]),
        _figure(means["np-aaa"]),
        f"{mark}{_figure(means['aaa'])}{mark}",
        f"{mark}{ratio:.3f}{mark}",
        f"{cell['taught'] / means[cell['best']]:.3f}",
        f"{cell['share']:.3g}",
    ]


METHODS = ["Laplace", "Duchi", "PM", "HM", "best", "minimax", "as published", "np-aaa", "aaa", "aaa / best"]
METHODS += ["taught / best", "s"]


def _errors(result: dict[str, Any]) -> str:
    rows = []
    for cell in result["error"]:
        shown = _methods(cell)
        shown[6] += f" ({_figure(cell['earlier_as_published'])})"
        rows.append((cell["people"], _people(cell), f"{cell['epsilon']:g}", *shown))
    return table(["people", "n", "ε", *METHODS], rows)


def _lost(result: dict[str, Any]) -> str:
    lost = [cell for cell in result["error"] if against(cell, "aaa", cell["best"]) > study.TIE]
    if not lost:
        return "Ours ties (within 2 %) or beats the best one-round mechanism in every cell."
    said = ", ".join(
        f"{cell['people']} n = {cell['n']} ε = {cell['epsilon']:g} ({against(cell, 'aaa', cell['best']):.3f})"
        for cell in lost
    )
    least = min(cell["taught"] / cell["methods"][cell["best"]]["mean"] for cell in lost)
    return (
        f"Bold: ours ties (within 2 %) or beats the best one-round mechanism. It does not in {len(lost)} of "
        f"{len(result['error'])} cells: {said}. In these cells everyone is at one of the two ends, where Duchi is "
        "optimal without a first round. A method that does not know this must ask some people with a mechanism that "
        f"can find out; ours has {_excess(lost):.2f} times Duchi's variance there. So even if a first round with the "
        f"share s, chosen for all distributions, revealed the truth, the ratio would be at least {least:.3f}."
    )


def _excess(cells: list[dict[str, Any]]) -> float:
    """Return the largest ratio of the first mechanism's variance at the two ends to Duchi's."""
    ends = np.array([-1.0, 1.0])
    return max(
        float(
            require_numeric(accuracy.adaptive("aaa", e, 1_000).first, "A mean").variance(ends).mean()
            / accuracy.one_round("duchi", e).variance(ends).mean()
        )
        for e in {cell["epsilon"] for cell in cells}
    )


def _fresh(result: dict[str, Any]) -> str:
    rows = [(cell["people"], _people(cell), f"{cell['epsilon']:g}", *_methods(cell)) for cell in result["fresh"]]
    return table(["people", "n", "ε", *METHODS], rows)


def _columns(result: dict[str, Any]) -> str:
    rows = [(cell["column"], _people(cell), f"{cell['epsilon']:g}", *_methods(cell)) for cell in result["column"]]
    return table(["column", "n", "ε", *METHODS], rows)


def _settings(result: dict[str, Any]) -> str:
    first = result["settings"][0]
    keys = [(kind, key) for kind in ("share", "bin", "range") for key in first[kind]]
    names = {"share": "s", "bin": "σ", "range": "q"}
    head = ["people", "n", "ε", *(f"{names[kind]} = {float(key):g}" for kind, key in keys)]
    rows = []
    for cell in result["settings"]:
        values = [cell[kind][key] for kind, key in keys]
        shown = ("impossible" if v is None else _figure(v["mean"]) for v in values)
        rows.append((cell["people"], _people(cell), f"{cell['epsilon']:g}", *shown))
    return table(head, rows)


def _dimensions(result: dict[str, Any]) -> str:
    cells = result["dimensions"]
    d = cells[0]["d"]
    names = (*accuracy.RIVALS, "hybrid-np", "minimax", "known", "as published", "aaa")
    head = ["ε", *names, "minimax, k = 2", f"minimax, k = {d}", "k of `Means`"]
    rows = [
        (
            f"{cell['epsilon']:g}",
            *(_figure(cell["k=1"].get(name)) for name in names),
            _figure(cell["k=2"]["minimax"]),
            _figure(cell[f"k={d}"]["minimax"]),
            cell["chosen"],
        )
        for cell in cells
    ]
    return f"d = {d} attributes.\n\n" + table(head, rows, left=0)


def _solver(result: dict[str, Any]) -> str:
    head = ["N", "ε", "lattice", "HiGHS", "times faster", "difference", "free", "bound gap", "table", "target"]
    rows = [
        (
            cell["cells"],
            f"{cell['epsilon']:g}",
            f"{cell['lattice']:.3f}",
            f"{cell['highs']:.2f}" if "highs" in cell else "—",
            f"{cell['highs'] / cell['lattice']:.0f}" if "highs" in cell else "—",
            f"{cell['difference']:.0e}" if "highs" in cell else "—",
            f"{cell['free']:.3f}",
            f"{cell['gap']:.0e}",
            f"{cell['table']:.3f}",
            f"{cell['target']:g}",
        )
        for cell in result["solver"]
    ]
    return table(head, rows, left=0)


Curves = dict[str, dict[str, tuple[list[float], list[float]]]]


def _ratios(cells: list[dict[str, Any]], title: str) -> Curves:
    """Return errors over the best one-round mechanism against epsilon, a panel for each distribution or column."""
    found: Curves = {}
    for cell in cells:
        name = cell[title] + (f", n = {_people(cell)}" if title == "people" else "")
        best = cell["methods"][cell["best"]]["mean"]
        for method in ("minimax", "as published", "np-aaa", "aaa"):
            places, heights = found.setdefault(name, {}).setdefault(method, ([], []))
            places.append(cell["epsilon"])
            heights.append(cell["methods"][method]["mean"] / best)
    return found


def _bins(result: dict[str, Any]) -> Curves:
    """Return errors relative to the least, against the bin size."""
    found: Curves = {}
    for cell in result["settings"]:
        sizes = {float(size): value["mean"] for size, value in cell["bin"].items() if value is not None}
        least = min(sizes.values())
        panel = found.setdefault(f"{cell['people']}, n = {_people(cell)}", {})
        panel[f"ε = {cell['epsilon']:g}"] = ([*sizes], [value / least for value in sizes.values()])
    return found


def _many(result: dict[str, Any]) -> Curves:
    """Return errors relative to the best competitor's, against epsilon."""
    panel: dict[str, tuple[list[float], list[float]]] = {}
    for cell in result["dimensions"]:
        best = min(cell["k=1"][name] for name in accuracy.RIVALS)
        for method in ("minimax", "known", "as published", "aaa"):
            if method in cell["k=1"]:
                places, heights = panel.setdefault(method, ([], []))
                places.append(cell["epsilon"])
                heights.append(cell["k=1"][method] / best)
    return {f"{result['dimensions'][0]['d']} attributes": panel}


def plots(result: dict[str, Any]) -> "dict[str, Figure]":
    """Return Figures 3 to 8 relative to the best, and the channels of Figures 1 and 2."""
    from discreet.mechanisms.numeric.adaptive_additive import adaptive_additive
    from discreet.plots import channel

    names = (*accuracy.RIVALS[1:], "hybrid-np", "minimax")
    curves: Curves = {title: {} for title in study.SHAPES.values()}
    for cell in result["variance"]:
        heights = {name: cell["one_round"][name] for name in names} | {"free, N = 32": cell["free_32"]}
        for name, height in heights.items():
            one = curves[study.SHAPES[cell["shape"]]].setdefault(name, ([], []))
            one[0].append(cell["epsilon"])
            one[1].append(height / cell["limit"])
    up = "error / best one-round"
    found = {
        "aaa_variance": panels(curves, "ε", "expected variance / limit", line=1.0),
        "aaa_errors": panels(_ratios(result["error"], "people"), "ε", up, line=1.0),
        "aaa_columns": panels(_ratios(result["column"], "column"), "ε", up, line=1.0),
        "aaa_bins": panels(_bins(result), "bin size σ", "error / least", log=True, line=1.0),
        "aaa_dimensions": panels(_many(result), "ε", "error / best rival", line=1.0),
    }
    for axes in found["aaa_variance"].axes:
        axes.set_ylim(0.95, 2.5)  # Duchi's values at large epsilon would flatten the other curves
    u = (np.arange(accuracy.POINTS) + 0.5) / accuracy.POINTS
    from scipy.special import ndtri

    people = {
        "gaussian": np.clip(0.2 * ndtri(u), -1, 1),
        "exponential": accuracy.quantiles("exp6"),
        "beta": accuracy.quantiles("beta55"),
    }
    for name, x in people.items():
        found[f"aaa_channel_{name}"] = channel(adaptive_additive(2.0, prior=accuracy.knot_mass(x, 32).tolist()))
    return found
