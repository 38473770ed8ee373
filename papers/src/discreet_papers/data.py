"""Load the papers' data sets, or the demo data in their place.

The papers' files (UCI and others) are not part of the repository; papers/README.md says how to get them. They are read
from a given folder (``--data``), or from `../shared/data` beside a clone. Without them, or without pyarrow, the demo
data of discreet are used: their n and shape differ, so a paper's numbers cannot be compared, but its claims at equal
epsilon can.
"""

from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats

ABSENT = (
    "The papers' files were not found, so these are discreet's demo data: the papers' numbers cannot be compared, only "
    "their claims at equal epsilon."
)
NOTE = (
    "The papers' own columns: Statlog (Australian Credit Approval) and Adult, from the UCI Machine Learning "
    "Repository. They are not part of this repository; papers/README.md says how to get them."
)


@dataclass(frozen=True)
class Column:
    """Counts of a categorical column.

    Attributes
    ----------
    paper : bool
        Whether it is the paper's own column rather than a substitute.
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
    """A numeric column with the range that an analyst would choose without looking at the data."""

    name: str
    values: Floats
    low: float
    high: float
    paper: bool


def folder(given: Path | None = None) -> Path | None:
    """Return the folder of the papers' data, or None if there is none or pyarrow is missing."""
    beside = Path(__file__).resolve().parents[4] / "shared" / "data"
    place = beside if given is None else given
    return place if place.is_dir() and find_spec("pyarrow") is not None else None


def categorical(given: Path | None = None) -> list[Column]:
    """Return the comparison paper's six columns of Statlog and Adult, or three columns of the demo data."""
    place = folder(given)
    wanted = {
        "statlog_australian.parquet": {"A4": "A4", "A6": "A6", "A5": "A5"},
        "adult_train.parquet": {"Race": "race", "Occ": "occupation", "Country": "native_country"},
    }
    if place is None or not all((place / file).is_file() for file in wanted):
        return _vendored_categories()
    return [
        Column(name, np.unique(read_column(place / file, column), return_counts=True)[1].astype(np.int64), True)
        for file, columns in wanted.items()
        for name, column in columns.items()
    ]


def numeric(given: Path | None = None) -> list[Numbers]:
    """Return three numeric columns: wages, taxi rides and voltage, or wages, departures and ages."""
    place = folder(given)
    wage = Numbers("wage", demo_column("income_cps", "wage"), 0, 500_000, False)
    files_of = ("nyc_green_taxi_11m.parquet", "hpc_voltage_hourly.parquet")
    if place is None or not all((place / file).is_file() for file in files_of):
        minutes = Numbers("departure minute", demo_column("flights_nyc13", "dep_minute"), 0, 1440, False)
        return [wage, minutes, Numbers("age", demo_column("income_cps", "age"), 0, 100, False)]
    return [
        wage,
        Numbers("taxi ride, seconds", finite(read_column(place / files_of[0], "duration_s")), 0, 7200, True),
        Numbers("voltage", finite(read_column(place / files_of[1], "voltage_hour_mean")), 220, 260, True),
    ]


def time_and_voltage(given: Path | None = None) -> tuple[Numbers, Numbers]:
    """Return the N-output paper's pickup times and voltage, or departures and ages in their place."""
    place = folder(given)
    taxi, volts = "nyc_yellow_taxi_sample.parquet", "hpc_voltage_hourly.parquet"
    if place is None or not all((place / file).is_file() for file in (taxi, volts)):
        minutes = Numbers("departure minute", demo_column("flights_nyc13", "dep_minute"), 0, 1440, False)
        return minutes, Numbers("age", demo_column("income_cps", "age"), 0, 100, False)
    return (
        Numbers("taxi pickup time", finite(read_column(place / taxi, "pickup_s")), 0, 86_400, True),
        Numbers("voltage, hourly means", finite(read_column(place / volts, "voltage_hour_mean")), 220, 260, True),
    )


def read_column(path: Path, column: str) -> Any:
    """Return a column of a Parquet file."""
    import pyarrow.parquet as pq

    return pq.read_table(path, columns=[column])[column].to_numpy(zero_copy_only=False)


def finite(values: Any) -> Floats:
    """Return the finite numbers."""
    numbers = np.asarray(values, dtype=np.float64)
    return numbers[np.isfinite(numbers)]


def demo_column(file: str, array: str) -> Floats:
    """Return an array of the demo data."""
    with np.load(str(files("discreet.demo") / "data" / f"{file}.npz"), allow_pickle=False) as stored:
        return np.asarray(stored[array], dtype=np.float64)


def _vendored_categories() -> list[Column]:
    """Return carriers, states and destinations of 32 561 people, the size of Adult."""
    sources = {"carrier": ("flights_nyc13", "carrier_code"), "state": ("income_cps", "state_fips")}
    sources["destination"] = ("flights_nyc13", "dest_code")
    found = []
    for name, (file, array) in sources.items():
        _, codes = np.unique(demo_column(file, array), return_inverse=True)
        found.append(Column(name, np.bincount(codes[:32_561], minlength=codes.max() + 1).astype(np.int64), False))
    return found
