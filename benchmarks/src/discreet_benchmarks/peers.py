"""The peers, pure-ldp 1.2.0 and multi-freq-ldpy 0.2.5, in an environment and a process of their own.

They need `numpy<2` and `xxhash<4`, and packages that they do not declare, so they cannot be installed beside discreet.
The environment is the one given; or `.venv-peers` in the current folder (`make setup-peers`); or one in the cache
folder, which is made once. `constraints-peers.txt` pins the versions.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.drivers.solved import cache_folder
from discreet.errors import DiscreetError

LOCAL = Path(".venv-peers")
PINS = Path(__file__).with_name("constraints-peers.txt")
WORKER = Path(__file__).with_name("peer_worker.py")
SINGLE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
NEWEST = (3, 12)
"""The newest Python for which there are wheels of numpy below 2."""
BINARY = "numpy,scipy,pandas,numba,llvmlite,scikit-learn,statsmodels"
"""Packages that are never built from source, so that a missing wheel is an error at once."""
PATIENCE = 1800
"""Most seconds that an installation may take."""


def interpreter(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make(folder: Path) -> Path:
    """Make an environment with the peers in a folder and return its interpreter; clean up after a failure."""
    fresh = not folder.exists()
    try:
        _run([_base(), "-m", "venv", str(folder)])
        python = interpreter(folder)
        options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary", BINARY]
        _run([str(python), "-m", "pip", "install", *options, "-r", str(PINS)])
    except DiscreetError:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return python


def _base() -> str:
    """Return an interpreter that is old enough for the peers: this one, or an older one."""
    elders = (shutil.which(f"python3.{minor}") for minor in range(NEWEST[1], 10, -1))
    return sys.executable if sys.version_info[:2] <= NEWEST else next(filter(None, elders), sys.executable)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DiscreetError(f"the peers' environment cannot be made: {type(error).__name__}") from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reasons = [line for line in lines if line.startswith("ERROR")] or lines or ["no reason was given"]
        raise DiscreetError(f"the peers' environment cannot be made: {reasons[-1]}")


def cached(say: Callable[[str], None]) -> Path:
    """Return the interpreter of the environment in the cache folder; make the environment if there is none."""
    pins = PINS.read_text("utf-8")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(f"{version}\n{pins}".encode()).hexdigest()[:16]
    folder = cache_folder() / f"peers-{key}"
    if interpreter(folder).exists():
        return interpreter(folder)
    say(f"Making the peers' environment once, in {folder}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # An environment can be moved after it was made, because we call its interpreter by path.
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        make(Path(place) / "peers")
        with contextlib.suppress(OSError):  # another process was faster
            (Path(place) / "peers").replace(folder)
    return interpreter(folder)


def find(named: Path | None, say: Callable[[str], None]) -> Path:
    """Return the interpreter of the peers' environment: the given one, this folder's, or the cached one."""
    if named is not None:
        found = interpreter(named) if named.is_dir() else named
        if not found.is_file():
            raise DiscreetError(f"peers must be an environment's interpreter or folder, not {named}")
        return found
    return interpreter(LOCAL) if interpreter(LOCAL).exists() else cached(say)


class Peers:
    """A running process of the peers; `ask` sends one request and waits for its answer.

    Parameters
    ----------
    python : Path
        Interpreter of their environment.

    Attributes
    ----------
    names : dict
        The peers that have the same mechanism, by our mechanism's name.
    missing : dict
        The reasons why other peers do not run.
    """

    def __init__(self, python: Path) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [str(python), "-I", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | SINGLE,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        weakref.finalize(self, self._process.kill)
        try:
            found = self.ask(do="list")
            self.names: dict[str, list[str]] = found["peers"]
            self.missing: dict[str, str] = found["missing"]
            if not any(self.names.values()):
                raise DiscreetError(f"no peer runs in this environment: {next(iter(self.missing.values()))}")
        except BaseException:
            self.close()
            raise

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request."""
        try:
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
            line = self._answers.readline()
        except OSError:
            line = ""
        if not line:
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines() or ["no reason was given"]
            raise DiscreetError(f"the peers' process ended: {said[-1]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise DiscreetError(f"{request.get('peer', 'the peers')} failed: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
        self._errors.close()


if __name__ == "__main__":
    print(f"Ready: {make(LOCAL)}")
