"""PrivRM's page and plots, from the results alone."""

from typing import TYPE_CHECKING, Any

from discreet_papers import frame
from discreet_papers.privrm import levels as study
from discreet_papers.privrm.claims import auto, best_of, biased
from discreet_papers.privrm.figures import page as figures
from discreet_papers.text import number, panels, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMPLEMENTED = (
    ("3.2", "direct, distribution", '`RangeMean(method="direct")`, `"distribution"`', "biased baselines"),
    ("4.1", "PrivRM^I", '`method="privrm-i"`', "t′ = 0, or random as printed; exact calibration"),
    ("4.2", "PrivRM^O", '`method="privrm-o"`', "exact calibration: 2ε/3 + 2ε/3 with PM, not ε/2 + ε/2"),
    ("5.1", "PrivRM*", '`method="privrm-star"`', "the largest ε′ by root finding, rounded down; bit-weighted sum"),
    ("5.3", "the guideline", '`method="auto"`', "full variance of every candidate, from a first round that is reused"),
    ("6", "adaptive adjustment", "only in this study", "clips instead of dropping, and as printed; no honest interval"),
    ("beyond", "—", '`method="outside-symbol"`', "one more report, ⊥; the value keeps the whole ε"),
)
CORRECTED = (
    "**Levels are computed**, from the finite table of the joint report. Table 2 rounds two constants: HM between "
    "p = 0.6478 and 0.65 and TLM between 0.7496 and 0.75 spend more than stated.",
    "**Out-of-range draws** with HM or TLM must come from the mixture of atoms and interval; a uniform draw has no "
    "finite ε.",
    "**Var(Y) of PrivRM*** has inside and outside swapped and is four times too small, and it is not negligible: the "
    "error of the count is of the same order as that of the sum, and PrivRM* does not become exact as ε grows.",
    "**Var(X) of PrivRM^I** omits the variance 1/3 of the random t′; all variances omit the half-width squared.",
    "**TLM need not be biased**: decoding its end atoms as ±(1 + 2/ε) makes it exactly unbiased.",
    "**Table 3** omits k₂ of Square Wave and uses t in [−1, 1] instead of [0, 1].",
    "**Adaptive adjustment** compares sums, so it depends on where zero is; ours compares means, clips, and treats a "
    "half as empty if it holds less than EM's own noise.",
    "**Intervals** come from the tally (Fieller's where the count is weak); the paper gives none.",
)


def page(result: dict[str, Any], images: str = "") -> str:
    """Return the page in Markdown."""
    runs = result["repeats"]
    close, far = auto(result)
    said = f"`auto` is within 10 % of the best unbiased method in {close} of {close + len(far)} cells"
    said += "." if not far else f"; not in {', '.join(far)}."
    return frame.page(
        "privrm",
        "PrivRM: range means with exact ε, and a better mechanism with one more symbol",
        "The mean of those whose number lies in a range, where nobody reveals whether theirs does. The paper gives "
        "three ways to randomise a tag and a value together. This page shows their exact privacy levels, their errors "
        "on real columns beside a mechanism with one more symbol, and which of the paper's claims hold.",
        result,
        how="Errors of ranged mechanisms are exact given the people, before the estimate is clipped to the range "
        "(which helps where people are at its end, as with fares at small ε). Those of the baselines and of adaptive "
        f"adjustment are measured over {runs['plans']} collections (the paper: 50), so they are known to about "
        f"±{100 / (2 * runs['plans']) ** 0.5:.0f} %.",
        implemented=IMPLEMENTED,
        corrected=CORRECTED,
        sections={
            "Table 2: the level of PrivRM*": [
                "Tag probability p, inner mechanism at ε′ = logit p; exact level of the joint report and, in brackets, "
                "the paper's closed form. TLM is the continuous mechanism; the others are the actual mechanisms, with "
                "the paper's draw.",
                _levels(result),
                "Where the paper's constants were rounded:",
                _edges(result),
                "The largest ε′ for a total of ε, by root finding on the exact level, rounded down:",
                _largest(result),
            ],
        }
        | figures.budgets(images)
        | {
            "What ε/2 + ε/2 actually spends": [_splits(result)],
            "Figure 3: the guideline of section 5.3": [
                "The ε above which PrivRM^I has less variance than PrivRM*, both as published, by the full variance; μ "
                "is the mean inside on [−1, 1], π the share of people inside, the variance inside 0.05.",
                _guideline(result),
            ],
            "Figure 4: errors on whole columns and their lower halves": [
                _questions(result),
                "Root mean squared error of the mean inside, in the column's units. *Published* is the best of "
                "PrivRM^I, ^O and * with SR, PM, HM and unbiased SW as printed; *tag, ours* the best of them, exactly "
                "calibrated, with the best draw and the bit-weighted sum; *auto* includes the cost of its first round. "
                "*Adjusted* is PrivRM* with SR and adaptive adjustment, as printed and ours, and `auto` with it.",
                _errors(result),
                said + " This comparison is exact, without sampling noise. " + _lower(result),
                frame.picture(images, "privrm_errors", "Error over the best exact one, against ε, for every question"),
            ],
        }
        | figures.sections(result, images),
        takes=("a quarter of an hour", "a minute"),
    )


def _lower(result: dict[str, Any]) -> str:
    lower = biased(result)
    if not lower:
        return "No biased method was measured clearly below it."
    return (
        "Biased methods, which `auto` does not choose by default, were measured clearly lower (1.6 standard errors) "
        f"in {len(lower)} cells: {', '.join(lower)}. There the noise of the range's width is large compared to the "
        "bias. `RangeMean` does not offer adjustment: where values are heaped, 95 % intervals that allowed for its "
        "bias held the truth in only 38 to 78 % of collections. Ask about a narrower range instead."
    )


def _levels(result: dict[str, Any]) -> str:
    cells = {cell["inner"]: {row["p"]: row for row in cell["rows"]} for cell in result["levels"]}
    rows = [
        (f"{p:g}", *(f"{cells[name][p]['exact']:.5f} ({cells[name][p]['printed']:.5f})" for name in cells))
        for p in study.SHARES
    ]
    return table(["p", *cells], rows, left=0)


def _edges(result: dict[str, Any]) -> str:
    rows = [
        (cell["inner"], f"{row['p']:g}", f"{row['exact']:.5f}", f"{row['printed']:.5f}", f"{row['difference']:.5f}")
        for cell in result["levels"]
        for row in cell["rows"]
        if row["p"] not in study.SHARES
    ]
    return table(["inner", "p", "exact", "paper", "spent in secret"], rows)


def _largest(result: dict[str, Any]) -> str:
    cells = result["levels"]
    rows = [(e, *(f"{cell['largest'][e]:.5f}" for cell in cells)) for e in cells[0]["largest"]]
    return table(
        ["ε", *(cell["inner"] + (" (best draw)" if cell["inner"] == "TLM" else "") for cell in cells)], rows, 0
    )


def _splits(result: dict[str, Any]) -> str:
    inners = list(dict.fromkeys(row["inner"] for row in result["splits"]))
    rows = []
    for epsilon in sorted({row["epsilon"] for row in result["splits"]}):
        for method in ("privrm-i", "privrm-o"):
            found = {r["inner"]: r for r in result["splits"] if r["epsilon"] == epsilon and r["method"] == method}
            shown = [f"{found[name]['spent']:.4f} ({found[name]['calibrated_inner']:.4f})" for name in inners]
            rows.append((method, f"{epsilon:g}", *shown))
    return table(["method", "ε", *inners], rows) + "\n\nIn brackets the part for each half that spends exactly ε."


def _guideline(result: dict[str, Any]) -> str:
    rows = []
    places = list(dict.fromkeys((row["share"], row["mean"]) for row in result["guideline"]))
    for name, told in study.THRESHOLDS.items():
        found = [row["threshold"] for row in result["guideline"] if row["inner"] == name]
        rule = f"{result['figure_3']['thresholds'][name]:.2f}"
        rows.append((name, told, rule, *("never" if value is None else f"{value:.1f}" for value in found)))
    return table(["inner", "paper", "its own rule", *(f"π = {share:g}, μ = {mean:g}" for share, mean in places)], rows)


def _questions(result: dict[str, Any]) -> str:
    rows = [
        (
            q["name"],
            f"{q['n']:,}".replace(",", " "),
            f"[{q['domain'][0]:g}, {q['domain'][1]:.7g}]",
            f"{q['share']:.4f}",
            f"{q['mean']:.6g}",
            f"{q['canonical_mean']:.3f}",
        )
        for q in result["data"]["questions"]
    ]
    return table(["question", "n", "domain", "share inside", "mean inside", "the same on [−1, 1]"], rows)


def _errors(result: dict[str, Any]) -> str:
    rows = []
    for cell in result["errors"]:
        measured = {name: found["rmse"] for name, found in cell["measured"].items()}
        told, tag = best_of(cell, ("privrm",), published=True), best_of(cell, ("privrm",), published=False)
        symbol = best_of(cell, ("outside-symbol",), published=False)
        rows.append(
            (
                cell["question"],
                f"{cell['epsilon']:g}",
                number(min(measured["direct/piecewise"], measured["direct/laplace"])),
                number(measured["distribution"]),
                f"{number(told[0])} ({_short(told[1])})",
                f"{number(tag[0])} ({_short(tag[1])})",
                f"{number(symbol[0])} ({_short(symbol[1])})",
                f"**{number(cell['auto']['exact'])}** ({_short(cell['auto']['chose'])})",
                number(measured["privrm-star/duchi, adjusted as printed"]),
                number(measured["privrm-star/duchi, adjusted"]),
                number(measured["auto, adjusted"]),
            )
        )
    head = ["question", "ε", "direct", "distribution", "published", "tag, ours", "outside-symbol", "auto"]
    return table([*head, "adjusted, printed", "adjusted, ours", "auto, adjusted"], rows)


def _short(name: str) -> str:
    method, inner = name.removesuffix(", as published").split("/")
    return f"{method.removeprefix('privrm-').replace('outside-symbol', '⊥').replace('star', '*')} {inner}"


def plots(result: dict[str, Any]) -> "dict[str, Figure]":
    """Return the errors relative to the best exact one, with a panel per question, and the other figures."""
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for question in dict.fromkeys(cell["question"] for cell in result["errors"]):
        cells = [cell for cell in result["errors"] if cell["question"] == question]
        heights = {
            "PrivRM as published": [best_of(cell, ("privrm",), published=True)[0] for cell in cells],
            "PrivRM, ours": [best_of(cell, ("privrm",), published=False)[0] for cell in cells],
            "auto": [cell["auto"]["exact"] for cell in cells],
            "distribution": [cell["measured"]["distribution"]["rmse"] for cell in cells],
            "adjusted, printed": [cell["measured"]["privrm-star/duchi, adjusted as printed"]["rmse"] for cell in cells],
            "auto, adjusted": [cell["measured"]["auto, adjusted"]["rmse"] for cell in cells],
        }
        places, least = [cell["epsilon"] for cell in cells], [min(cell["exact"].values()) for cell in cells]
        curves[question] = {
            label: (places, [a / b for a, b in zip(curve, least, strict=True)]) for label, curve in heights.items()
        }
    figure = panels(curves, "ε", "error / best exact error", log=True, line=1.0)
    return {"privrm_errors": figure} | figures.plots(result)
