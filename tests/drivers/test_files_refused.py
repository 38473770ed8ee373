"""What can go wrong with files and frames: missing and false values, nothing half-written, no value in an error."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.drivers.people import (
    DRINK,
    PEOPLE,
    PRESENT,
    QUESTION,
    write,
)

import discreet as dc
from discreet.drivers.files import estimate_file, formats, privatize_file
from discreet.drivers.frames import estimate_frame, privatize_frame
from discreet.drivers.tables import Reports
from discreet.errors import DiscreetError, DomainError, WireError


def asked(column="wage", plan=None, missing="drop", data=PEOPLE):
    return privatize_frame(data, {column: plan or QUESTION["wage"]}, missing=missing)


def test_missing_values_can_be_an_error():
    with pytest.raises(DomainError, match="column 'wage', row 0: the value is missing"):
        asked(missing="error")
    with pytest.raises(DiscreetError, match="missing must be drop or error"):
        asked(missing="keep")


def test_nan_and_null_are_both_missing():
    data = pa.table({"wage": pa.array([1.0, None, float("nan"), 2.0] * 10)})
    assert privatize_frame(data, QUESTION).num_rows == 20


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"column": "wages"}, "no column 'wages'; the columns are wage, drink"),
        ({"column": "other"}, "must hold numbers for mean, not text; convert it first"),
        (
            {"column": "drink", "plan": dc.Frequency(dc.Categories(["tea", "milk"]), 1)},
            r"row \d+: .*is not one of the 2",
        ),
        ({"column": "room", "plan": dc.Frequency(dc.Categories(["0", "1"]), 1)}, r"\(of type int64\) is not one of"),
        ({"data": pa.table({"wage": [1.0, float("inf")]})}, "row 1: not a finite number"),
        ({"data": [1, 2]}, "not a list"),
    ],
)
def test_says_what_is_wrong_with_a_column(arguments, word):
    with pytest.raises(DiscreetError, match=word):
        asked(**arguments)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.float32(), pa.decimal128(30, 2), pa.bool_(), pa.uint16(), pa.null()]
)
def test_numbers_of_every_type(kind):
    values = [None] * 8 if kind == pa.null() else [1, 0, None, 1] * 2
    reports = privatize_frame(pa.table({"wage": pa.array(values).cast(kind)}), QUESTION)
    assert reports.num_rows == (0 if kind == pa.null() else 6)


@pytest.mark.parametrize("labels", [[False, True], [0, 1], [0.0, 1.0]])
def test_labels_of_every_type(tmp_path, labels):
    data = pa.table({"x": pa.array(labels * 50)})
    plan = dc.Frequency(dc.Categories(labels), epsilon=8)
    assert estimate_frame(privatize_frame(data, {"x": plan}))["x"].n == 100
    dictionary = pa.table({"x": data.column("x").dictionary_encode()})
    assert estimate_frame(privatize_frame(dictionary, {"x": plan}))["x"].n == 100
    pa.csv.write_csv(data, tmp_path / "p.csv")
    privatize_file(tmp_path / "p.csv", tmp_path / "r.csv", {"x": plan})
    assert estimate_file(tmp_path / "r.csv")["x"].n == 100


def test_out_is_never_the_source_and_never_replaced_by_accident(tmp_path):
    source = write(tmp_path / "p.parquet")
    with pytest.raises(DiscreetError, match="another file than the values"):
        privatize_file(source, source, QUESTION, overwrite=True)
    privatize_file(source, tmp_path / "r.parquet", QUESTION)
    before = (tmp_path / "r.parquet").read_bytes()
    with pytest.raises(DiscreetError, match="exists; new reports"):
        privatize_file(source, tmp_path / "r.parquet", QUESTION)
    assert (tmp_path / "r.parquet").read_bytes() == before
    privatize_file(source, tmp_path / "r.parquet", QUESTION, overwrite=True)
    assert (tmp_path / "r.parquet").read_bytes() != before


@pytest.mark.parametrize("made", ["csv", "parquet", "arrow"])
def test_an_error_half_way_leaves_nothing(tmp_path, made, monkeypatch):
    monkeypatch.setattr(formats, "ROWS", 1000)
    values = np.full(5000, 10.0)
    values[4500] = np.inf
    write(tmp_path / "p.parquet", pa.table({"wage": values}))
    out = tmp_path / f"r.{made}"
    with pytest.raises(DomainError, match="row 4500"):
        privatize_file(tmp_path / "p.parquet", out, QUESTION)
    assert os.listdir(tmp_path) == ["p.parquet"]

    def stop(done, total):
        assert total == 5000
        if done >= 2000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        privatize_file(tmp_path / "p.parquet", out, QUESTION, progress=stop)
    assert os.listdir(tmp_path) == ["p.parquet"]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("part", [0.3, 0.9, 0.999])
def test_truncated_files_are_refused(tmp_path, kind, part):
    source, out = write(tmp_path / f"p.{kind}"), tmp_path / f"r.{kind}"
    privatize_file(source, out, QUESTION)
    for path, use in ((out, estimate_file), (source, lambda p: privatize_file(p, tmp_path / "x.csv", QUESTION))):
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * part)])
        with pytest.raises(DiscreetError, match="cut short"):
            use(path)
    assert not (tmp_path / "x.csv").exists()


def test_truncated_and_orphaned_csv_are_refused(tmp_path):
    source, out = write(tmp_path / "p.csv"), tmp_path / "r.csv"
    privatize_file(source, out, QUESTION)
    text = out.read_text()
    out.write_text("\n".join(text.splitlines()[:100]) + "\n")
    with pytest.raises(WireError, match=f"has 99 rows; its document says {PRESENT}"):
        estimate_file(out)
    out.write_text(text)
    assert estimate_file(out)["wage"].n == PRESENT
    (tmp_path / "r.csv.json").unlink()
    with pytest.raises(WireError, match="no document beside it"):
        estimate_file(out)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda t: t.set_column(0, "wage", pa.array([9] * t.num_rows)), "must be between 0 and 1"),
        (lambda t: t.set_column(0, "wage", pa.array([0.5] * t.num_rows)), "whole numbers"),
        (lambda t: t.rename_columns(["pay"]).replace_schema_metadata(t.schema.metadata), "lacks? the column 'wage'"),
        (lambda t: t.replace_schema_metadata(None), "no document"),
        (lambda t: t.replace_schema_metadata({b"discreet": b"{"}), "cannot be read"),
        (lambda t: t.replace_schema_metadata({b"discreet": b'{"discreet-reports": 3}'}), "version 3"),
    ],
)
def test_false_reports_are_refused(tmp_path, change, word):
    reports = change(privatize_frame(PEOPLE, QUESTION))
    with pytest.raises(WireError, match=word):
        estimate_frame(reports)
    pq.write_table(reports, tmp_path / "r.parquet")
    with pytest.raises(WireError, match=word):
        estimate_file(tmp_path / "r.parquet")


def test_a_document_whose_mechanism_exceeds_the_plan_is_refused():
    document = json.loads(privatize_frame(PEOPLE, QUESTION).schema.metadata[b"discreet"])
    other = dc.mechanism("duchi", 5)
    document["rounds"][0]["round"]["channels"][0] |= {"mechanism": other.to_document(), "mechanism_id": other.id}
    with pytest.raises(WireError, match="its plan allows"):
        Reports.from_json(json.dumps(document))


def test_the_mechanism_of_the_document_decodes_the_reports():
    # As if another version had chosen other weights for the same plan: those of the document are right.
    document = json.loads(privatize_frame(PEOPLE, QUESTION).schema.metadata[b"discreet"])
    other = dc.mechanism("duchi", 3.9)
    document["rounds"][0]["round"]["channels"][0] |= {"mechanism": other.to_document(), "mechanism_id": other.id}
    reports = Reports.from_json(json.dumps(document))
    assert reports.histories({})["wage"][0].round.channels[0].mechanism == other
    answers = reports.estimate({"wage": other.tally([0, 1] * 50)})
    assert answers["wage"].value == pytest.approx(50)


def test_other_endings_and_absent_files(tmp_path):
    for call in (lambda: estimate_file(tmp_path / "x.parquet"), lambda: estimate_file()):
        with pytest.raises(DiscreetError, match=r"does not exist|at least one file"):
            call()
    write(tmp_path / "p.parquet")
    with pytest.raises(DiscreetError, match="must end in"):
        privatize_file(tmp_path / "p.parquet", tmp_path / "r.xlsx", QUESTION)
    (tmp_path / "bad.csv").write_text("wage\n1\n2,3\n")
    with pytest.raises(DiscreetError, match=r"bad\.csv, line 3: 2 values where the header has 1 columns"):
        privatize_file(tmp_path / "bad.csv", tmp_path / "r.csv", QUESTION)
    (tmp_path / "text.csv").write_text("wage\n1\nmuch\n")
    with pytest.raises(DiscreetError, match="column 'wage', line 3: not a number"):
        privatize_file(tmp_path / "text.csv", tmp_path / "r.csv", QUESTION)


def test_errors_never_quote_a_value(tmp_path):
    (tmp_path / "p.csv").write_text('name,wage\nann,"58,216"\nbob,7\n')
    with pytest.raises(DomainError, match=r"column 'wage', line 2: not a number .*thousands") as caught:
        privatize_file(tmp_path / "p.csv", tmp_path / "r.csv", QUESTION)
    assert "58" not in str(caught.value)
    (tmp_path / "p.csv").write_text("name,wage\nann,5\nbob,secret\n")
    with pytest.raises(DomainError, match=r"column 'wage', line 3: not a number \(it is text\)$"):
        privatize_file(tmp_path / "p.csv", tmp_path / "r.csv", QUESTION)
    with pytest.raises(DomainError, match="row 1: the value") as caught:
        asked("drink", dc.Frequency(DRINK, 1), data=pa.table({"drink": ["tea", "secret"]}))
    assert "secret" not in str(caught.value)
