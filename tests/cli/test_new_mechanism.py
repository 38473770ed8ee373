"""`discreet new-mechanism`: the package that it makes is whole, is found by its entry point, and passes the battery."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint

import pytest
from tests.cli.running import found, refused, run

from discreet.mechanisms import registry


def test_the_package_works_from_the_start(tmp_path, monkeypatch):
    made = found("new-mechanism", "my-own", "--folder", tmp_path)
    home = tmp_path / "discreet-my-own"
    assert made["folder"] == home.as_posix()
    assert {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()} == {
        "README.md",
        "pyproject.toml",
        "src/discreet_my_own/__init__.py",
        "tests/test_mechanism.py",
    }
    settings = tomllib.loads((home / "pyproject.toml").read_text())
    points = settings["project"]["entry-points"][registry.GROUP]
    monkeypatch.syspath_prepend(home / "src")
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry.entries()))
    point = EntryPoint(*next(iter(points.items())), registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.GROUP else [])
    registry.load.__wrapped__()  # as in a process where the package is installed
    mechanism = registry.mechanism("my-own", epsilon=1)
    assert mechanism.name == "my-own"
    assert mechanism.certificate.holds
    assert mechanism.certificate.unbiased


@pytest.mark.needs("scipy")
def test_its_own_tests_pass(tmp_path):
    found("new-mechanism", "trial", "--folder", tmp_path)
    home = tmp_path / "discreet-trial"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-o", "pythonpath=src"],
        cwd=home,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


@pytest.mark.parametrize(
    ("name", "why"),
    [("My", "small letters"), ("a b", "small letters"), ("duchi", "already"), ("-x", "No such option")],
)
def test_names_that_will_not_do(tmp_path, name, why):
    assert why in refused("new-mechanism", name, "--folder", tmp_path)


def test_nothing_is_overwritten(tmp_path):
    assert "pip install -e" in run("new-mechanism", "mine", "--folder", tmp_path).stdout
    assert "exists; remove it" in refused("new-mechanism", "mine", "--folder", tmp_path)
