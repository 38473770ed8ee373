"""`discreet new-mechanism NAME`: a package of your own with a mechanism that works, to be changed into yours."""

import re
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.errors import DiscreetError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "new-mechanism",
        epilog=examples("discreet new-mechanism staircase", "discreet new-mechanism staircase --folder ~/src"),
    )(new_mechanism)


def new_mechanism(
    name: Annotated[str, typer.Argument(help="Its name: small letters, digits and hyphens, such as staircase-two.")],
    folder: Annotated[Path, typer.Option(help="Where to make the package's folder.", file_okay=False)] = Path("."),
    as_json: Json = False,
) -> None:
    """Make a package with a mechanism of your own, its tests, and the entry point by which discreet finds it.

    The mechanism works from the start. Change its probabilities and values to yours, run its tests, and install the
    package: then `discreet describe`, `advise`, `privatize` and the library know it by its name.
    """
    from discreet.mechanisms.registry import entries

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise DiscreetError(f"name must be small letters, digits and hyphens, such as staircase-two, not {name!r}")
    if name in entries():
        raise DiscreetError(f"there is a mechanism {name!r} already; choose another name")
    home = folder / f"discreet-{name}"
    if home.exists():
        raise DiscreetError(f"{home} exists; remove it, or choose another --folder")
    words = {"name": name, "module": f"discreet_{name.replace('-', '_')}", "function": name.replace("-", "_")}
    written = []
    for path, text in FILES.items():
        target = home / Template(path).substitute(words)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(text).substitute(words), encoding="utf-8")
        written.append(target.as_posix())
    if as_json:
        show_json({"folder": home.as_posix(), "files": written})
        return
    out = console()
    for one in written:
        out.print(f"  {one}", soft_wrap=True, markup=False)
    out.print(f"Next: pip install -e {home}, then: discreet describe {name} --epsilon 1", soft_wrap=True, markup=False)


FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "discreet-$name"
version = "0.1.0"
description = "The mechanism $name for discreet."
requires-python = ">=3.11"
dependencies = ["discreet>=0.2"]

[project.optional-dependencies]
test = ["pytest>=8.3"]

[project.entry-points."discreet.mechanisms"]
$name = "$module"

[tool.hatch.build.targets.wheel]
packages = ["src/$module"]
""",
    "src/$module/__init__.py": '''\
"""$name: say in one sentence what it is for.

    P(report | x) = ...                                                     [your paper, section, equation]

Exact: probabilities are rounded to whole numbers of 2^-48 towards privacy, and the certificate is computed from those.
Prefer `minimax` when ... (say when another mechanism is better).
"""

import numpy as np

from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table


@register("$name", question="mean", paper="yours")
def $function(epsilon: float) -> Table:
    """Three outputs -a, 0 and a; the middle has a fixed share of a third."""
    likely = 2 / 3 * np.exp(epsilon) / (np.exp(epsilon) + 1)
    unlikely = 2 / 3 - likely
    probabilities = [
        [likely, 1 / 3, unlikely],  # at -1
        [1 / 3, 1 / 3, 1 / 3],  # at 0
        [unlikely, 1 / 3, likely],  # at 1
    ]
    a = 1 / (likely - unlikely)  # unbiased: probabilities @ values = knots
    return Table.from_probabilities(probabilities, [-a, 0.0, a], knots=[-1, 0, 1], epsilon=epsilon, name="$name")
''',
    "tests/test_mechanism.py": '''\
"""$name keeps its epsilon exactly, is unbiased, and passes every check of discreet."""

import pytest
from discreet.checks import check_mechanism

from $module import $function


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_it_passes_the_battery(epsilon):
    mechanism = $function(epsilon)
    assert mechanism.certificate.holds
    assert mechanism.certificate.unbiased
    print(check_mechanism(mechanism))
''',
    "README.md": """\
# discreet-$name

The mechanism `$name` for discreet. `pip install -e ".[test]"`, then:

    pytest                                  # every check that discreet's own mechanisms pass
    discreet describe $name --epsilon 1     # exact epsilon, alphabet, bits, variances
""",
}
"""The files of the package; ``$name`` and its like are filled in."""
