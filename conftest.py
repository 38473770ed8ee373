"""Which tests are collected where: `--light` runs what must pass with the core dependencies alone.

`make test-light` uses it in an environment without numba, scipy, pandas and the like. There,

- a test that needs an extra is skipped: `@pytest.mark.needs("scipy")`, or `pytestmark = pytest.mark.needs("numba")`
  for a whole file;
- an example in a docstring that needs an extra is skipped when it says so (`MissingExtra`);
- a file that imports an extra at its top, and the folders of `WHOLE` below, are not collected.

Everywhere else the marker changes nothing: a missing extra is an error, never a skip.
"""

import ast
import doctest
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
EXTRAS = {
    "alembic", "dask", "fastapi", "flwr", "highspy", "httpx", "jinja2", "matplotlib", "mypy", "numba", "pandas",
    "polars", "psycopg", "pyarrow", "pyspark", "python_calamine", "schemathesis", "scipy", "selenium", "sqlalchemy",
    "starlette", "uvicorn",
}  # fmt: skip
"""Top-level packages that the light environment does not have."""
BESIDE = {"discreet_papers", "discreet_benchmarks", "site_tools"}
"""Packages of this repository that need extras and are not part of discreet."""
WHOLE = (
    "papers", "benchmarks", "docs", "src/discreet/service", "tests/service", "src/discreet/drivers", "tests/drivers",
    "src/discreet/optimize", "tests/optimize", "src/discreet/plots/figure.py",
)  # fmt: skip
"""Folders and files that need an extra as a whole."""

collect_ignore = (
    [] if find_spec("flwr") else ["src/discreet/federated/flower.py", "benchmarks/src/discreet_benchmarks/flower.py"]
)


def pytest_addoption(parser):
    parser.addoption("--light", action="store_true", help="only what needs no extra; see conftest.py")


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(*packages): the test needs these packages, which extras bring")
    present = sorted(name for name in EXTRAS if find_spec(name)) if config.getoption("--light") else []
    if present:
        raise pytest.UsageError(f"--light is for an environment without extras; this one has {', '.join(present)}")


def pytest_ignore_collect(collection_path, config):
    if not config.getoption("--light"):
        return None
    if any(collection_path.is_relative_to(ROOT / folder) for folder in WHOLE):
        return True
    return True if collection_path.suffix == ".py" and _imports(collection_path) & (EXTRAS | BESIDE) else None


def _imports(path):
    """Return the top-level packages that a file imports when it is imported."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--light"):
        return
    for item in items:
        for marker in item.iter_markers("needs"):
            if missing := [name for name in marker.args if not find_spec(name)]:
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except doctest.UnexpectedException as failure:
        if item.config.getoption("--light") and type(failure.exc_info[1]).__name__ == "MissingExtra":
            pytest.skip(str(failure.exc_info[1]))
        raise
