"""People for the tests of files and frames: a table with missing and clipped values, and what is asked."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import discreet as dc

N = 20_000
WAGE = dc.Interval(0, 100)
DRINK = dc.Categories(["tea", "coffee", "NA"])
RNG = np.random.default_rng(1)


def table(n=N):
    wage = np.clip(RNG.normal(45, 25, n), -40, 140)
    wage[::50] = np.nan
    drink = RNG.choice(["tea", "coffee", "NA"], n, p=[0.5, 0.3, 0.2]).astype(object)
    drink[7] = None
    return pa.table(
        {
            "wage": pa.array(wage, from_pandas=True),
            "drink": pa.array(drink.tolist()),
            "room": pa.array(RNG.integers(0, 70, n)),
            "other": pa.array([f"secret {i}" for i in range(n)]),
        }
    )


PEOPLE = table()
PRESENT = int(PEOPLE.column("wage").is_valid().to_numpy().sum())
QUESTION = {"wage": dc.Mean(WAGE, epsilon=4, method="duchi")}
THREE = {
    "wage": dc.Mean(WAGE, epsilon=4, method="duchi"),
    "drink": dc.Frequency(DRINK, epsilon=4),
    "room": dc.Frequency(dc.Categories(range(70)), epsilon=4, method="optimized-unary"),
}


def seeded(seed=1):
    return dc.Entropy.seeded(seed)


def write(path, data=PEOPLE):
    if path.suffix == ".csv":
        pa.csv.write_csv(data, path)
    elif path.suffix == ".parquet":
        pq.write_table(data, path, row_group_size=3000)
    else:
        pa.feather.write_feather(data, path, compression="uncompressed")
    return path


def check_answers(answers, epsilon=4):
    truth = np.clip(PEOPLE.column("wage").drop_null().to_numpy(), 0, 100).mean()
    assert answers["wage"].value == pytest.approx(truth, abs=6 * answers["wage"].details["standard_error"])
    assert answers["wage"].epsilon == epsilon
    assert answers["drink"]["tea"]["raw"] == pytest.approx(0.5, abs=0.05)
    assert answers["room"].raw == pytest.approx(np.full(70, 1 / 70), abs=0.04)


ROWS = pa.table(
    {"wage": np.tile([20.0, 60.0], 10_000), "age": np.tile([30.0, 50.0], 10_000), "rate": np.full(20_000, 0.3)}
)
SEVERAL = [dc.Interval(0, 100), dc.Interval(0, 120), dc.Interval(0, 1)]
NAMES = ["wage", "age", "rate"]
