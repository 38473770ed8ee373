"""CSV files as people have them. The folder `csv` holds the files, `csv/expected.json` what is read or said of each."""

import json
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.cli.running import refused, run

import discreet as dc
from discreet.domains import Categories
from discreet.drivers.files.numbers import Style, find_style, why_not
from discreet.drivers.files.opening import open_values
from discreet.drivers.files.reading import Reading
from discreet.drivers.tables import Collection
from discreet.drivers.tables.values import read_question
from discreet.errors import DiscreetError

FILES = Path(__file__).parent / "csv"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def read(path, ask):
    """Return the values of a file as the question reads them; None where one is missing."""
    options = dict(zip(ask[::2], ask[1::2], strict=True))
    if "--labels" in options:
        labels = options["--labels"].split(",")
        domain = dc.Categories([int(label) if label.isdigit() else label for label in labels])
        plan = dc.Frequency(domain, epsilon=1)
    else:
        plan = dc.Mean(dc.Interval(float(options["--low"]), float(options["--high"])), epsilon=1)
    column = options["--column"]
    reading = Reading(thousands=options.get("--thousands"), decimal=options.get("--decimal"))
    source = open_values(path, Collection({column: plan}), reading)
    found = []
    for batch in source.batches():
        values = read_question(batch, column, plan)
        data = values.data if values.codes is None else values.data[values.codes]
        found += [None if gone else value for value, gone in zip(data.tolist(), values.missing, strict=True)]
    return found


@pytest.mark.parametrize("name", EXPECTED["good"])
def test_reads_what_a_person_would_read(name):
    assert read(FILES / name, EXPECTED["good"][name]["ask"]) == EXPECTED["good"][name]["values"]


@pytest.mark.parametrize("name", EXPECTED["good"])
def test_says_what_it_found_out(name, tmp_path):
    case = EXPECTED["good"][name]
    asked = ("privatize", FILES / name, *case["ask"], "--method", "auto", "--epsilon", 1, "--out", tmp_path / "r.csv")
    result = run(*asked, "--json")
    assert result.exit_code == 0, result.output
    notes = json.loads(result.stdout)["notes"]
    assert notes == [note.replace("FILE", str(FILES / name)) for note in case["notes"]]
    shown = run(*asked, "--force").stderr.splitlines()
    assert len(shown) == len(notes)
    assert all(line.startswith("Note: ") and line.endswith(".") for line in shown)
    assert not any("thousands='.'" in line for line in shown)  # a terminal is told the option instead


@pytest.mark.parametrize("name", EXPECTED["bad"])
def test_says_in_one_sentence_what_is_wrong(name, tmp_path):
    case = EXPECTED["bad"][name]
    said = refused("privatize", FILES / name, *case["ask"], "--epsilon", 1, "--out", tmp_path / "r.csv")
    assert said == case["says"].replace("FILE", str(FILES / name)) + "\n"
    assert list(tmp_path.iterdir()) == []


def test_every_file_of_the_folder_is_expected():
    assert {path.name for path in FILES.iterdir()} == {*EXPECTED["good"], *EXPECTED["bad"], "expected.json"}


# -- the same policy for arrays, frames and files -------------------------------------------------------------


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], ["1", "2"], ["1.0", " 2"], pd.array([1, 2], dtype="Int64")])
def test_labels_are_the_same_in_arrays_frames_and_files(values, tmp_path):
    plan = dc.Frequency(dc.Categories([1, 2]), epsilon=8)
    frame = pd.DataFrame({"floor": values})
    frame.to_csv(tmp_path / "p.csv", index=False)
    frame.to_parquet(tmp_path / "p.parquet")
    assert dc.simulate(plan, frame["floor"], seed=1).n == 2
    assert len(dc.privatize_frame(frame, {"floor": plan})) == 2
    for name in ("p.csv", "p.parquet"):
        assert (
            dc.privatize_file(tmp_path / name, tmp_path / "r.csv", {"floor": plan}, overwrite=True).counted.written == 2
        )


@pytest.mark.parametrize("values", [["tea", None], pd.array(["tea", None], dtype="string")])
def test_missing_labels_give_a_sentence(values):
    plan = dc.Frequency(dc.Categories(["tea", "coffee"]), epsilon=1)
    with pytest.raises(dc.DomainError, match="value 1 is missing"):
        dc.simulate(plan, values)
    assert len(dc.privatize_frame(pd.DataFrame({"drink": values}), {"drink": plan})) == 1
    with pytest.raises(dc.DomainError, match="column 'drink', row 1: the value is missing"):
        dc.privatize_frame(pd.DataFrame({"drink": values}), {"drink": plan}, missing="error")


@pytest.mark.parametrize("make", [list, pd.Series, np.array])
def test_a_missing_label_in_a_list_is_not_the_text_nan(make):
    plan = dc.Frequency(dc.Categories(["tea", "coffee"]), epsilon=1)
    values = make(["tea", float("nan")]) if make is not np.array else np.array(["tea", np.nan], dtype=object)
    with pytest.raises(dc.DomainError, match="value 1 is missing"):
        dc.simulate(plan, values)


MEAN = dc.Mean(dc.Interval(0, 100_000), epsilon=1)
NOT_NUMBERS = {
    "thousands": (["58,216", "12"], "text"),
    "text": (["much", "little"], "text"),
    "date as text": (["2024-03-01", "2024-03-02"], "text"),
    "date": ([date(2024, 3, 1), date(2024, 3, 2)], "date"),
    "timestamp": (np.array(["2024-03-01", "2024-03-02"], dtype="datetime64[ms]"), "date"),
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_what_is_no_number_is_named_without_its_value(name):
    values, kind = NOT_NUMBERS[name]
    frame = pd.DataFrame({"wage": values})
    for given in (values, frame["wage"]):
        with pytest.raises(dc.DomainError, match=rf"must be (a )?numbers?, not (a )?{kind}; convert") as raised:
            dc.simulate(MEAN, given)
        assert "58" not in str(raised.value)
    for table in (frame, pl.DataFrame({"wage": values}), pa.table({"wage": values})):
        with pytest.raises(dc.DomainError, match=rf"column 'wage' must hold numbers for mean, not {kind}s?; convert"):
            dc.privatize_frame(table, {"wage": MEAN})


def test_truth_values_are_the_numbers_0_and_1_and_the_labels_they_spell():
    frame = pd.DataFrame({"smokes": [True, False]})
    for plan in (MEAN, dc.Frequency([True, False], 1), dc.Frequency(["true", "false"], 1), dc.Frequency([1, 0], 1)):
        assert dc.simulate(plan, [True, False], seed=1).n == 2
        assert len(dc.privatize_frame(frame, {"smokes": plan})) == 2


def test_nobody_is_a_sentence_or_an_empty_table():
    with pytest.raises(DiscreetError, match="at least one person"):
        dc.simulate(MEAN, [])
    assert len(dc.privatize_frame(pd.DataFrame({"wage": []}), {"wage": MEAN})) == 0


def test_the_first_row_with_an_unknown_label_is_named():
    plan = dc.Frequency(dc.Categories(["tea", "coffee"]), epsilon=1)
    with pytest.raises(dc.DomainError, match="value 1 must be one of the 2 categories"):
        dc.simulate(plan, ["tea", "water", "milk"])


def test_two_columns_of_one_name_in_a_frame():
    frame = pd.DataFrame([[1, 2]], columns=["wage", "wage"])
    with pytest.raises(DiscreetError, match="2 columns named 'wage'; rename all but one"):
        dc.privatize_frame(frame, {"wage": dc.Mean(dc.Interval(0, 9), epsilon=1)})


def test_a_file_of_several_says_which(tmp_path):
    (tmp_path / "a.csv").write_text("wage\n1\n2\n")
    (tmp_path / "b.csv").write_text("wage\n3\ninf\n")
    with pytest.raises(dc.DomainError, match=r"b\.csv, column 'wage', line 3: not a finite number"):
        dc.privatize_file(tmp_path, tmp_path / "r.parquet", {"wage": dc.Mean(dc.Interval(0, 9), epsilon=1)})


def test_out_says_what_it_needs(tmp_path):
    plan = {"revenue": dc.Mean(dc.Interval(0, 9), epsilon=1)}
    with pytest.raises(DiscreetError, match=r"folder that exists; make .*no first"):
        dc.privatize_file(FILES / "plain.csv", tmp_path / "no" / "r.csv", plan)
    for name in ("r.xlsx", "r.tsv", "r.csv.gz", "r"):
        with pytest.raises(DiscreetError, match=r"out must end in \.parquet, \.arrow or \.csv, not"):
            dc.privatize_file(FILES / "plain.csv", tmp_path / name, plan)


# -- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "style"),
    [
        (["1", "2.5", "-3e4", ".5", "7."], Style()),
        (["1,5"], Style(",")),
        (["1'000"], Style(".", "'")),
        (["1 000,5"], Style(",", " ")),
        (["1.000.000", "5"], Style(",", ".")),
        (["58,216"], None),
        (["1,23,456"], None),
        (["1.5", "1,5"], None),
        (["x"], None),
        ([], Style()),
    ],
)
def test_styles(texts, style):
    found = find_style(texts)
    assert found == style or (found, style) == (Style(".", "."), style)
    if style is not None:
        assert all(style.read(text) is not None for text in texts)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("12:30", "date"),
        ("3/4/2024", "date"),
        ("€ 12", "currency"),
        ("12 kg", "currency"),
        ("%5", "percent"),
        ("", "text"),
    ],
)
def test_reasons(text, reason):
    assert reason in why_not(text, Style())
    assert text not in why_not(text, Style()) or not text


# -- spreadsheets -------------------------------------------------------------------------------------------


def sheet(path, rows, name="People", more=""):
    """Write a small .xlsx file with inline texts."""

    def cell(value):
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, (int, float)):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    names = [name, *([more] if more else [])]
    sheets = "".join(f'<sheet name="{one}" sheetId="{i}" r:id="r{i}"/>' for i, one in enumerate(names, 1))
    links = "".join(
        f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="worksheets/s.xml"/>'
        for i in range(1, len(names) + 1)
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{sheets}</sheets></workbook>'
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships">{links}</Relationships>'
        )
        file.writestr("xl/worksheets/s.xml", f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>')
    return path


WAGE = ("--column", "wage", "--ask", "mean", "--low", 0, "--high", 100)
ROWS = [["name", "wage", "floor"], ["ann", 5, 1], ["bob", 7.5, "2"], ["cy", None, 1], ["di", "3,5", None]]


@pytest.mark.needs("python_calamine")
def test_spreadsheets(tmp_path):
    path = sheet(tmp_path / "people.xlsx", ROWS)
    assert read(path, WAGE) == [5, 7.5, None, 3.5]
    assert read(path, ("--column", "floor", "--labels", "1,2")) == [1, 2, 1, None]
    plan = {"wage": dc.Mean(dc.Interval(0, 100), epsilon=1), "floor": dc.Frequency(dc.Categories([1, 2]), epsilon=1)}
    counted = dc.privatize_file(path, tmp_path / "r.csv", plan, epsilon=2).counted
    assert (counted.rows, counted.missing) == (4, {"wage": 1, "floor": 1})


@pytest.mark.needs("python_calamine")
def test_spreadsheets_that_cannot_be_read(tmp_path):
    out = ("--epsilon", 1, "--out", tmp_path / "r.csv")
    path = sheet(tmp_path / "people.xlsx", [*ROWS[:2], ["bob", "much", 1]])
    assert "column 'wage', row 3: not a number (it is text)" in refused("privatize", path, *WAGE, *out)
    assert "sheet must be one of 'People', not 'x'" in refused("privatize", path, *WAGE, *out, "--sheet", "x")
    sheet(path, [["wage", "wage"], [1, 2]])
    assert "2 columns named 'wage'" in refused("privatize", path, *WAGE, *out)
    sheet(path, [["pay"], [1]])
    assert "no column 'wage'; the columns are pay" in refused("privatize", path, *WAGE, *out)
    sheet(path, [])
    assert "is empty" in refused("privatize", path, *WAGE, *out)
    path.write_bytes(b"PK\x03\x04 no workbook")
    assert "cannot be read as a spreadsheet" in refused("privatize", path, *WAGE, *out)
    sheet(path, [["wage"], [1]], more="Other")
    notes = json.loads(run("privatize", path, *WAGE, *out, "--json").stdout)["notes"]
    assert notes == ["people.xlsx has 2 sheets; 'People' was read (sheet= names another)"]
    assert "is a spreadsheet" in refused("estimate", path)


def test_columns_are_text_or_numbers_as_the_question_says():
    assert Categories(["01", "1"]).find("1") == 1
