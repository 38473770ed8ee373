"""A table of people."""

import numpy as np
import pytest


@pytest.fixture
def people(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    generator = np.random.default_rng(2)
    wage = generator.normal(40_000, 20_000, 20_000)
    wage[:100] = np.nan
    drink = generator.choice(["tea", "coffee"], 20_000, p=[0.7, 0.3])
    pq.write_table(pa.table({"wage": wage, "drink": drink}), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"
