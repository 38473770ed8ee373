"""The example notebooks as pages: executed by Jupyter while the site is built, with what they show."""

import html
import json
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples"
SECONDS = 300
"""The most that one cell may take."""
SPARK = "06-spark"
"""Needs Java and a cluster, if only a local one: shown as it is, and run by the tests."""


def names() -> list[str]:
    """Return the names of the notebooks, in their order."""
    return sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def read(name: str) -> dict[str, Any]:
    """Return a notebook as it is stored: without outputs."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return found


def title_of(name: str) -> str:
    """Return the heading of a notebook."""
    return "".join(read(name)["cells"][0]["source"]).splitlines()[0].lstrip("# ")


def executed(name: str) -> dict[str, Any]:
    """Return a notebook with its outputs; an error in a cell is an error here."""
    import nbformat
    from nbclient import NotebookClient

    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    found: dict[str, Any] = notebook
    return found


def page(name: str) -> str:
    """Return a notebook as Markdown."""
    can_run = name != SPARK and all(find_spec(module) for module in ("nbclient", "ipykernel", "pandas", "matplotlib"))
    parts = []
    for cell in (executed(name) if can_run else read(name))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [_shown(output) for output in cell["outputs"]]
    ran = "" if can_run else " It was not run while this page was made."
    parts.insert(1, f"*This page is the notebook `examples/{name}.ipynb`.{ran}*")
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """Return an output as Markdown: a picture, a table or text, the first that there is."""
    if output["output_type"] == "stream":
        return "" if output["name"] == "stderr" else _text("".join(output["text"]))
    data = output.get("data", {})
    if "image/png" in data:
        width = (output.get("metadata", {}).get("image/png") or {}).get("width", "")
        return (
            f'<img alt="What the cell shows" src="data:image/png;base64,{data["image/png"].strip()}" width="{width}">'
        )
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        lines = "\n".join(line for line in table.splitlines() if line.strip())
        return f'<div class="shown">{lines}</div>'
    plain = "".join(data.get("text/plain", ""))
    if plain.startswith("<Figure size"):
        raise ValueError(f"a plot of a notebook does not show itself: {plain}")
    return _text(plain)


def _text(text: str) -> str:
    return f'<pre class="shown">{html.escape(text.rstrip())}</pre>' if text.strip() else ""
