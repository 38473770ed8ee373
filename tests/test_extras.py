"""Optional dependencies: loaded when needed; a missing one is a sentence with the command that installs it."""

import math
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import arrays
from discreet.extras import has, require

ROOT = Path(__file__).parent.parent
REQUIRE = re.compile(r'require\(\s*"([\w.]+)",\s*"([\w-]+)"')


def test_has_looks_without_importing():
    assert has("numpy")
    assert has("numpy.linalg")
    assert not has("no_such_package.part")


def test_a_missing_extra_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dc.MissingExtra, match=r'^Plotting needs matplotlib: pip install "discreet\[plots\]"$'):
        require("matplotlib.figure", "plots", "Plotting")


def test_a_missing_extra_is_an_import_error_and_one_of_ours():
    assert issubclass(dc.MissingExtra, ImportError)
    assert issubclass(dc.MissingExtra, dc.DiscreetError)


def test_an_installed_module_is_returned():
    assert require("math", "plots", "Nothing") is math


def test_every_extra_that_a_message_names_exists():
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "extras.py":
            continue
        for _, extra in REQUIRE.findall(text):
            assert extra in offered, path.name
        for extra in re.findall(r"discreet\[([\w-]+)\]", text):
            assert extra in offered, path.name


def test_array_names_are_numpy_types():
    for name, kind in (("Floats", np.float64), ("Counts", np.int64), ("Words", np.uint64), ("Bytes", np.uint8)):
        assert getattr(arrays, name).__args__[1].__args__ == (kind,)
