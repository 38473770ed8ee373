import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

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
