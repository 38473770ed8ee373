import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.vectors import forms
from tests.vectors.dice import Dice

CLIENT = Path(__file__).parents[1] / "clients" / "javascript"
HOW = "node 20 or newer is needed to test clients/javascript: install nodejs (Debian: apt-get install nodejs)"


def test_the_javascript_client_agrees_with_the_vectors():
    node = shutil.which("node")
    found = subprocess.run([node, "--version"], capture_output=True, text=True).stdout if node else "v0"
    if int(re.match(r"v(\d+)", found).group(1)) < 20:
        if os.environ.get("CI"):
            pytest.fail(HOW)
        pytest.skip(HOW)
    run = subprocess.run(
        [node, "--test", "--test-reporter=tap"], cwd=CLIENT, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(re.search(r"^# pass (\d+)", run.stdout, re.M).group(1)) > 50, run.stdout


ROWS = """
import { readFileSync } from "node:fs";
import { Form } from "./src/index.js";
const rows = ({ questions, people }) => people.map((answers) => Form.read(questions).row(answers));
const found = JSON.parse(readFileSync(0, "utf8")).map(rows);
process.stdout.write(JSON.stringify(found));
"""


@pytest.mark.slow
def test_ten_thousand_answers_become_the_rows_of_python():
    """Random surveys and random answers, wrong ones among them; tests/vectors/forms.json has a thousand of them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip(HOW)
    vectors = [one for one in forms.make(Dice(99), people=250) if one["reason"] is None]
    assert sum(len(one["people"]) for one in vectors) > 10_000
    run = subprocess.run(
        [node, "--input-type=module", "-e", ROWS],
        cwd=CLIENT,
        input=json.dumps(vectors),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    for vector, rows in zip(vectors, json.loads(run.stdout), strict=True):
        assert rows == vector["rows"]
