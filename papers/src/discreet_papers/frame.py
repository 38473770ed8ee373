"""The layout that all papers' pages share: what was run, the verdicts, what we implement and corrected, the figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet_papers import STUDIES
from discreet_papers.text import table
from discreet_papers.verdicts import count

WARNING = "<!-- Written by `discreet reproduce {name} --publish`; edit the module that writes it, not this page. -->"


def page(
    name: str,
    title: str,
    lead: str,
    result: dict[str, Any],
    *,
    how: str,
    implemented: Iterable[Sequence[str]],
    corrected: Iterable[str],
    sections: Mapping[str, Sequence[str]],
    takes: tuple[str, str],
) -> str:
    """Return a paper's page in Markdown.

    Parameters
    ----------
    name : str
        Name of the study on the command line.
    result : dict
        Result of the study: its head (`Job.head`), its claims, and a note if it uses data.
    how : str
        What is exact, what is sampled, and how often.
    implemented : iterable of rows
        Section, the paper's name, ours, remark.
    corrected : iterable of str
        What we corrected, in a sentence or two each.
    sections : mapping
        Headings and their paragraphs: text, tables (`text.table`) and pictures (`picture`).
    takes : pair of str
        How long the full and the quick run take.
    """
    command = f"discreet reproduce {name}"
    parts = [
        WARNING.format(name=name),
        f"# {title}",
        f"*{STUDIES[name].title}*: {STUDIES[name].source}." if name in STUDIES else "",
        lead,
        "## What was run",
        _run(result, command, how),
        "## Verdicts",
        summary(result),
        _verdicts(result),
        "## What we implement",
        table(["section", "paper", "here", "remark"], implemented, left=4),
        "## What we corrected",
        "\n".join(f"- {line}" for line in corrected),
    ]
    for heading, paragraphs in sections.items():
        parts += [f"## {heading}", *paragraphs]
    long, short = takes
    parts += ["## Run it", f"```\n{command}            # {long}\n{command} --quick    # {short}\n```"]
    return "\n\n".join(part for part in parts if part) + "\n"


def picture(images: str, name: str, says: str) -> str:
    """Return a picture in Markdown, from the plot's file name and a description."""
    return f"![{says}]({images}{name}.svg)"


def summary(result: dict[str, Any]) -> str:
    """Return one sentence that counts the verdicts."""
    found = count(result["claims"])
    told = ", ".join(f"{number} {verdict}" for verdict, number in found.items())
    ours = len(result["claims"]) - sum(found.values())
    return f"Of {sum(found.values())} claims: {told}." + (
        f" {ours} more {'is' if ours == 1 else 'are'} ours." if ours else ""
    )


def _run(result: dict[str, Any], command: str, how: str) -> str:
    quick = ", a quick run: fewer repeats and points" if result["quick"] else ""
    lines = [f"**When:** {result['date']}, discreet {result['version']}, `{command}`{quick}.", f"**How:** {how}"]
    if "data" in result:
        lines.append(f"**Data:** {result['data']['note']}")
    return "\n".join(f"- {line}" for line in [*lines, f"**Seeds:** {result['seeds']}."])


def _verdicts(result: dict[str, Any]) -> str:
    rows = [
        (
            f"**{claim['where']}**: {claim['claim']}",
            claim["ours"],
            f"**{claim['verdict']}**" + (f": {claim['reason']}" if claim["reason"] else ""),
        )
        for claim in result["claims"]
    ]
    return table(["the paper", "ours", "verdict"], rows, left=3)
