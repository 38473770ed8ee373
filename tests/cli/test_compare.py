"""`discreet compare`, and `discreet privatize --by`."""

import numpy as np
import pytest
from tests.cli.running import found, refused, run

pytestmark = pytest.mark.needs("pyarrow")
MEAN = ("--column", "wage", "--ask", "mean", "--low", 0, "--high", 100, "--method", "duchi", "--epsilon", 2)


@pytest.fixture
def values(tmp_path):
    import pandas as pd

    for name, wage in (("treated", 60.0), ("others", 30.0), ("again", 30.0)):
        states = np.array(["Ohio", "Utah"] * 1500)
        pd.DataFrame({"wage": np.where(states == "Utah", wage + 20, wage), "state": states}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    return tmp_path


def reports(values, name, *options):
    out = values / f"{name}.parquet"
    found("privatize", values / f"{name}.csv", *MEAN, *options, "--out", out)
    return out


def test_two_files_and_more(values):
    treated, others, again = (reports(values, name) for name in ("treated", "others", "again"))
    two = found("compare", treated, others)["differences"]["wage"]
    assert two["value"] == pytest.approx(30, abs=11)  # 6.5 standard errors
    assert two["p_value"] < 1e-6
    three = found("compare", treated, others, again, "--level", 0.99)["differences"]["wage"]
    assert [row["name"] for row in three["rows"]] == ["treated – others", "treated – again", "others – again"]
    assert three["level"] == 0.99
    assert three["test"]["p_value"] < 1e-6
    shown = run("compare", treated, others, again).stdout
    assert "treated – others" in shown
    assert "Test: the groups have the same mean" in shown


def test_groups_of_one_file(values):
    out = reports(values, "treated", "--by", "state=Ohio,Utah,Iowa")
    estimated = found("estimate", out)["answers"]["wage"]
    assert [row["group"] for row in estimated["rows"]] == ["Ohio", "Utah", "Iowa"]
    assert estimated["rows"][1]["value"] == pytest.approx(80, abs=11)
    assert "Test: the groups have the same mean" in run("estimate", out).stdout
    pairs = found("compare", out)["differences"]["wage"]
    assert [row["name"] for row in pairs["rows"]] == ["Ohio – Utah"]
    assert found("compare", out, "--level", 0.9)["differences"]["wage"]["level"] == 0.9


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_public_column_beside_the_reports(values, ending):
    import pandas as pd
    import pyarrow.parquet as pq

    made = values / f"treated-reports.{ending}"
    found("privatize", values / "treated.csv", *MEAN, "--out", made)
    states = pd.read_csv(values / "treated.csv")["state"].tolist()
    states[:3] = [None] * 3  # these are left out
    if ending == "parquet":
        table = pq.read_table(made)
        pq.write_table(table.append_column("state", [states]), made)
    else:
        pd.read_csv(made).assign(state=states).to_csv(made, index=False)
    rows = found("estimate", made, "--by", "state")["answers"]["wage"]["rows"]
    assert [(row["group"], row["n"]) for row in rows] == [("Ohio", 1498), ("Utah", 1499)]
    assert rows[1]["value"] == pytest.approx(80, abs=11)
    assert "Test: the groups have the same mean" in run("estimate", made, "--by", "state").stdout
    pairs = found("compare", made, "--by", "state")["differences"]["wage"]
    assert [row["name"] for row in pairs["rows"]] == ["Ohio – Utah"]
    assert "lacks the column 'region'" in refused("estimate", made, "--by", "region")
    assert "is a column of reports" in refused("estimate", made, "--by", "wage")
    assert "--by compares the groups of one file" in refused("compare", made, made, "--by", "state")


def test_secret_groups(values):
    out = reports(values, "treated", "--by", "state=Ohio,Utah", "--secret-groups")
    rows = found("estimate", out)["answers"]["wage"]["rows"]
    assert rows[0]["share"] == pytest.approx(0.5, abs=0.15)


def test_what_cannot_be_compared(values):
    one = reports(values, "treated")
    assert "was not asked by group" in refused("compare", one)
    assert "--column must be wage" in refused("compare", one, reports(values, "others"), "--column", "age")
    common = ("privatize", values / "again.csv", *MEAN, "--out", values / "x.parquet")
    assert "--by must look like state=Ohio,Utah" in refused(*common, "--by", "state")
    assert "--secret-groups needs --by" in refused(*common, "--secret-groups")
