"""The report as HTML, and as Markdown for the documentation. Both quote only the results."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.report import Column, Picture, Row, Section, page
from discreet_benchmarks import PARTS
from discreet_papers.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Benchmarks: discreet beside other libraries"
LEAD = (
    "Everything was measured in one run, unless a note below says otherwise. Things that are compared took turns, and "
    "times are CPU time, the best of several repeats: ratios are reliable on a busy machine, absolute times are those "
    "of this one."
)
STARTS = {
    "client": (
        "Clients",
        "Cost per report at ε = 1, on one core, in batches. The floor is the keystream and memory: the time to draw a "
        "report's random words, to read its value and to write the report. The peers take one value per call; theirs "
        "is the cost in a loop.",
    ),
    "server": (
        "Servers",
        "Cost of counting a report, on one core, in batches. The floor is memory: the time to read the report and the "
        "8-byte counter it adds to, at the speed of this machine's memory; for bit vectors only the report; for local "
        "hashing the report and a 2-byte counter per category.",
    ),
    "one report": (
        "One report per call",
        "One call of `mechanism.one(x)` with one value, refills included, beside one call of the peers, whose "
        "generators are not cryptographic. The target is to be ahead of the better peer. The floor is the keystream.",
    ),
}
"""Title and introduction of the mechanisms' three sections, by the beginning of their rows' names."""
ABOUT = {
    "accuracy": "Mean squared error of estimated frequencies at ε = 1, with the same people; exact worst-case "
    "variances of means, and variances on a column of wages; distances of estimated distributions at ε = 1 from "
    "10 000 people. Less is better. “By default” sets what one gets without choosing beside the usual default "
    "(raw or clipped frequencies, as the peers return them; Laplace for means; EMS for distributions), “at best” the "
    "best of ours beside the best of the others, both chosen in hindsight; “their best” is our default beside what "
    "they would give somebody who knew the truth. Raw estimates of frequencies come from the same mechanism, so their "
    "ratios must be near 1, also to the exact variance. The peers' EM stops after 10 000 iterations, before it has "
    "converged, and stays near its start, equal frequencies, which helps where the truth is near them.",
    "distributions": "One iteration of EMS through the structured channel beside the same update with dense matrices, "
    "and whole reconstructions. Estimates of `Distribution` with its defaults, the interval of the mean included, and "
    "advice, at ε = 1 and 20 000 people: their floor is the longest that they should take.",
    "programmes": "The linear programmes of AAA and minimax, beside HiGHS on the same lattice.",
    "files": "A Parquet file of one column; CPU time of all threads. The floors are pyarrow's own reading and writing.",
    "service": "CPU time of the server's process per report, acknowledged after a durable commit; and the time of a "
    "first, uncached estimate.",
    "spark": "Spark on this machine by partitions, wall time per row, beside Spark with functions that do nothing.",
    "threads": "Privatising and counting with several threads, on a machine that may be busy. The serial share is the "
    "part of one thread's time with the interpreter's lock; its target is 2 %, with which 16 cores do at least 12 "
    "times the work of one. The cost of several threads is their CPU time per report and the waiting that the serial "
    "share implies; its floor is the CPU time of one thread, and the ratio one over the efficiency.",
    "scaling": "Cost of one unit at the last point of a curve; its floor is perfect scaling from the first point.",
}
NOT_COMPARED = (
    "Not compared: means, distributions and Square Wave, which neither peer has; thresholded histograms (THE), whose "
    "reports are floating-point numbers; fast local hashing (FLH), whose few hash functions make it another mechanism."
)
HEADS = ("", "ours", "best peer", "times better", "floor", "times the floor")
_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))


def amount(value: float | None, unit: str) -> str:
    """Return a figure with its unit; seconds get a prefix.

    Examples
    --------
    >>> amount(2.5e-9, "seconds per report"), amount(0.000123, "mean squared error"), amount(None, "seconds")
    ('2.5 ns', '0.000123', '')
    """
    if value is None:
        return ""
    if "seconds" not in unit:
        return f"{value:.3g}"
    scale, name = next(((s, n) for s, n in _SCALES if value >= s), _SCALES[-1])
    return f"{value / scale:.3g} {name}" if value / scale < 1000 else f"{value / scale:.0f} {name}"


def times(ratio: float | None) -> str:
    """Return a ratio as text.

    Examples
    --------
    >>> times(2633.4), times(1.237), times(None)
    ('2630', '1.24', '')
    """
    if ratio is None:
        return ""
    return f"{ratio:.3g}" if ratio < 1000 else f"{float(f'{ratio:.3g}'):.0f}"


def _marked(ratio: float | None, is_met: bool) -> str:
    return times(ratio) + ("" if is_met or ratio is None else " ✗")


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row; values that miss their target are marked."""
    peer, floor = row["ratio_to_best_peer"], row["ratio_to_floor"]
    return (
        row["name"],
        amount(row["ours"], row["unit"]),
        amount(row["best_peer"], row["unit"]),
        _marked(peer, row["peer_target"] is None or peer is None or peer >= row["peer_target"]),
        amount(row["floor"], row["unit"]),
        _marked(floor, row["floor_target"] is None or floor is None or floor <= row["floor_target"]),
    )


def targets(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the targets, how many rows meet them, and which do not."""
    kinds = (
        ("20 times the better peer", "ratio_to_best_peer", "peer_target", "", "speed"),
        ("one report per call ahead of the better peer", "ratio_to_best_peer", "peer_target", "one report ", "latency"),
        ("as accurate by default as the better peer", "ratio_to_best_peer", "peer_target", "", "accuracy"),
        ("clients within 3 times keystream and memory", "ratio_to_floor", "floor_target", "client ", "speed"),
        ("servers within 3 times the memory's time", "ratio_to_floor", "floor_target", "server ", "speed"),
        ("single reports as quick as an echo", "ratio_to_best_peer", "peer_target", "single reports, ", "requests"),
        ("estimates within 0.2 s, with 4096 buckets 1 s", "ratio_to_floor", "floor_target", "estimate of ", "duration"),
        ("advice on distributions within 2 s", "ratio_to_floor", "floor_target", "advice on ", "duration"),
        ("at most 2 % of the time in turn", "ratio_to_floor", "floor_target", "serial share ", "threads"),
        ("efficiency of 2 threads at least 0.95", "ratio_to_floor", "floor_target", "2 threads ", "threads"),
        ("efficiency of 8 threads at least 0.95", "ratio_to_floor", "floor_target", "8 threads ", "threads"),
    )
    lines = []
    for title, ratio, target, start, kind in kinds:
        rows = [
            r
            for r in found["rows"]
            if r[target] and r[ratio] is not None
            if r["name"].startswith(start) and r["kind"] == kind
        ]
        if not rows:
            continue
        is_met = {
            r["name"]: r[ratio] >= r[target] if ratio == "ratio_to_best_peer" else r[ratio] <= r[target] for r in rows
        }
        missed = [f"{r['name'].removeprefix(start)} ({times(r[ratio])})" for r in rows if not is_met[r["name"]]]
        lines.append((title, f"{sum(is_met.values())} of {len(rows)}", ", ".join(missed)))
    return lines


def circumstances(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the date, the versions and the machine."""
    machine = found["machine"]
    load = f"{machine['load_before']} → {machine['load_after']}"
    return [
        ("date", found["date"]),
        ("discreet", found["version"] + (", quick" if found["quick"] else "")),
        ("machine", f"{machine['cores']} cores, {machine['architecture']}"),
        ("load", load),
        ("Python, numpy", f"{machine['python']}, {machine['numpy']}"),
    ]


def html(found: dict[str, Any]) -> str:
    """Return the report as one HTML file."""
    summary = Section("summary", "What was aimed at", "A cross in the tables below marks a row that misses its target.")
    aims = targets(found)
    summary.columns = (Column("target", is_number=False), Column("met"))
    summary.rows = [Row((title, met)) for title, met, _ in aims]
    summary.notes = [f"{title}, missed by: {missed}" for title, _, missed in aims if missed]
    summary.notes += [*found["notes"], NOT_COMPARED]
    summary.pictures = _pictures(found["rows"], "peer")
    sections = [summary]
    for key, title, about, start, rows in _groups(found):
        heads, lines = _table(rows, start)
        columns = [Column(head, is_number=bool(head), on_phone=head not in ("best peer", "floor")) for head in heads]
        sections.append(Section(key, title, about, columns, [Row(line) for line in lines], _notes(rows)))
        summary.pictures += _pictures(rows, "floor", start) if start else []
    footer = f"Made by discreet {found['version']}; `discreet bench` repeats it. The same figures are in bench.json."
    return page(TITLE, LEAD, circumstances(found), sections, footer)


def _table(rows: list[dict[str, Any]], start: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the heads and cells of a table, without empty columns."""
    lines = [(row["name"].removeprefix(start), *cells(row)[1:]) for row in rows]
    kept = [i for i in range(len(HEADS)) if any(line[i] for line in lines)]
    return [HEADS[i] for i in kept], [tuple(line[i] for i in kept) for line in lines]


def _groups(found: dict[str, Any]) -> Iterator[tuple[str, str, str, str, list[dict[str, Any]]]]:
    """Yield key, title, introduction and rows of each section; mechanisms have three, by their rows' names."""
    for part, title in PARTS.items():
        rows = [row for row in found["rows"] if row["part"] == part]
        if not rows:
            continue
        if part != "mechanisms":
            yield part, title, ABOUT[part], "", rows
            continue
        for start, words in STARTS.items():
            yield (
                start.replace(" ", "-"),
                words[0],
                words[1],
                f"{start} ",
                [r for r in rows if r["name"].startswith(start)],
            )


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """Return the notes on single rows; notes on all rows of a kind are above the table."""
    told = [row for row in rows if row["kind"] != "latency" and row["note"]]
    return [f"{row['name']}: {row['note']}" + (f"; beside {row['peer']}" if row["peer"] else "") for row in told]


def markdown(found: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    machine = found["machine"]
    kind = f"{machine['cores']} cores, {machine['architecture']}"
    command = "discreet bench" + (" --quick" if found["quick"] else "")
    command += f" --only {','.join(found['only'])}" if found["only"] else ""
    parts = [
        "<!-- Written by `discreet bench --publish`; edit discreet_benchmarks/page.py, not this page. -->",
        "# Benchmarks",
        f"`make bench`, or `{command}`, measures all of this again and writes one HTML and one JSON report. {LEAD} "
        f"Made with discreet {found['version']} on {found['date']}: {kind}, "
        f"load {machine['load_before']} before and {machine['load_after']} after, Python {machine['python']}, numpy "
        f"{machine['numpy']}. All figures: [bench.json](results/bench.json).",
        "The peers are pure-ldp 1.2.0 and multi-freq-ldpy 0.2.5 in an environment of their own (`make setup-peers`; "
        "without one, the command makes it once in the cache folder). Before a peer is compared, 2000 of its reports "
        "are checked to have our p and q at the same ε. EM is compared with the same update with dense matrices, the "
        "linear programmes with HiGHS. “Times better” is the better peer's cost over ours; a cross marks a row that "
        "misses its target.",
        table(["target", "met", "missed by"], targets(found), left=3),
        "\n".join(f"- {note}" for note in (*found["notes"], NOT_COMPARED)),
    ]
    for _, title, about, start, rows in _groups(found):
        parts += [f"## {title}", about, table(*_table(rows, start))]
        parts += ["\n".join(f"- {note}" for note in _notes(rows))] if _notes(rows) else []
    return "\n\n".join(parts) + "\n"


def _pictures(rows: list[dict[str, Any]], beside: str, start: str = "") -> list[Picture]:
    """Return the ratios that have a target as a picture, or nothing without matplotlib."""
    ratio, target = ("ratio_to_best_peer" if beside == "peer" else "ratio_to_floor"), f"{beside}_target"
    shown = {
        row["name"].removeprefix(start): row
        for row in rows
        if row[target] and row[ratio] is not None and row["kind"] == "speed"
    }
    if not shown:
        return []
    whose = f"{STARTS[start.strip()][0]}, times" if start else "Times"
    what = "Times the better peer: more is better" if beside == "peer" else f"{whose} the floor: less is better"
    line = next(iter(shown.values()))[target]
    try:
        from discreet.plots import to_svg

        figure = _dots({name: row[ratio] for name, row in shown.items()}, line, beside == "peer")
        return [Picture(to_svg(figure, f"{what}, by row"), f"{what}; the line is at {line:g}.")]
    except (ImportError, DiscreetError):  # without matplotlib there are still the tables
        return []


def _dots(ratios: dict[str, float], target: float, is_more_better: bool) -> "Figure":
    """Draw ratios on a logarithmic axis, in another colour where they miss the target."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    from discreet.plots.style import BLUE, INK, VERMILLION
    from discreet_papers.text import small_axes

    figure = Figure(figsize=(4.6, 0.7 + 0.17 * len(ratios)), layout="constrained")
    axes = small_axes(figure, 1, 1)[0, 0]
    for y, ratio in enumerate(ratios.values()):
        is_met = ratio >= target if is_more_better else ratio <= target
        axes.plot([ratio], [y], "o", color=BLUE if is_met else VERMILLION, markersize=4.5)
    axes.axvline(target, color=INK, linewidth=1.1, linestyle=(0, (4, 2)))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if max(ratios.values()) > 200 else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    axes.set_ylim(len(ratios) - 0.5, -0.5)
    return figure
