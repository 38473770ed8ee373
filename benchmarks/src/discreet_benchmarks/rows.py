"""Rows of the report: a measurement beside its best peer and its floor; and a description of the machine."""

import datetime
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet import __version__

if TYPE_CHECKING:
    from discreet_benchmarks.peers import Peers

PEER_TARGET = 20.0
"""How many times faster than the better peer a row of speed should be."""
ONE_TARGET = 1.0
"""How many times faster than the better peer one report per call should be, with a cryptographic generator."""
FLOOR_TARGET = 3.0
"""How many times its floor a client or a server may cost."""
PER_REPORT = "seconds per report"

MEANING = {
    "ours": "measured, in `unit`; less is better",
    "best_peer": "the best peer's value, in the same unit; null if no peer has it",
    "floor": "a lower limit, in the same unit (`floor_is` says which); null if there is none",
    "ratio_to_best_peer": "best_peer / ours: how many times better we are; more is better",
    "ratio_to_floor": "ours / floor; less is better",
    "peer_target": f"the smallest ratio_to_best_peer we aim for ({PEER_TARGET:g} for speed), or null",
    "floor_target": f"the largest ratio_to_floor we aim for ({FLOOR_TARGET:g} for clients and servers), or null",
    "meets": "whether the row meets its targets; null if it has none",
}
"""What the fields of a row mean; part of every JSON report."""


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes
    ----------
    part, name : str
        The part it belongs to, and its name.
    kind : str
        "speed", "latency" (one call for one report), "duration" (a whole answer), "requests" (wall time), "accuracy",
        "threads" or "scaling".
    ours, best_peer, floor : float
        Values in the same unit; less is better.
    peer, floor_is : str
        The name of the best peer; what the floor consists of.
    details : dict
        Further figures, ready for JSON.

    Examples
    --------
    >>> row = Row("x", "client x", "speed", PER_REPORT, ours=2e-9, best_peer=1e-7, floor=1e-9, peer_target=20)
    >>> round(row.ratio_to_best_peer), round(row.ratio_to_floor), row.meets
    (50, 2, True)
    """

    part: str
    name: str
    kind: str
    unit: str
    ours: float
    best_peer: float | None = None
    peer: str | None = None
    floor: float | None = None
    floor_is: str | None = None
    peer_target: float | None = None
    floor_target: float | None = None
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio_to_best_peer(self) -> float | None:
        """How many times better we are than the better peer."""
        return None if self.best_peer is None else self.best_peer / self.ours

    @property
    def ratio_to_floor(self) -> float | None:
        """How many times the floor our value is."""
        return None if self.floor is None else self.ours / self.floor

    @property
    def meets(self) -> bool | None:
        """Whether the row meets its targets; None if it has none."""
        verdicts = []
        if self.peer_target is not None and self.ratio_to_best_peer is not None:
            verdicts.append(self.ratio_to_best_peer >= self.peer_target)
        if self.floor_target is not None and self.ratio_to_floor is not None:
            verdicts.append(self.ratio_to_floor <= self.floor_target)
        return all(verdicts) if verdicts else None

    def to_dict(self) -> dict[str, Any]:
        """Return values that are ready for JSON."""
        return {
            "part": self.part,
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "ours": self.ours,
            "best_peer": self.best_peer,
            "peer": self.peer,
            "floor": self.floor,
            "floor_is": self.floor_is,
            "ratio_to_best_peer": self.ratio_to_best_peer,
            "ratio_to_floor": self.ratio_to_floor,
            "peer_target": self.peer_target,
            "floor_target": self.floor_target,
            "meets": self.meets,
            "note": self.note,
            "details": self.details,
        }


Task = Callable[[], list[Row]]
"""A function that measures a few related rows."""


class Missing(Exception):
    """Something that a part needs is not installed; the message says what."""


@dataclass(frozen=True)
class Settings:
    """How to measure: quickly or thoroughly, with or without the peers."""

    quick: bool = False
    peers: "Peers | None" = None

    @property
    def repeats(self) -> int:
        """Number of interleaved repeats, of which the best is kept."""
        return 3 if self.quick else 7

    @property
    def budget(self) -> float:
        """Approximate seconds per repeat of a peer."""
        return 0.03 if self.quick else 0.1

    def peers_of(self, mechanism: str) -> list[str]:
        """Return the peers that have a mechanism."""
        return [] if self.peers is None else self.peers.names.get(mechanism, [])


def load() -> float | None:
    """Return the load of the machine, or None if the system does not report it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def circumstances() -> dict[str, Any]:
    """Return the date, the versions and the kind of machine, without names and paths."""
    import numba
    import numpy

    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": __version__,
        "machine": {
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "architecture": platform.machine(),
            "system": platform.system(),
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "numba": numba.__version__,
            "load_before": load(),
        },
    }
