"""Tables remembered on disk: named by what they answer, verified exactly whenever they are read.

The directory is $XDG_CACHE_HOME/discreet or ~/.cache/discreet. A file that is missing, corrupt or does not verify is
ignored, and written anew; a directory that cannot be written is no error. What is read can therefore never be less
private or more biased than what would be solved; only its variance is taken on trust.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from discreet.optimize.repair import ExactTable, sound

# Goes up whenever the same question would be answered better: old files are then not found.
EDITION = 1


def directory() -> Path:
    """Return where tables are remembered."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


def remembered(question: dict[str, str | int | None], epsilon: float, solve: Callable[[], ExactTable]) -> ExactTable:
    """Return the stored answer to a question if there is a sound one, else solve and store it."""
    name = json.dumps({**question, "epsilon": epsilon.hex(), "edition": EDITION}, sort_keys=True)
    path = directory() / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        document = json.loads(path.read_text(encoding="utf-8"))
        knots, values = (np.array(document[key], dtype=np.float64) for key in ("knots", "values"))
        weights = np.array(document["weights"], dtype=np.int64)
        if document["question"] == name and weights.shape == (knots.size, values.size):
            return sound(knots, values, weights, epsilon)
    table = solve()
    with contextlib.suppress(OSError):
        _write(path, name, table)
    return table


def _write(path: Path, name: str, table: ExactTable) -> None:
    """Write beside, then rename: another process reads the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "question": name,
        "knots": table.knots.tolist(),
        "values": table.values.tolist(),
        "weights": table.weights.tolist(),
    }
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
