"""What is installed: a light wheel without studies and benchmarks, verbs by entry points, one version."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import discreet
from discreet.cli import common, plugins
from discreet.service import served

ROOT = Path(__file__).parents[1]
CORE = {"cryptography", "msgspec", "numpy", "rich", "typer"}
SEPARATE = ("papers", "benchmarks")
"""Folders of the distributions that are not part of discreet."""


def read_project(folder: str = ".") -> dict:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.needs("hatchling")
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    assert wheel.name == f"discreet-{discreet.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"discreet", f"discreet-{discreet.__version__}.dist-info"}
    rooms = {name.split("/")[1].removesuffix(".py") for name in names if name.startswith("discreet/")}
    assert rooms >= {"py.typed", "mechanisms", "plans", "service", "cli", "demo"}
    assert not rooms & {"reproduction", "papers", "bench", "benchmarks", "docs", "tests"}
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert any(name.startswith("discreet/service/static/client/") for name in names)


@pytest.mark.needs("hatchling")
def test_the_wheel_serves_the_files_of_the_sources_byte_by_byte(wheel):
    """Bundles are made from the files when they are served, so `discreet verify-page --list` is the same everywhere."""
    archive = zipfile.ZipFile(wheel)
    packed = {name for name in archive.namelist() if name.startswith("discreet/service/static/")}
    expected = {f"discreet/service/static/{name}": data for name, data in served.modules().items()}
    assert packed == set(expected)
    assert all(archive.read(name) == data for name, data in expected.items())
    assert b"<!--script-->" in archive.read("discreet/service/templates/answer.html")


@pytest.mark.needs("hatchling")
def test_the_wheel_asks_for_the_core_dependencies_only(wheel):
    archive = zipfile.ZipFile(wheel)
    (path,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    needs = re.findall(r"^Requires-Dist: ([\w-]+)(?:(?!extra ==).)*$", archive.read(path).decode(), re.MULTILINE)
    assert set(needs) == CORE


@pytest.mark.slow
@pytest.mark.needs("hatchling")
def test_a_fresh_environment_is_small(wheel, tmp_path):
    """The wheel and its dependencies, as pip installs them."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    megabytes = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) / 2**20
    print(f"\n{megabytes:.0f} MB")
    assert megabytes < 120


def test_importing_discreet_is_quick():
    code = "import time; start = time.process_time(); import discreet; print(time.process_time() - start)"
    seconds = [float(subprocess.check_output([sys.executable, "-c", code], timeout=60)) for _ in range(3)]
    assert min(seconds) < 0.15


def test_extras_are_complete():
    project = read_project()
    assert {re.match(r"[\w-]+", needed)[0] for needed in project["dependencies"]} == CORE
    extras = project["optional-dependencies"]
    assert set(extras) == {
        "all", "dask", "dataframes", "dev", "docs", "excel", "fast", "flower", "flower-simulation", "oidc", "plots",
        "scipy", "service", "spark", "test", "yaml",
    }  # fmt: skip
    named = set(re.search(r"\[(.*)\]", extras["all"][0])[1].split(","))
    assert named == set(extras) - {"all", "dev", "docs", "flower", "flower-simulation", "test"}


def test_the_distributions_have_one_version():
    assert [read_project(folder)["version"] for folder in SEPARATE] == [discreet.__version__] * 2
    assert read_project()["dynamic"] == ["version"]


@pytest.mark.parametrize(("verb", "distribution"), plugins.DISTRIBUTIONS.items())
def test_a_verb_that_is_not_installed_says_how_to_get_it(monkeypatch, verb, distribution):
    monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints())
    app = typer.Typer(cls=common.Verbs, no_args_is_help=True)
    app.callback()(lambda: None)
    plugins.register(app)
    for arguments in ([], ["--quick"], ["--help"]):
        done = CliRunner().invoke(app, [verb, *arguments])
        assert done.exit_code == 2
        assert f"pip install {distribution}" in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("folder", SEPARATE)
def test_the_other_distributions_provide_their_verbs(folder):
    ((verb, target),) = read_project(folder)["entry-points"][plugins.GROUP].items()
    assert plugins.DISTRIBUTIONS[verb] == read_project(folder)["name"]
    module = target.partition(":")[0].replace(".", "/")
    assert (ROOT / folder / "src" / f"{module}.py").is_file()
