"""Columns that answers are tried on: populations whose every number is known exactly.

A column is a law: values and their shares. People are drawn from it with replacement, so an interval covers if it holds
the law's own mean, median or share. There are two halves. What is tuned is tuned on "choosing"; what is published is
measured on "reporting". Both have every kind of column, generated with other parameters, and real ones of other files:
rows of the same file look alike, so they would keep nothing back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.plans.encoders import Bucket
from discreet.text import listed
from discreet_papers import data

Half = Literal["choosing", "reporting"]
HALVES: tuple[Half, ...] = ("choosing", "reporting")
KINDS = ("smooth", "heaped", "integer", "zero-inflated", "heavy-tailed", "spiky")
"""What a column of numbers can look like."""
FINE = 1 << 14
"""Places of a generated smooth density: far finer than the buckets of any answer."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers as a law on its distinct values.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    values, shares : numpy.ndarray
        Distinct values within the domain, in rising order, and the share of the people who hold each.
    domain : Interval
        What an analyst would give; values outside count as its nearest end.
    range : (float, float)
        A range that an analyst would ask about, ends included.
    """

    name: str
    kind: str
    half: Half
    domain: Interval
    values: Floats
    shares: Floats
    range: tuple[float, float]

    @classmethod
    def of(
        cls, name: str, kind: str, half: Half, ends: tuple[float, float], about: tuple[float, float],
        values: Any, weights: Any = None,
    ) -> "Column":  # fmt: skip
        """Return the column of these values, clipped to the ends and counted, or weighted."""
        clipped = np.clip(np.asarray(values, dtype=np.float64), *ends)
        distinct, places = np.unique(clipped, return_inverse=True)
        held = np.bincount(places, weights)
        return cls(name, kind, half, Interval(*ends), distinct, held / held.sum(), about)

    @cached_property
    def cumulative(self) -> Floats:
        """Share of the people at or below each value."""
        return np.cumsum(self.shares)

    @cached_property
    def mean(self) -> float:
        """The mean."""
        return float(self.shares @ self.values)

    @cached_property
    def variance(self) -> float:
        """The variance."""
        return float(self.shares @ np.square(self.values - self.mean))

    def quantile(self, q: float) -> tuple[float, float]:
        """Return the smallest and the largest number that may be called the quantile; mostly they are the same."""
        low = int(np.searchsorted(self.cumulative, q - 1e-12))
        high = int(np.searchsorted(self.cumulative, q + 1e-12))
        return float(self.values[min(low, self.values.size - 1)]), float(self.values[min(high, self.values.size - 1)])

    def cdf(self, x: float) -> float:
        """Return the share of the people at or below a number."""
        return float(self.shares[self.values <= x].sum())

    def inside(self, low: float, high: float) -> tuple[float, float]:
        """Return the share of the people in a range, ends included, and their mean."""
        is_in = (self.values >= low) & (self.values <= high)
        share = float(self.shares[is_in].sum())
        return share, float(self.shares[is_in] @ self.values[is_in]) / share

    @property
    def heap(self) -> float | None:
        """The value that most people hold, if at least 1 % do."""
        most = int(self.shares.argmax())
        return float(self.values[most]) if self.shares[most] >= 0.01 else None

    def places(self, values: Floats, bins: int) -> Counts:
        """Return which of equal buckets a device would put some values into."""
        return np.asarray(Bucket(self.domain, bins).encode(values).inputs, dtype=np.int64)

    def histogram(self, bins: int) -> Floats:
        """Return the share of the people in each of equal buckets."""
        return np.bincount(self.places(self.values, bins), self.shares, bins).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of categories 0, 1, …, as the share of the people in each."""

    name: str
    kind: str
    half: Half
    shares: Floats

    @property
    def size(self) -> int:
        """Number of categories."""
        return int(self.shares.size)


# -- generated ------------------------------------------------------------------------------------------------


def _lattice(low: float, high: float) -> Floats:
    return np.asarray(low + (np.arange(FINE) + 0.5) * ((high - low) / FINE), dtype=np.float64)


def _bell(x: Floats, centre: float, width: float) -> Floats:
    return np.exp(-0.5 * np.square((x - centre) / width)) / width


def _log_bell(x: Floats, centre: float, width: float) -> Floats:
    return _bell(np.log(x), np.log(centre), width) / x


def _mixed(parts: list[tuple[float, Any, Any]]) -> tuple[Floats, Floats]:
    """Return values and weights of a mixture of (share, values, weights)."""
    weights = [share * np.asarray(w, dtype=np.float64) / np.sum(w) for share, _, w in parts]
    return np.concatenate([np.asarray(v, dtype=np.float64) for _, v, _ in parts]), np.concatenate(weights)


def _two_bells() -> tuple[Floats, Floats]:
    x = _lattice(0, 100)
    return x, 0.55 * _bell(x, 33, 9) + 0.45 * _bell(x, 68, 7)


def _one_bell() -> tuple[Floats, Floats]:
    x = _lattice(0, 100)
    return x, (x / 100) ** 4 * (1 - x / 100)


def _hours() -> tuple[Floats, Floats]:
    """Whole hours per week; nearly half say exactly 40, many a multiple of five."""
    x = np.arange(1, 100.0)
    bell = _bell(x, 39, 13)
    return _mixed([(0.44, [40.0], [1]), (0.26, x[x % 5 == 0], bell[x % 5 == 0]), (0.30, x, bell)])


def _amounts() -> tuple[Floats, Floats]:
    """Amounts of money; most people round, to 10, to 50 or to 100."""
    x = np.arange(1, 1001.0)
    bell = _log_bell(x, 240, 0.7)
    heaps = [(share, x[x % step == 0], bell[x % step == 0]) for share, step in ((0.35, 100), (0.2, 50), (0.15, 10))]
    return _mixed([*heaps, (0.30, x, bell)])


def _ages() -> tuple[Floats, Floats]:
    x = np.arange(18, 96.0)
    return x, 1 / (1 + np.exp((x - 66) / 7)) * (1 - np.exp(-(x - 14) / 9))


def _visits() -> tuple[Floats, Floats]:
    x = np.arange(0, 61.0)
    return x, 0.86**x * (x + 1)


def _often_nothing() -> tuple[Floats, Floats]:
    x = _lattice(0, 1000)
    return _mixed([(0.6, [0.0], [1]), (0.4, x, _log_bell(x, 180, 0.8))])


def _mostly_nothing() -> tuple[Floats, Floats]:
    x = _lattice(0, 5000)
    return _mixed([(0.9, [0.0], [1]), (0.1, x, _log_bell(x, 1100, 0.6))])


def _incomes() -> tuple[Floats, Floats]:
    x = _lattice(0, 500_000)
    return x, _log_bell(x, 38_000, 0.85)


def _durations() -> tuple[Floats, Floats]:
    x = _lattice(0, 3600)
    return x, 1 / (1 + (x / 240) ** 2.6) * (1 - np.exp(-x / 40))


def _prices() -> tuple[Floats, Floats]:
    x, tags = _lattice(0, 100), np.array([4.99, 7.49, 9.99, 14.99, 19.99, 24.99, 29.99, 49.99, 79.99])
    return _mixed([(0.8, tags, [9, 5, 20, 12, 18, 6, 10, 15, 5]), (0.2, x, _log_bell(x, 25, 0.8))])


def _doses() -> tuple[Floats, Floats]:
    x, doses = _lattice(0, 50), np.array([1.25, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0])
    return _mixed([(0.9, doses, [3, 14, 30, 6, 28, 14, 5]), (0.1, x, _bell(x, 12, 9))])


Generated = tuple[str, str, Half, tuple[float, float], tuple[float, float], Callable[[], tuple[Floats, Floats]]]
GENERATED: tuple[Generated, ...] = (
    ("one bell", "smooth", "choosing", (0, 100), (40, 70), _one_bell),
    ("two bells", "smooth", "reporting", (0, 100), (20, 50), _two_bells),
    ("made-up hours", "heaped", "choosing", (0, 100), (35, 45), _hours),
    ("rounded amounts", "heaped", "reporting", (0, 1000), (100, 300), _amounts),
    ("whole years", "integer", "choosing", (0, 100), (30, 50), _ages),
    ("visits", "integer", "reporting", (0, 60), (5, 15), _visits),
    ("often nothing", "zero-inflated", "choosing", (0, 1000), (100, 300), _often_nothing),
    ("mostly nothing", "zero-inflated", "reporting", (0, 5000), (500, 2000), _mostly_nothing),
    ("incomes", "heavy-tailed", "choosing", (0, 500_000), (20_000, 60_000), _incomes),
    ("durations", "heavy-tailed", "reporting", (0, 3600), (120, 600), _durations),
    ("prices", "spiky", "choosing", (0, 100), (10, 30), _prices),
    ("doses", "spiky", "reporting", (0, 50), (5, 20), _doses),
)
"""Name, kind, half, domain, range and law of each generated column."""

Read = tuple[str, str, Half, str, str, tuple[float, float], tuple[float, float]]
REAL: tuple[Read, ...] = (
    ("voltage", "smooth", "choosing", "hpc_voltage_hourly", "voltage_hour_mean", (220, 260), (238, 243)),
    ("distance of showers", "smooth", "reporting", "magic_gamma", "fDist", (0, 500), (100, 200)),
    ("weekly hours", "heaped", "choosing", "adult_train", "hours_per_week", (0, 100), (35, 45)),
    ("taxi fares", "heaped", "reporting", "nyc_yellow_taxi_sample", "fare", (0, 100), (5, 10)),
    ("age of adults", "integer", "choosing", "adult_train", "age", (0, 100), (30, 50)),
    ("minutes in the air", "integer", "reporting", "nycflights13", "air_time_min", (0, 720), (60, 180)),
    ("wages", "zero-inflated", "choosing", "cps_income", "wage_head", (0, 200_000), (20_000, 60_000)),
    ("dividends", "zero-inflated", "reporting", "census_income_kdd_train", "dividends", (0, 10_000), (100, 1000)),
    ("taxi rides", "heavy-tailed", "choosing", "nyc_green_taxi_11m", "duration_s", (0, 7200), (300, 900)),
    ("diamonds", "heavy-tailed", "reporting", "diamonds", "price", (0, 20_000), (1000, 5000)),
    ("carats", "spiky", "choosing", "diamonds", "carat", (0, 5), (0.5, 1)),
    ("weeks worked", "spiky", "reporting", "census_income_kdd_train", "weeks_worked", (0, 52), (20, 50)),
)
"""Name, kind, half, file, column, domain and range of each real column."""


def _labelled(half: Half) -> list[Labels]:
    """Return generated columns of categories: few, many, one that nearly everyone holds, many that nobody holds."""
    first = half == "choosing"
    zipf = 1 / np.arange(1, (64 if first else 200) + 1.0)
    dominant = np.append([0.9 if first else 0.8], 0.6 ** np.arange(20 if first else 30))
    dominant[1:] *= (1 - dominant[0]) / dominant[1:].sum()
    sparse = np.zeros(256 if first else 1024)
    sparse[:: 16 if first else 32] = np.linspace(1, 3, 16 if first else 32)
    laws = {"yes or no": np.array([0.3, 0.7]) if first else np.array([0.12, 0.88]), "zipf": zipf}
    laws |= {"one dominant": dominant, "mostly empty": sparse}
    return [Labels(name, "categories", half, law / law.sum()) for name, law in laws.items()]


LABELLED: tuple[tuple[str, Half, str, str], ...] = (
    ("occupation", "choosing", "adult_train", "occupation"),
    ("country of birth", "choosing", "adult_train", "native_country"),
    ("industry", "reporting", "census_income_kdd_train", "industry_code"),
    ("destination", "reporting", "nycflights13", "dest"),
)


@dataclass(frozen=True)
class Source:
    """A column that is made, or read, when it is needed."""

    name: str
    kind: str
    load: Callable[[], Any]


def numbers(half: Half, place: Path | None = None) -> list[Source]:
    """Return the columns of numbers of one half; the real ones if their folder is there (`discreet_papers.data`).

    Examples
    --------
    >>> [source.name for source in numbers("choosing")][:3]
    ['one bell', 'made-up hours', 'whole years']
    """
    made = [Source(name, kind, partial(_made, name)) for name, kind, h, *_ in GENERATED if h == half]
    folder = data.folder(place)
    return made + [
        Source(name, kind, partial(_read, name, folder))
        for name, kind, h, file, *_ in REAL
        if folder is not None and h == half and (folder / f"{file}.parquet").is_file()
    ]


@cache
def _made(name: str) -> Column:
    """Return a generated column."""
    (row,) = (row for row in GENERATED if row[0] == name)
    return Column.of(*row[:-1], *row[-1]())


@cache
def _read(name: str, folder: Path) -> Column:
    """Read a real column."""
    ((_, kind, half, file, column, ends, about),) = (row for row in REAL if row[0] == name)
    values = data.finite(data.read_column(folder / f"{file}.parquet", column))
    return Column.of(name, kind, half, ends, about, values)


def labels(half: Half, place: Path | None = None) -> list[Source]:
    """Return the columns of categories of one half."""
    folder = data.folder(place)
    return [Source(one.name, one.kind, partial(_same, one)) for one in _labelled(half)] + [
        Source(name, "categories", partial(_count, name, folder))
        for name, h, file, _ in LABELLED
        if folder is not None and h == half and (folder / f"{file}.parquet").is_file()
    ]


def _same(column: Labels) -> Labels:
    return column


@cache
def _count(name: str, folder: Path) -> Labels:
    """Read a real column of categories."""
    ((_, half, file, column),) = (row for row in LABELLED if row[0] == name)
    held = np.unique(data.read_column(folder / f"{file}.parquet", column).astype(str), return_counts=True)[1]
    return Labels(name, "categories", half, held / held.sum())


def choose(half: Half, names: Sequence[str], is_labels: bool, place: Path | None = None) -> list[Source]:
    """Return the columns of numbers, or of categories, with these names or of these kinds; all if none is named."""
    sources = (numbers(half, place), labels(half, place))
    known = [word for of in sources for source in of for word in (source.name, source.kind)]
    for name in names:
        if name not in known:
            raise DiscreetError(f"columns must be {listed(dict.fromkeys(known))}, not {name!r}")
    return [s for s in sources[is_labels] if not names or s.name in names or s.kind in names]
