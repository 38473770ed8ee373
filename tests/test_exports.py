"""What `import discreet` offers: quick to import, real types, and one list that the three places agree on."""

import ast
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import discreet as dc

SOURCE = Path(dc.__file__)
ROOT = Path(__file__).parent.parent


def typed_block() -> dict[str, str]:
    """The names that type checkers see, and the module each is imported from."""
    (branch,) = [node for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    return {alias.name: node.module for node in branch.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_the_lazy_table_the_typed_block_and_all_agree():
    typed = typed_block()
    modules = {name for name, home in typed.items() if home == "discreet"}
    assert set(dc._MODULES) == modules
    assert {name: f"discreet.{home}" for name, home in dc._HOME_OF.items()} == {
        name: home for name, home in typed.items() if name not in modules
    }
    assert sorted(dc.__all__) == sorted(typed)
    assert len(set(dc.__all__)) == len(dc.__all__)


TABLES = {"estimate_file", "estimate_frame", "privatize_file", "privatize_frame"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs("pyarrow")) if name in TABLES else name for name in dc.__all__]
)
def test_every_name_is_there(name):
    found = getattr(dc, name)
    assert name in dir(dc)
    home = typed_block()[name]
    if home == "discreet":
        assert isinstance(found, types.ModuleType)
    else:
        assert found is getattr(importlib.import_module(home), name)
        assert found.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'discreet' has no attribute 'Median'"):
        dc.Median  # noqa: B018


def test_importing_discreet_loads_nothing_heavy():
    code = "import sys, discreet; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "numba", "scipy", "msgspec", "cryptography", "typer", "matplotlib", "pyarrow"):
        assert f"'{heavy}'" not in loaded


CALLS = """
wage = dc.Interval(0, 500_000)
reveal_type(dc.Mean(wage, epsilon=1))  # Mean
reveal_type(dc.Distribution(wage, epsilon=1))  # Distribution
reveal_type(dc.Frequency(dc.Categories(["a", "b"]), epsilon=1))  # Frequency
reveal_type(dc.simulate(dc.Mean(wage, epsilon=1), [1.0]))  # NumberAnswer
reveal_type(dc.simulate(dc.Means([wage], epsilon=1), [[1.0]]))  # MeansAnswer
reveal_type(dc.simulate(dc.Distribution(wage, epsilon=1), [1.0]))  # DistributionAnswer
reveal_type(dc.simulate(dc.Frequency(dc.Categories(["a", "b"]), epsilon=1), ["a"]))  # FrequencyAnswer
reveal_type(dc.advise("mean", epsilon=1))  # Advice
reveal_type(dc.mechanism("duchi", epsilon=1))  # Numeric
reveal_type(dc.mechanism("randomized-response", epsilon=1, size=4))  # Oracle
reveal_type(dc.mechanism("duchi", epsilon=1).certificate)  # Certificate
reveal_type(dc.mechanism("duchi", epsilon=1).tally([0, 1]))  # Tally
"""


@pytest.fixture(scope="module")
def revealed(tmp_path_factory) -> list[str]:
    """What mypy says to `reveal_type`, line by line, in a program of somebody else's."""
    folder = tmp_path_factory.mktemp("typed")
    names = "".join(f"reveal_type(dc.{name})\n" for name in dc.__all__)
    (folder / "program.py").write_text(f"import discreet as dc\n{names}{CALLS}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--no-error-summary",
         "--follow-imports", "silent", "--cache-dir", ROOT / ".mypy_cache" / "exports", folder / "program.py"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert not done.stderr
    assert ": error:" not in done.stdout, done.stdout
    return [line for line in done.stdout.splitlines() if "Revealed type is" in line]


@pytest.mark.needs("mypy")
def test_type_checkers_see_real_types(revealed):
    calls = [line for line in CALLS.splitlines() if line.startswith("reveal_type")]
    assert len(revealed) == len(dc.__all__) + len(calls)
    for name, line in zip(dc.__all__, revealed, strict=False):
        shown = line.partition('Revealed type is "')[2].rstrip('"')
        assert shown not in ("Any", "builtins.object"), name
        assert not re.search(r"-> ?(\w+\[\w+, )?Any\]?$", shown), f"{name}: {shown}"
    for call, line in zip(calls, revealed[len(dc.__all__) :], strict=True):
        kind = call.partition("# ")[2]
        assert re.search(rf'Revealed type is "discreet\.[\w.]+\.{kind}"', line), (call, line)


def public_callables():
    for name in dc.__all__:
        found = getattr(dc, name)
        if isinstance(found, types.ModuleType):
            members = [(f"{name}.{key}", getattr(found, key)) for key in getattr(found, "__all__", ())]
        elif isinstance(found, type):
            members = [(f"{name}.{key}", getattr(found, key)) for key in vars(found) if not key.startswith("_")]
            members += [(name, vars(found)["__init__"])] if "__init__" in vars(found) else []
        else:
            members = [(name, found)]
        yield from ((label, value) for label, value in members if callable(value) and inspect.isroutine(value))


@pytest.mark.parametrize(
    "plan",
    ["Mean", "Means", "Distribution", "Variance", "Frequency", "Quantile", "Quantiles", "RangeMean", "RangeMeans"],
)
def test_help_shows_and_explains_the_options_of_a_plan(plan):
    shown = pydoc.render_doc(getattr(dc, plan), renderer=pydoc.plaintext)
    explained = shown.partition("Parameters\n")[2].partition("Examples\n")[0]
    for name in inspect.signature(getattr(dc, plan)).parameters:
        assert f"{name}:" in shown
        assert re.search(rf"^ [| ]+(\w+, )*{name}\b", explained, re.MULTILINE), name


@pytest.mark.needs("pyarrow", "scipy")
def test_no_public_function_hides_its_options():
    hidden = []
    for label, function in public_callables():
        parameters = inspect.signature(function).parameters.values()
        hidden += [label for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD]
    assert not hidden
