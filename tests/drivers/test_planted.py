"""Errors about frames and files name column, row and rule; nothing that people hold is in them, or in their causes."""

import traceback

import pytest

import discreet as dc
from discreet.drivers.files import privatize_file
from discreet.drivers.frames import privatize_frame
from discreet.errors import DiscreetError

pd = pytest.importorskip("pandas")

SECRETS = ("HIV", "41873", "Alice")
WAGE = {"wage": dc.Mean(dc.Interval(0, 100), 1, method="duchi")}
ILL = {"ill": dc.Frequency(dc.Categories(["no", "flu"]), 1, method="randomized-response")}
FRAMES = {
    "a text where a number is due": (WAGE, {"wage": ["HIV", "41873"]}),
    "texts and numbers": (WAGE, {"wage": ["HIV", 41873.5]}),
    "missing": (WAGE, {"wage": [41873.5, None]}),
    "infinite": (WAGE, {"wage": [41873.5, float("inf")]}),
    "rows in a cell": (WAGE, {"wage": [[41873], ["HIV"]]}),
    "an unknown label": (ILL, {"ill": ["no", "HIV"]}),
    "labels of two types": (ILL, {"ill": ["no", 41873]}),
    "numbers for labels": (ILL, {"ill": [41873, 41873]}),
    "an object": (ILL, {"ill": ["no", {"HIV": "Alice"}]}),
    "another column": (ILL, {"wage": ["HIV"]}),
}


def told(call):
    """Return everything that Python prints of the error that a call raises."""
    with pytest.raises(DiscreetError) as caught:
        call()
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", FRAMES)
def test_errors_about_frames_quote_no_value(name):
    questions, columns = FRAMES[name]
    text = told(lambda: privatize_frame(pd.DataFrame(columns), questions, missing="error"))
    assert not [secret for secret in SECRETS if secret in text]


MIXED = ("texts and numbers", "rows in a cell", "labels of two types", "an object")
"""Columns that pandas does not write to Parquet."""
FILES = [(name, suffix) for suffix in (".csv", ".parquet") for name in FRAMES if suffix == ".csv" or name not in MIXED]


@pytest.mark.parametrize(("name", "suffix"), FILES)
def test_errors_about_files_quote_no_value(name, suffix, tmp_path):
    questions, columns = FRAMES[name]
    path, frame = tmp_path / f"people{suffix}", pd.DataFrame(columns)
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    text = told(lambda: privatize_file(path, tmp_path / f"reports{suffix}", questions, missing="error"))
    assert not [secret for secret in SECRETS if secret in text]
