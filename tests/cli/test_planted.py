"""Whatever goes wrong with a file of people's values, no output of the command line repeats a value of it.

Errors name the row, the column and the rule. The values are planted; the test reads stdout, stderr, logs and
tracebacks.
"""

import json
import logging
import subprocess
import sys
import traceback

import pytest
from tests.cli.running import run

TEXT, NUMBER = "Zebrafinch-HIV", "41873.0625"
PLANTED = (TEXT, "Zebrafinch", NUMBER, "41873")

NUMERIC = ("--column", "wage", "--ask", "mean", "--low", "0", "--high", "500000")
CATEGORICAL = ("--column", "drink", "--ask", "frequency", "--labels", "tea,coffee")

FILES = {
    "a text where a number is due": (f"wage,drink\n1,tea\n{TEXT},tea\n", NUMERIC),
    "an unknown label": (f"wage,drink\n1,tea\n2,{TEXT}\n", CATEGORICAL),
    "a number where a label is due": (f"wage,drink\n1,tea\n2,{NUMBER}\n", CATEGORICAL),
    "only numbers where labels are due": (f"wage,drink\n1,{NUMBER}\n2,{NUMBER}\n", CATEGORICAL),
    "a row that is too long": (f"wage,drink\n1,tea\n{NUMBER},tea,{TEXT}\n", NUMERIC),
    "a row that is too short": (f"wage,drink\n1,tea\n{NUMBER}\n", NUMERIC),
    "a quote that never ends": (f'wage,drink\n1,tea\n{NUMBER},"{TEXT}\n', NUMERIC),
    "bytes that are no text": (f"wage,drink\n1,tea\n{NUMBER},{TEXT}\xff\n", CATEGORICAL),
    "no header line": (f"{NUMBER},{TEXT}\n2,tea\n", NUMERIC),
    "a missing value": (f"wage,drink\n{NUMBER},tea\n,{TEXT}\n", (*NUMERIC, "--missing", "error")),
    "a decimal comma": ('wage,drink\n1,tea\n"41873,0625",tea\n', NUMERIC),
    "an infinite value": (f"wage,drink\n{NUMBER},tea\ninf,tea\n", NUMERIC),
    "an impossible domain": (f"wage,drink\n{NUMBER},tea\n", (*NUMERIC[:-1], "-1")),
}


def said(result) -> str:
    """Everything that a person, a terminal or a log sees of a run."""
    found = result.stdout + result.stderr
    if result.exc_info is not None and not isinstance(result.exception, SystemExit):
        found += "".join(traceback.format_exception(*result.exc_info))
    return found


def assert_silent(text: str) -> None:
    for value in PLANTED:
        assert value not in text, text


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("verbose", [(), ("--json",)], ids=["", "json"])
def test_privatize_never_repeats_a_value(tmp_path, caplog, name, verbose):
    text, options = FILES[name]
    (tmp_path / "people.csv").write_bytes(text.encode("latin-1"))
    with caplog.at_level(logging.DEBUG):
        result = run(
            "privatize", tmp_path / "people.csv", "--out", tmp_path / "r.csv", "--epsilon", "1", *options, *verbose
        )
    assert_silent(said(result) + caplog.text)
    assert result.exit_code in (0, 2)
    assert result.exit_code == 0 or result.stderr.startswith("discreet: ")


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("name", ["an unknown label", "a row that is too long"])
def test_nor_does_a_process_of_its_own(tmp_path, name):
    text, options = FILES[name]
    (tmp_path / "people.csv").write_bytes(text.encode("latin-1"))
    command = [sys.executable, "-X", "dev", "-m", "discreet.cli", "privatize", str(tmp_path / "people.csv")]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "r.csv"), "--epsilon", "1", *options],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert_silent(done.stdout + done.stderr)


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("verb", [("estimate",), ("certify",), ("campaign", "start", "--title", "T")], ids=" ".join)
@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_a_file_of_values_given_to_another_verb_is_not_repeated(tmp_path, verb, suffix):
    path = tmp_path / f"people{suffix}"
    path.write_text(json.dumps({"wage": NUMBER, TEXT: 1}) if suffix == ".json" else f"wage,drink\n{NUMBER},{TEXT}\n")
    result = run(*verb, path)
    assert result.exit_code == 2
    assert_silent(said(result))


def test_the_test_would_notice(tmp_path):
    """A negative control: what is planted is found where it is printed on purpose."""
    with pytest.raises(AssertionError):
        assert_silent(said(run("certify", tmp_path / f"{TEXT}.json")))
