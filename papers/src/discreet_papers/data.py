"""The papers' data, where they are to be had; otherwise the data that come with the package, and a sentence about it.

The files of the papers (UCI and others) are not part of the repository. They are looked for in a folder that is given,
or in `../shared/data` beside a clone. Without them, or without pyarrow to read them, the vendored demo data stand in:
another n and another shape, so a paper's numbers cannot be compared, but what is claimed at equal epsilon can.
"""

from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ABSENT = (
    "The papers' files are not here: these are the vendored demo data instead, so the papers' numbers cannot be "
    "compared, only what is claimed at equal epsilon."
)
NOTE = "On the papers' own columns (UCI), read from ../shared/data: those files are not part of the repository."


@dataclass(frozen=True)
class Column:
    """Counts of a categorical column.

    Attributes
    ----------
    paper : bool
        Whether it is the paper's own column rather than one that stands in for it.
    """

    name: str
    counts: Counts
    paper: bool

    @property
    def n(self) -> int:
        """Number of people."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.counts)


@dataclass(frozen=True)
class Numbers:
    """A numeric column with the range that an analyst would give, not that of the data."""

    name: str
    values: Floats
    low: float
    high: float
    paper: bool


def folder(given: Path | None = None) -> Path | None:
    """Return the folder of the papers' data, or None where there is none or nothing to read it with."""
    beside = Path(__file__).resolve().parents[4] / "shared" / "data"
    place = beside if given is None else given
    return place if place.is_dir() and find_spec("pyarrow") is not None else None


def categorical(given: Path | None = None) -> list[Column]:
    """Return the six columns of the comparison paper's Statlog and Adult, or three vendored ones."""
    place = folder(given)
    wanted = {
        "statlog_australian.parquet": {"A4": "A4", "A6": "A6", "A5": "A5"},
        "adult_train.parquet": {"Race": "race", "Occ": "occupation", "Country": "native_country"},
    }
    if place is None or not all((place / file).is_file() for file in wanted):
        return _vendored_categories()
    return [
        Column(name, np.unique(_read(place / file, column), return_counts=True)[1].astype(np.int64), True)
        for file, columns in wanted.items()
        for name, column in columns.items()
    ]


def numeric(given: Path | None = None) -> list[Numbers]:
    """Return three columns of numbers: wages, taxi rides and voltage, or wages, departures and ages."""
    place = folder(given)
    wage = Numbers("wage", _demo("income_cps", "wage"), 0, 500_000, False)
    files_of = ("nyc_green_taxi_11m.parquet", "hpc_voltage_hourly.parquet")
    if place is None or not all((place / file).is_file() for file in files_of):
        minutes = Numbers("departure minute", _demo("flights_nyc13", "dep_minute"), 0, 1440, False)
        return [wage, minutes, Numbers("age", _demo("income_cps", "age"), 0, 100, False)]
    return [
        wage,
        Numbers("taxi ride, seconds", _finite(_read(place / files_of[0], "duration_s")), 0, 7200, True),
        Numbers("voltage", _finite(_read(place / files_of[1], "voltage_hour_mean")), 220, 260, True),
    ]


def time_and_voltage(given: Path | None = None) -> tuple[Numbers, Numbers]:
    """Return the pickup times and the voltage of the N-output paper, or what stands in: departures and ages."""
    place = folder(given)
    taxi, volts = "nyc_yellow_taxi_sample.parquet", "hpc_voltage_hourly.parquet"
    if place is None or not all((place / file).is_file() for file in (taxi, volts)):
        minutes = Numbers("departure minute", _demo("flights_nyc13", "dep_minute"), 0, 1440, False)
        return minutes, Numbers("age", _demo("income_cps", "age"), 0, 100, False)
    return (
        Numbers("taxi pickup time", _finite(_read(place / taxi, "pickup_s")), 0, 86_400, True),
        Numbers("voltage, hourly means", _finite(_read(place / volts, "voltage_hour_mean")), 220, 260, True),
    )


def _read(path: Path, column: str) -> Any:
    """Return a column of a Parquet file."""
    import pyarrow.parquet as pq

    return pq.read_table(path, columns=[column])[column].to_numpy(zero_copy_only=False)


def _finite(values: Any) -> Floats:
    """Return the numbers that are finite."""
    numbers = np.asarray(values, dtype=np.float64)
    return numbers[np.isfinite(numbers)]


def _demo(file: str, array: str) -> Floats:
    """Return an array of the vendored data."""
    with np.load(str(files("discreet.demo") / "data" / f"{file}.npz"), allow_pickle=False) as stored:
        return np.asarray(stored[array], dtype=np.float64)


def _vendored_categories() -> list[Column]:
    """Return carriers, states and destinations of 32 561 people, as many as Adult has."""
    sources = {"carrier": ("flights_nyc13", "carrier_code"), "state": ("income_cps", "state_fips")}
    sources["destination"] = ("flights_nyc13", "dest_code")
    found = []
    for name, (file, array) in sources.items():
        _, codes = np.unique(_demo(file, array), return_inverse=True)
        found.append(Column(name, np.bincount(codes[:32_561], minlength=codes.max() + 1).astype(np.int64), False))
    return found
