"""The index of the papers' pages: one line per paper, with the verdicts on its claims."""

import json
from pathlib import Path

from discreet_papers import STUDIES
from discreet_papers.text import table
from discreet_papers.verdicts import VERDICTS, count

FILE = "index.md"
WARNING = "<!-- Written by `discreet reproduce`; edit the module that writes it, not this page. -->"


def index(results: Path) -> str:
    """Return the page in Markdown, from the results in a folder."""
    rows, quick = [], False
    total, claims = dict.fromkeys(VERDICTS, 0), 0
    for study in STUDIES.values():
        place = results / study.result
        if not place.is_file():
            continue
        result = json.loads(place.read_text("utf-8"))
        found = count(result["claims"])
        total = {verdict: total[verdict] + found[verdict] for verdict in VERDICTS}
        claims += len(result["claims"])
        quick = quick or result["quick"]
        when = f"{result['date']}, discreet {result['version']}" + (", quick" if result["quick"] else "")
        rows.append((f"[{study.title}]({study.page_file})", *found.values(), len(result["claims"]), when))
    rows.append(("**all**", *total.values(), claims, ""))
    head = ["paper", *VERDICTS, "with ours", "run"]
    parts = [
        WARNING,
        "# Five papers, run again",
        "Every table and figure of the papers that can be repeated from their text, with our results beside theirs. "
        "*Reproduced*: the claim holds in our run. *Not reproduced*: it does not hold in the paper's settings, as far "
        "as they are known. *Not comparable*: it does not hold on the data that stand in for the paper's, which says "
        "nothing against the paper. *Paper in error*: it cannot hold, and the page says why. Claims marked *(ours)* "
        "are our own and count only in the last number.",
        table(head, rows),
    ]
    if quick:
        parts.append("Quick runs have fewer repeats and points: close verdicts may differ from those of the full run.")
    parts.append(
        "```\ndiscreet reproduce all            # an hour or two; an interrupted run continues where it stopped\n"
        "discreet reproduce all --quick    # minutes\n```"
    )
    return "\n\n".join(parts) + "\n"
