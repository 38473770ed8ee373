"""From the main environment: run the tests of the mod in Flower's own, where that exists."""

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-flower" / "bin" / "python"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("flwr") is not None, reason="this is Flower's environment: test_flower.py runs by itself")
@pytest.mark.skipif(not PYTHON.exists(), reason="there is no .venv-flower; `make setup-flower` makes it")
def test_the_mod_in_flowers_environment():
    command = [PYTHON, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/federated/test_flower.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout
