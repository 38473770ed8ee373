"""Random sampling with fake data: its record-level epsilon, enumerated."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.privacy.fake_data import fake_data

REFERENCE = json.loads((Path(__file__).parents[1] / "plans" / "questionnaire_reference.json").read_text())


@pytest.mark.parametrize(("questions", "size"), [(2, 2), (3, 2), (3, 3), (5, 2), (10, 2)])
def test_a_record_has_the_epsilon_of_the_one_answer(questions, size):
    found = fake_data(questions, 1.0, size)
    assert found.epsilon == pytest.approx(math.log(questions * (math.e - 1) + 1), abs=1e-9)
    assert found.epsilon_one_answer == pytest.approx(1.0, abs=1e-9)
    assert not found.holds
    key = f"{questions}/1"
    if key in REFERENCE["fake_data_exact_epsilon"]:
        assert found.epsilon == pytest.approx(REFERENCE["fake_data_exact_epsilon"][key], abs=1e-9)


def test_one_report_stands_for_all():
    e = math.exp(fake_data(3, 1.0, 3).epsilon)
    p, q = e / (e + 2), 1 / (e + 2)
    records = list(product(range(3), repeat=3))
    table = np.array(
        [[sum(p if a == b else q for a, b in zip(x, y, strict=True)) / 27 for y in records] for x in records]
    )
    assert table.sum(axis=1) == pytest.approx(1)
    assert (table.max(axis=0) / table.min(axis=0)).max() == pytest.approx(e, rel=1e-9)


def test_the_reference_variances_of_ten_questions():
    for key, wanted in REFERENCE["fake_data"].items():
        size, epsilon, what = key.split("/")
        size, epsilon = int(size), float(epsilon)
        amplified = math.log(10 * math.expm1(epsilon) + 1)
        if what == "exact_epsilon_of_claimed":
            assert amplified == pytest.approx(wanted, rel=1e-9)
            continue
        e = math.exp(epsilon if what == "honest" else amplified)
        p, q = e / (e + size - 1), 1 / (e + size - 1)
        seen = (q + (p - q) / size) / 10 + 0.9 / size
        assert seen * (1 - seen) * 100 / (p - q) ** 2 == pytest.approx(wanted, rel=1e-9)


def test_certify_shows_it():
    run = CliRunner().invoke(app, ["certify", "--fake-data", "3", "--claim", "1", "--json"])
    assert run.exit_code == 1
    found = json.loads(run.stdout)
    assert found["holds"] is False
    assert found["epsilon"] == pytest.approx(1.81724, abs=1e-5)
    assert "FALSE" in CliRunner().invoke(app, ["certify", "--fake-data", "2"]).stdout
    assert CliRunner().invoke(app, ["certify"]).exit_code != 0
    with pytest.raises(dc.DiscreetError, match="at most 1024 records"):
        fake_data(11, 1.0)
