"""The report as a page: HTML for a person who ran it, Markdown for the documentation. Both quote only the results."""

from typing import TYPE_CHECKING, Any

from discreet.bench import PARTS
from discreet.errors import DiscreetError
from discreet.report import Column, Picture, Row, Section, page
from discreet.reproduction.text import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Benchmarks: ours, the peers, the floors"
LEAD = (
    "Everything was measured in one run, what is compared in turn, in CPU time, the best of several repeats: "
    "ratios hold on a busy machine, absolute times are of this one."
)
ABOUT = {
    "mechanisms": "Cost of a report at ε = 1, one core. A client's floor is the keystream words that it draws; a "
    "server's floor is the bytes that it must read, at the rate of this machine's memory: the report and the counter "
    "that it adds to; of bit vectors the report only; of local hashing a counter for every category. Clients and "
    "servers work on batches; the peers take one value at a call, so theirs is the cost in a loop. “One report” is our "
    "cost of a single call, beside the same peers.",
    "accuracy": "Mean squared error of estimated frequencies, the same people answering each; and exact worst-case "
    "variances of means. Less is better. Raw estimates of the same law must agree; post-processing makes the "
    "difference.",
    "distributions": "One iteration of EMS through the structured channel beside the same update with dense matrices, "
    "and whole reconstructions.",
    "programmes": "The programmes of AAA and minimax, beside HiGHS on the same lattice.",
    "files": "A Parquet file of one column; CPU time of all threads. The floors are pyarrow's own reading and writing.",
    "service": "CPU time of the server's process for one report, acknowledged after a durable commit; and estimates as "
    "the first caller waits for them.",
    "spark": "Spark on this machine by partitions, wall time of a row, beside Spark with an identity function.",
    "scaling": "Cost of one unit at the last point of a curve; its floor is perfect scaling from the first point.",
}
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
    """Return the cells of a row; what misses its target is marked."""
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
        ("20 times the better peer", "ratio_to_best_peer", "peer_target", ""),
        ("clients within 3 times the keystream", "ratio_to_floor", "floor_target", "client "),
        ("servers within 3 times memory", "ratio_to_floor", "floor_target", "server "),
    )
    lines = []
    for title, ratio, target, start in kinds:
        rows = [r for r in found["rows"] if r[target] and r[ratio] is not None and r["name"].startswith(start)]
        if not rows:
            continue
        is_met = {
            r["name"]: r[ratio] >= r[target] if ratio == "ratio_to_best_peer" else r[ratio] <= r[target] for r in rows
        }
        missed = [f"{r['name']} ({times(r[ratio])})" for r in rows if not is_met[r["name"]]]
        lines.append((title, f"{sum(is_met.values())} of {len(rows)}", ", ".join(missed) or "none misses"))
    return lines


def circumstances(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return when, with what and where."""
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
    summary = Section("summary", "What was aimed at", "Rows that miss their target carry a cross in the tables below.")
    summary.columns = (
        Column("target", is_number=False),
        Column("met"),
        Column("missed by", is_number=False, on_phone=False),
    )
    summary.rows = [Row((title, met, "" if len(missed) > 60 else missed)) for title, met, missed in targets(found)]
    summary.notes = list(found["notes"])
    summary.pictures = _pictures(found)
    sections = [summary]
    for part, title in PARTS.items():
        rows = [row for row in found["rows"] if row["part"] == part]
        if rows:
            columns = [
                Column(head, is_number=bool(head), on_phone=head not in ("best peer", "floor")) for head in HEADS
            ]
            notes = list(dict.fromkeys(f"{_short(row)}: {note}" for row in rows for note in [_note(row)] if note))
            sections.append(Section(part, title, ABOUT[part], columns, [Row(cells(row)) for row in rows], notes))
    footer = (
        f"Made by discreet {found['version']}; `discreet bench` makes it again. The same figures are in bench.json."
    )
    return page(TITLE, LEAD, circumstances(found), sections, footer)


def _short(row: dict[str, Any]) -> str:
    return str(row["name"])


def _note(row: dict[str, Any]) -> str:
    """Return what a reader of a single row should know."""
    if row["kind"] == "latency":
        return ""
    said = [f"best peer: {row['peer']}"] if row["peer"] and row["part"] == "accuracy" else []
    return "; ".join([*said, *([row["note"]] if row["note"] else [])])


def markdown(found: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    machine = found["machine"]
    kind = f"{machine['cores']} cores, {machine['architecture']}"
    command = "discreet bench" + (" --quick" if found["quick"] else "")
    parts = [
        "<!-- Written by `discreet bench --publish`; edit discreet/bench/page.py, not this page. -->",
        "# Benchmarks",
        f"`make bench`, or `{command}`, measures all of this again and writes one HTML and one JSON report. {LEAD} "
        f"Made with discreet {found['version']} on {found['date']}: {kind}, "
        f"load {machine['load_before']} before and {machine['load_after']} after, Python {machine['python']}, numpy "
        f"{machine['numpy']}. All figures: [bench.json](results/bench.json).",
        "The peers are pure-ldp 1.2.0 and multi-freq-ldpy 0.2.5 in an environment of their own (`make setup-peers`; "
        "without one, the command makes it once in the cache folder). Before one is compared, 2000 of its reports are "
        "checked to have our p and q at the same ε. Beside EM stands the same update with dense matrices, beside the "
        "linear programmes HiGHS. “Times better” is the better peer's cost over ours; a cross marks a row that misses "
        "its target.",
        table(["target", "met", "missed by"], targets(found), left=3),
        *[f"- {note}" for note in found["notes"]],
    ]
    for part, title in PARTS.items():
        rows = [row for row in found["rows"] if row["part"] == part]
        if not rows:
            continue
        parts += [f"## {title}", ABOUT[part], table(HEADS, [cells(row) for row in rows])]
        if part == "scaling":
            parts.append("\n".join(f"- {row['name']}: {row['note']}" for row in rows))
    return "\n\n".join(parts) + "\n"


def _pictures(found: dict[str, Any]) -> list[Picture]:
    """Return the ratios as dots on a logarithmic axis; nothing where matplotlib is not installed."""
    rows = [row for row in found["rows"] if row["kind"] == "speed"]
    peers = {row["name"]: row["ratio_to_best_peer"] for row in rows if row["peer_target"] and row["best_peer"]}
    floors = {row["name"]: row["ratio_to_floor"] for row in rows if row["floor_target"] and row["floor"]}
    shown = []
    try:
        from discreet.plots import to_svg

        if peers:
            figure = _dots(peers, 20.0, "times the better peer (more is better)")
            shown.append(
                Picture(to_svg(figure, "times the better peer, by row"), "Beside the better peer; the line is 20.")
            )
        if floors:
            figure = _dots(floors, 3.0, "times the floor (less is better)")
            shown.append(Picture(to_svg(figure, "times the floor, by row"), "Beside the floor; the line is 3."))
    except (ImportError, DiscreetError):  # matplotlib is an extra; the tables say it all
        return []
    return shown


def _dots(ratios: dict[str, float], target: float, what: str) -> "Figure":
    from matplotlib.figure import Figure

    from discreet.plots import BLUE, INK, VERMILLION
    from discreet.reproduction.text import small_axes

    figure = Figure(figsize=(4.6, 1.0 + 0.165 * len(ratios)), layout="constrained")
    axes = small_axes(figure, 1, 1)[0, 0]
    is_more_better = target > 10
    for y, ratio in enumerate(ratios.values()):
        is_met = ratio >= target if is_more_better else ratio <= target
        axes.plot([ratio], [y], "o", color=BLUE if is_met else VERMILLION, markersize=4.5)
    axes.axvline(target, color=INK, linewidth=1.1, linestyle=(0, (4, 2)))
    axes.set_xscale("log")
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.tick_params(axis="y", length=0, labelsize=7)
    axes.set_ylim(len(ratios) - 0.5, -0.5)
    axes.set_xlabel(what, color=INK, fontsize=9)
    return figure
