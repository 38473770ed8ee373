"""The README is true: its table is the registry's, its example runs.

`UPDATE_README=1 pytest tests/test_readme.py` writes the table anew.
"""

import os
import re
from pathlib import Path

import pytest

from discreet.mechanisms.families import Numeric, Oracle
from discreet.mechanisms.registry import entries

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- mechanisms[^>]*-->\n)(.*?)(<!-- /mechanisms -->)", re.DOTALL)
GIVEN = {"size": 64, "prior": [1.0] * 17, "sizes": [2, 2, 2], "options": 16, "most": 3}
ORDER = ("mean", "distribution", "frequency", "sets")


def table() -> str:
    lines = ["| name | question | variance at ε = 1 | bits | |", "|---|---|---|---|---|"]
    rows = []
    for entry in entries().values():
        m = entry.build(1.0, **{need: GIVEN[need] for need in entry.needs})
        variance = (
            m.worst_case_variance if isinstance(m, Numeric) else m.mean_variance if isinstance(m, Oracle) else None
        )
        shown = "–" if variance is None else f"{variance:.3g}"
        summary = entry.summary.replace("``", "`")
        key = (ORDER.index(entry.question), variance or 99, entry.name)
        rows.append((key, f"| `{entry.name}` | {entry.question} | {shown} | {m.average_bits:.3g} | {summary} |"))
    return "\n".join(["", *lines, *(line for _, line in sorted(rows)), "", ""])


@pytest.mark.needs("scipy")
def test_the_table_is_the_registry():
    text = README.read_text(encoding="utf-8")
    wanted = table()
    if os.environ.get("UPDATE_README"):
        README.write_text(BLOCK.sub(lambda m: m.group(1) + wanted + m.group(3), text), encoding="utf-8")
        text = README.read_text(encoding="utf-8")
    assert BLOCK.search(text).group(2) == wanted, "write the table anew: UPDATE_README=1 pytest tests/test_readme.py"


def test_the_first_example_runs(capsys):
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)
    exec(compile(code, "README.md", "exec"), {})
    assert "±" in capsys.readouterr().out
