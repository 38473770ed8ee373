"""What clients send, what the server counts, and the average that it estimates."""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats
from discreet.errors import DiscreetError


@dataclass(frozen=True, eq=False)
class PrivateUpdate:
    """What one client sends: which coordinates were drawn, and one report each. Counts only.

    Attributes
    ----------
    mechanism : str
        Id of the mechanism, so that a server with another design refuses it.
    coordinates, reports : numpy.ndarray
        k whole numbers each, coordinates rising.
    """

    mechanism: str
    coordinates: Counts
    reports: AnyArray


@dataclass(frozen=True, eq=False)
class UpdateTally:
    """Counts of reports by coordinate; adding tallies is merging them, in any order, exactly.

    Only what occurred is kept, so a model of a million coordinates costs what its clients sent.

    Attributes
    ----------
    mechanism : str
        Only tallies of the same one can be added.
    n : int
        Number of clients.
    keys, counts : numpy.ndarray of int64
        ``keys`` are coordinate * alphabet + report, rising; ``counts`` says how often each came.
    """

    mechanism: str
    n: int
    keys: Counts
    counts: Counts

    def __add__(self, other: "UpdateTally") -> "UpdateTally":
        if not isinstance(other, UpdateTally):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise DiscreetError(
                f"only tallies of one mechanism can be added, not of {self.mechanism[:12]}… and {other.mechanism[:12]}…"
            )
        keys, places = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return UpdateTally(self.mechanism, self.n + other.n, keys, counts)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UpdateTally)
            and (self.mechanism, self.n) == (other.mechanism, other.n)
            and bool(np.array_equal(self.keys, other.keys) and np.array_equal(self.counts, other.counts))
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class UpdateEstimate:
    """The average clipped update.

    Attributes
    ----------
    values : numpy.ndarray
        One per coordinate; 0 where nobody answered.
    standard_error : float
        Of one coordinate. It is computed from the mean square of all reports, which is mostly noise and nearly the same
        for every coordinate.
    n : int
        Number of clients.
    """

    values: Floats
    standard_error: float
    n: int
