"""A page for every registered mechanism: what it does, its certificate, its variance beside its relatives, an example.

Everything on it comes from the registry, the mechanism's own module and its exact law; nothing is typed in here but the
titles of the papers.
"""

import inspect
import re
from collections.abc import Iterable

import numpy as np

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric, Oracle, require_numeric, require_oracle
from discreet.mechanisms.registry import Entry, entries
from discreet.plots import channel, to_svg, variance_curves
from discreet.plots.style import COLOURS, INK, STYLES, canvas, legend, legend_rows
from discreet.text import thousands

PAPERS = {
    "aaa": ("AAA: an Adaptive Mechanism for Locally Differential Private Mean Estimation", "aaa.md"),
    "discrete-comparison": (
        "Discrete Distribution Estimation with Local Differential Privacy: A Comparative Analysis",
        "discrete-comparison.md",
    ),
    "n-output": (
        "N-output Mechanism: Estimating Statistical Information from Numerical Data under Local Differential Privacy",
        "n-output.md",
    ),
    "privrm": ("PrivRM: A Framework for Range Mean Estimation under Local Differential Privacy", "privrm.md"),
    "square-wave": ("Estimating Numerical Distributions under Local Differential Privacy", "square-wave.md"),
}
USE = {
    "adaptive-additive": 'For a mean when the distribution is roughly known; `Mean(method="aaa")` learns it first.',
    "basic-rappor": "Where clients already use RAPPOR; `subset-selection` has less variance and no more bits.",
    "count-mean-sketch": "Where clients already use it; with one-hot encoding it is `basic-rappor`.",
    "discrete-square-wave": "For the distribution of numbers in buckets; `Distribution` asks most people with it.",
    "minimax": "For a mean when nothing is known about the distribution; the default of `Mean`.",
    "projective-geometry": "For many categories, when reports must be short.",
    "square-wave": "For a distribution, its quantiles or the mean in a range; not for a mean alone.",
    "subset-selection": "For frequencies whenever its bits are affordable: no other oracle has less variance.",
}
"""Advice for mechanisms whose docstring has none."""
SIZE = 16
"""Number of categories in examples and tables."""
GIVEN = {"size": SIZE, "prior": [1.0] * 17, "sizes": [2, 2, 3], "options": 5, "most": 2}
PLACES = (0.5, 1.0, 2.0, 4.0)
SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
QUESTIONS = {
    "mean": "Means",
    "distribution": "Distributions",
    "frequency": "Frequencies",
    "sets": "Several questions and sets",
}


def build(entry: Entry, epsilon: float = 1.0, **other: object) -> Mechanism:
    """Return the mechanism at an epsilon, with the size or prior of all pages."""
    return entry.build(epsilon, **{need: other.get(need, GIVEN[need]) for need in entry.needs})


def mechanism_pages() -> dict[str, str]:
    """Return Markdown by file name."""
    found = {"index.md": index_page()}
    return found | {f"{name}.md": mechanism_page(entry) for name, entry in sorted(entries().items())}


def navigation() -> list[str | dict[str, list[str]]]:
    """Return the pages as mkdocs lists them: the index, and a group for each question."""
    groups = {
        title: [f"mechanisms/{e.name}.md" for e in entries().values() if e.question == question]
        for question, title in QUESTIONS.items()
    }
    return ["mechanisms/index.md", *({title: sorted(paths)} for title, paths in groups.items())]


def index_page() -> str:
    """Return the list of all mechanisms."""
    lines = [
        "# Mechanisms",
        "",
        "A mechanism is a finite channel P(report | input). Each page below is generated from the registry: formula,",
        "exact certificate, exact variance beside similar mechanisms, and an example. `discreet mechanisms` lists them",
        "in a terminal, and `discreet advise` ranks them for your question.",
    ]
    for question, title in QUESTIONS.items():
        lines += ["", f"## {title}", "", _heading(question), "|---|---:|---:|---|"]
        rows = [(key, row) for entry in entries().values() if entry.question == question for key, row in [_row(entry)]]
        lines += [row for _, row in sorted(rows)]
    lines += ["", f"At ε = 1; frequencies with {SIZE} categories. The variance is that of one report's noise.", ""]
    return "\n".join(lines)


def _heading(question: str) -> str:
    what = "variance, average over categories" if question == "frequency" else "worst-case variance"
    return f"| mechanism | {what} | bits | |"


def _row(entry: Entry) -> tuple[tuple[float, str], str]:
    m = build(entry)
    variance = _variance(m)
    shown = "–" if variance is None else f"{variance:.4g}"
    line = f"| [`{entry.name}`]({entry.name}.md) | {shown} | {m.average_bits:.3g} | {_plain(entry.summary)} |"
    return (variance or float("inf"), entry.name), line


def _variance(m: Mechanism) -> float | None:
    return m.worst_case_variance if isinstance(m, Numeric) else m.mean_variance if isinstance(m, Oracle) else None


def _plain(text: str) -> str:
    return text.replace("``", "`")


def mechanism_page(entry: Entry) -> str:
    """Return the page of one mechanism."""
    m = build(entry)
    title, rest = split_docstring(entry)
    parts = [
        f"# {entry.name}",
        f"{_plain(entry.summary)}. For {QUESTIONS[entry.question].lower()}; {source_of(entry)}.",
        "## When to use it",
        "\n".join([*(advice_of(rest) or [f"{USE[entry.name]}\n"]), *standing(entry)]),
        "## Certificate",
        certificate_table(m),
        "The exact ε is computed from the integers that the sampler compares random words with, and rounded up.",
        "## How it works",
        f"*{title}*",
        rest,
        "## Compared with similar mechanisms",
        relatives(entry, m),
        "## The channel",
        heat_map(entry),
        "## Example",
        example(entry, m),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def split_docstring(entry: Entry) -> tuple[str, str]:
    """Return the first line of the module's docstring, and the rest as Markdown (its formulas are indented)."""
    text = inspect.getdoc(inspect.getmodule(entry.build)) or ""
    title, _, rest = text.partition("\n")
    narrow = re.sub(r"(?<=\S) {4,}", "   ", rest.strip("\n"))  # wide gaps do not fit a phone
    return title.strip(), _plain(narrow)


def advice_of(text: str) -> list[str]:
    """Return the sentences that recommend a mechanism."""
    found: list[str] = []
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith(" "):  # no formula
            sentences = re.split(r"(?<=\.)\s+", " ".join(paragraph.split()))
            found += [f"{sentence}\n" for sentence in sentences if re.search(r"\b[Pp]refer\b", sentence)]
    return found


def standing(entry: Entry) -> Iterable[str]:
    """Yield a table of the rank among the mechanisms for the same question, by exact variance."""
    rivals = [e for e in entries().values() if e.question == entry.question and "prior" not in e.needs]
    if _variance(build(entry)) is None or entry not in rivals or len(rivals) < 4:
        return
    what = "variance, average over categories" if entry.question == "frequency" else "worst-case variance"
    yield f"By exact {what}:\n"
    yield "| ε | variance | rank | least |"
    yield "|---:|---:|---:|---|"
    for epsilon in PLACES:
        found = sorted((float(f"{_variance(build(e, epsilon)) or np.inf:.6g}"), e.name) for e in rivals)
        own = next(value for value, name in found if name == entry.name)
        place = 1 + sum(value < own for value, _ in found)
        yield f"| {epsilon:g} | {own:.4g} | {place} of {len(found)} | {found[0][1]}, {found[0][0]:.4g} |"


def source_of(entry: Entry) -> str:
    """Return the paper and section that describe a mechanism."""
    key, _, section = entry.paper.partition(".")
    if key not in PAPERS:
        return f"source: {entry.paper}"
    title, page = PAPERS[key]
    return f"described in [{title}](../papers/{page}), section {section}"


def certificate_table(m: Mechanism) -> str:
    """Return a table of the certificate and the exact moments."""
    c = m.certificate
    rows = {
        "exact ε": f"{c.epsilon:.12f}",
        "reports (alphabet)": thousands(c.alphabet),
        "bits, bytes per report": f"{m.average_bits:.3g}, {m.report_bytes}",
    }
    if isinstance(m, Numeric):
        rows |= {"unbiased": "yes" if c.unbiased else "no", "worst-case variance": f"{m.worst_case_variance:.6g}"}
        rows["variance at −1, 0, 1"] = ", ".join(f"{v:.4g}" for v in m.variance(np.array([-1.0, 0.0, 1.0])))
        rows["how many honest people one liar can outweigh"] = f"{m.influence:.3g}"
    elif isinstance(m, Oracle):
        rows |= {"categories": str(m.size), "p, q": f"{m.p:.6f}, {m.q:.6f}"}
        rows["n × variance of a frequency, average"] = f"{m.mean_variance:.6g}"
        rows["how many honest people one liar can outweigh"] = f"{m.influence:.3g}"
    return "\n".join(["| at ε = 1 | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def relatives(entry: Entry, m: Mechanism) -> str:
    """Return a plot of the exact variance beside others for the same question."""
    if isinstance(m, Numeric):
        names = [n for n in ("minimax", "hybrid-np", "piecewise-sub", "duchi") if n != entry.name][:3]
        drawn = [m, *(require_numeric(build(entries()[name]), "A variance") for name in names)]
        return _inline(
            variance_curves(drawn), f"Variance of one report over the inputs: {entry.name} and {', '.join(names)}"
        )
    if isinstance(m, Oracle):
        return _inline(
            oracle_curves(entry.name), f"Variance over the number of categories: {entry.name} and other oracles"
        )
    return ""


def oracle_curves(name: str) -> "object":
    """Plot n times the average variance of a frequency against the number of categories, at epsilon 1."""
    names = [name, *(n for n in ("subset-selection", "optimized-unary", "randomized-response") if n != name)][:4]
    figure, axes = canvas(height=3.2, legend_rows=legend_rows(len(names)))
    for place, other in enumerate(names):
        sources = [require_oracle(build(entries()[other], 1.0, size=size), "A frequency") for size in SIZES]
        values = [source.mean_variance for source in sources]
        colour, width = (INK, 2.6) if other == name else (COLOURS[place], 1.7)
        axes.plot(SIZES, values, label=other, linestyle=STYLES[place], color=colour, linewidth=width)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([4, 16, 64, 256, 1024], ["4", "16", "64", "256", "1024"])
    axes.set_xlabel("categories  (ε = 1; exact, no simulation)")
    axes.set_ylabel("n × variance of a frequency")
    legend(figure, axes)
    return figure


def heat_map(entry: Entry) -> str:
    """Return the channel as a heat map, on a small lattice if the mechanism has one."""
    options = {need: GIVEN[need] for need in entry.needs} | ({"size": 8} if "size" in entry.needs else {})
    if "positions" in entry.options:
        options["positions"] = 33
    m = entry.build(1.0, **options)
    if m.alphabet > 1024 or m.size > 1024:
        return f"Its {thousands(m.alphabet)} reports are too many to draw."
    small = " on a lattice of 33 positions, so that cells are visible" if "positions" in entry.options else ""
    return f"P(report | input) at ε = 1{small}:\n\n" + _inline(channel(m), f"Heat map of the channel of {entry.name}")


def example(entry: Entry, m: Mechanism) -> str:
    """Return code that runs, and its output."""
    options = "".join(f", {need}={_given(need)}" for need in entry.needs)
    values = "[0.1, -0.4, 0.9]" if isinstance(m, Numeric) else "[0, 3, 5]"
    return "\n".join(
        [
            "```python",
            "import discreet as dc",
            "",
            f'm = dc.mechanism("{entry.name}", epsilon=1{options})',
            "print(m)",
            f"reports = m.privatize({values})    # integers, the only thing that leaves the device",
            "print(m.tally(reports))",
            "```",
            "",
            f"```text\n{m!r}\n{m.tally(m.privatize(np.array(eval(values))))!r}\n```",
            "",
            f"In a terminal: `discreet describe {entry.name} --epsilon 1{_flags(entry)}`.",
        ]
    )


def _given(need: str) -> str:
    return "[1.0] * 17" if need == "prior" else str(GIVEN[need])


def _flags(entry: Entry) -> str:
    if "size" in entry.needs:
        return f" --size {SIZE}"
    given = GIVEN | {"prior": [1, 2, 4, 2, 1]}
    return "".join(f" --option '{need}={str(given[need]).replace(' ', '')}'" for need in entry.needs)


def _inline(figure: object, description: str) -> str:
    svg = to_svg(figure, description)  # type: ignore[arg-type]
    return '<div class="figure">' + re.sub(r"\s*\n\s*", " ", svg) + "</div>"
