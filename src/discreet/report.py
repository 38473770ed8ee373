"""Write an HTML report: sections of text, a table and pictures in one file.

The file contains its style and its pictures, and its content security policy forbids the browser to fetch anything. It
works on phones, on paper, in light and dark mode, and with screen readers.
"""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from discreet import __version__
from discreet.text import THIN_SPACE

__all__ = ["Column", "Picture", "Row", "Section", "page", "theme"]


@dataclass(frozen=True)
class Column:
    """A column of a table; columns that are not ``on_phone`` are hidden on narrow screens."""

    title: str
    is_number: bool = True
    on_phone: bool = True


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells as text. A row with the truth is highlighted."""

    cells: tuple[str, ...]
    is_truth: bool = False


@dataclass(frozen=True)
class Picture:
    """An SVG element and its caption."""

    svg: str
    caption: str


@dataclass
class Section:
    """One question and its answers.

    Attributes
    ----------
    key : str
        Short name: the anchor in the page and the key in JSON.
    lead : str
        What was asked, and of whom.
    notes : list of str
        What to know when reading the table.
    facts : dict
        The same figures, JSON-ready.
    """

    key: str
    title: str
    lead: str
    columns: Sequence[Column] = ()
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def page(title: str, lead: str, facts: Sequence[tuple[str, str]], sections: Iterable[Section], footer: str) -> str:
    """Return the report as one HTML page.

    Parameters
    ----------
    title, lead : str
        The heading, and a sentence or two below it.
    facts : sequence of (str, str)
        Facts about the whole report, each with a name and a value.
    sections : iterable of Section
    footer : str
        Where the report comes from and how to make it again.

    Examples
    --------
    >>> text = page("Wages", "What we learnt.", [("ε", "1")], [Section("mean", "Mean", "We asked.")], "Made by hand.")
    >>> text.startswith("<!doctype html>"), "://" in text
    (True, False)
    """
    listed = list(sections)
    links = "".join(f'<li><a href="#{_escape(s.key)}">{_words(s.title)}</a></li>' for s in listed)
    figures = "".join(f"<div><dt>{_words(name)}</dt><dd>{_words(value)}</dd></div>" for name, value in facts)
    body = "\n".join(_section(section) for section in listed)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="discreet {__version__}">
<link rel="icon" href="data:,">
<title>{_escape(title)}</title>
<style>{theme()}{_STYLE}</style>
</head>
<body>
<a class="skip" href="#{_escape(listed[0].key) if listed else ""}">Skip to the answers</a>
<header>
<p class="brand">discreet</p>
<h1>{_words(title)}</h1>
<p class="lead">{_words(lead)}</p>
<dl class="facts">{figures}</dl>
<nav aria-label="Questions"><ol>{links}</ol></nav>
</header>
<main>
{body}
</main>
<footer><p>{_words(footer)}</p></footer>
</body>
</html>
"""


def theme() -> str:
    """Return the style sheet with the colours that the collector's pages, reports and papers share."""
    return files("discreet").joinpath("service", "static", "theme.css").read_text(encoding="utf-8")


def _escape(text: str) -> str:
    return html.escape(text, quote=True)


_TOGETHER = re.compile(r"(?<=\d) (?=\d{3}(?!\d))|(?<=±) | (?=…)")


def _words(text: str) -> str:
    """Return text for the page, in which no number is broken between two lines."""
    return _TOGETHER.sub(THIN_SPACE, _escape(text))


def _section(section: Section) -> str:
    key = _escape(section.key)
    parts = [
        f'<section id="{key}" aria-labelledby="{key}-title">',
        f'<h2 id="{key}-title">{_words(section.title)}</h2>',
    ]
    parts.append(f"<p>{_words(section.lead)}</p>")
    words = _table(section) if section.rows else ""
    if section.notes:
        words += "<ul>" + "".join(f"<li>{_words(note)}</li>" for note in section.notes) + "</ul>"
    figures = [f"<figure>{p.svg}<figcaption>{_words(p.caption)}</figcaption></figure>" for p in section.pictures]
    beside = len(figures) == 1 and bool(section.rows)
    shown = "".join(figures)
    if beside:
        parts.append(f'<div class="beside"><div>{words}</div>{shown}</div>')
    else:
        parts.append(words + (f'<div class="pictures">{shown}</div>' if figures else ""))
    return "\n".join([*parts, "</section>"])


def _table(section: Section) -> str:
    classes = [
        " ".join(c for c, used in (("number", column.is_number), ("wide", not column.on_phone)) if used)
        for column in section.columns
    ]
    head = "".join(
        f'<th scope="col" class="{c}">{_words(column.title)}</th>'
        for column, c in zip(section.columns, classes, strict=True)
    )
    lines = []
    for row in section.rows:
        first, *rest = zip(row.cells, classes, strict=True)
        cells = f'<th scope="row" class="{first[1]}">{_words(first[0])}</th>'
        cells += "".join(f'<td class="{c}">{_words(cell)}</td>' for cell, c in rest)
        lines.append(f'<tr class="truth">{cells}</tr>' if row.is_truth else f"<tr>{cells}</tr>")
    caption = f'<caption class="unseen">{_escape(section.title)}</caption>'
    table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{_escape(section.title)}">{table}</div>'


_STYLE = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0 auto; padding: 1.25rem clamp(0.9rem, 4vw, 2.5rem) 3rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
a { color: var(--accent); }
a:focus-visible, .scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip, .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.skip:focus { position: static; width: auto; height: auto; clip-path: none; }
.brand { margin: 0; color: var(--accent); font-weight: 650; letter-spacing: 0.02em; }
h1 { margin: 0.1rem 0 0.5rem; font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.15; letter-spacing: -0.015em;
  text-wrap: balance; }
h2 { margin: 0 0 0.4rem; font-size: 1.3rem; line-height: 1.25; }
p { max-width: 46rem; margin: 0.4rem 0; }
.lead { font-size: 1.1rem; color: var(--quiet); }
.facts { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; margin: 1.1rem 0; }
.facts dt { color: var(--quiet); font-size: 0.85rem; }
.facts dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
nav ol { display: flex; flex-wrap: wrap; gap: 0.15rem 1.4rem; margin: 0 0 1.4rem; padding: 0; list-style: none; }
nav a { display: inline-block; padding: 0.3rem 0; }
section { margin: 0 0 1.25rem; padding: clamp(1rem, 3vw, 1.6rem); background: var(--card);
  border: 1px solid var(--line); border-radius: 0.75rem; }
.scroll { overflow-x: auto; margin: 0.9rem 0; }
table { border-collapse: collapse; font-size: 0.95rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.38rem 1.1rem 0.38rem 0; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { font-weight: 500; }
thead th { white-space: normal; color: var(--quiet); font-weight: 400; font-size: 0.85rem; vertical-align: bottom; }
.number { text-align: right; }
.truth th, .truth td { background: var(--strong); font-weight: 650; }
tr > :first-child { padding-left: 0.6rem; } tr > :last-child { padding-right: 0.6rem; }
section ul { margin: 0.6rem 0; padding-left: 1.1rem; max-width: 46rem; color: var(--quiet); font-size: 0.95rem; }
.pictures, .beside { display: grid; gap: 1rem 2.5rem; align-items: start; }
.pictures { margin-top: 1rem; }
.beside > div { min-width: 0; }
@media (min-width: 62rem) { .pictures { grid-template-columns: 1fr 1fr; } .beside { grid-template-columns: auto 1fr; }
  .beside > div { max-width: 34rem; } .beside figure { margin-top: 0.6rem; } }
figure { margin: 0; max-width: 35rem; min-width: 0; }
figure svg { display: block; width: 100%; height: auto; color: var(--ink); stroke-linejoin: round; }
figcaption { margin-top: 0.35rem; color: var(--quiet); font-size: 0.9rem; }
footer { color: var(--quiet); font-size: 0.9rem; }
@media (max-width: 40rem) { .wide { display: none; } table { width: 100%; font-size: 0.85rem; }
  th, td { padding-right: 0.45rem; white-space: normal; } thead th { font-size: 0.78rem; }
  tr > :first-child { padding-left: 0.1rem; } tr > :last-child { padding-right: 0.1rem; }
  section { padding: 1rem 0.8rem; } figure { margin: 0 -0.4rem; } }
@media print { body { background: none; } section { break-inside: avoid; border: 0; padding: 0; }
  nav { display: none; } }
"""
