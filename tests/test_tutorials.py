"""Every tutorial runs from top to bottom: its Python in one namespace, its commands in the same folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parent.parent / "docs" / "tutorials").glob("*.md"))
WITH_SPARK = [path for path in TUTORIALS if "pyspark" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", [path for path in TUTORIALS if path not in WITH_SPARK], ids=lambda path: path.stem)
def test_tutorial(path, tmp_path, monkeypatch):
    run(path, tmp_path, monkeypatch)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("path", WITH_SPARK, ids=lambda path: path.stem)
def test_tutorial_with_spark(path, tmp_path, monkeypatch, spark):
    run(path, tmp_path, monkeypatch)


def run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    blocks = re.findall(r"```(python|bash)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for language, code in blocks:
        if language == "python":
            exec(compile(code, path.name, "exec"), namespace)
            continue
        for line in code.strip().splitlines():
            command = shlex.split(line, comments=True)
            assert command[0] == "discreet"
            environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
            done = subprocess.run(
                [sys.executable, "-m", "discreet.cli", *command[1:]], capture_output=True, text=True, env=environment
            )
            assert done.returncode == 0, done.stderr
