"""Figures 3 and 4 of the N-output paper: the exact error of a mean, tiny cells, and verdicts that can fail."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet_papers.job import Job
from discreet_papers.n_output import distributions, means
from discreet_papers.n_output.claims import claims
from discreet_papers.verdicts import HOLDS, OTHER, WRONG

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def few() -> means.Attribute:
    x = np.repeat(np.random.default_rng(2).uniform(-1, 0.5, 300), 2)
    return means.Attribute("few", "Beta", x, 600, 3)


def test_the_error_of_an_attribute_is_what_a_simulation_gives(few):
    source, rng, entropy = dc.mechanism("duchi", epsilon=2), np.random.default_rng(0), dc.Entropy.seeded(1)
    errors = []
    for _ in range(4_000):
        asked = rng.choice(few.x, 400, replace=False)  # k = 2 of 3 attributes
        errors.append(source.values[source.privatize(asked, entropy)].mean() - few.x.mean())
    exact = means.error(few, float(source.variance(few.x).mean()), k=2)
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(exact, rel=0.05)


def test_a_cell_of_means(few):
    cell = means.means_cell(few, 5.0, 1)
    assert cell["k"] == 2
    assert all(
        cell["rmse"][name] == cell["rmse_at_k_1"][name] for name in ("Duchi", "N-output", "HM-NP", "AAA", "NP-AAA")
    )
    assert cell["rmse"]["PM-sub"] != cell["rmse_at_k_1"]["PM-sub"]


def test_the_papers_settings_without_its_data(tmp_path):
    beta, times, volts = means.attributes(Job(data=tmp_path))
    assert (beta.reporters, times.reporters, volts.reporters) == (100_000, 161_409, 116_056)
    assert beta.x.mean() == pytest.approx(0.2, abs=1e-4)
    assert beta.x.var() == pytest.approx(0.16, abs=1e-4)
    assert (times.name, volts.name) == ("departure minute", "age")


def test_errors_of_distributions_are_on_the_scale_of_minus_one_to_one():
    truth, shifted = np.zeros(distributions.BINS), np.zeros(distributions.BINS)
    truth[0], shifted[512] = 1, 1
    found = distributions.errors(truth, shifted)
    assert found["w1"] == pytest.approx(1.0, abs=1e-9)
    assert found["quantiles"] == pytest.approx(1.0, abs=1e-9)
    assert found["variance"] == pytest.approx(0.0, abs=1e-9)


def test_a_cell_of_distributions():
    people = means.Attribute("people", "Beta", np.random.default_rng(0).beta(3, 2, 20_000) * 2 - 1, 60_000, 3)
    cell = distributions.distributions_cell(people, 2.0, 2)
    assert set(cell["methods"]) == set(distributions.LABELS)
    w1 = {label: found["w1"][0] for label, found in cell["methods"].items()}
    assert w1["SW + EMS"] < w1["HM-NP + 2PEM"] < w1[distributions.RELEASED]  # a broken Square Wave loses to 2PEM
    assert w1[distributions.RELEASED] == pytest.approx(0.077, abs=0.02)  # as in an independent run


def test_verdicts_of_the_figures_can_fail():
    result = json.loads((ROOT / "docs/results/n_output.json").read_text("utf-8"))
    told = {(claim["where"], claim["claim"][:20]): claim["verdict"] for claim in claims(result)}
    other = copy.deepcopy(result)
    for cell in other["means"]:
        cell["rmse"]["NP-AAA"] *= 2
        cell["rmse"]["AAA"] *= 1 if cell["paper"] == "Beta" else 3
        cell["rmse_at_k_1"] = cell["rmse"]
    for cell in other["distributions"]:
        for metric in distributions.METRICS:
            cell["methods"]["HM-NP + 2PEM"][metric][0] = 0.0
    changed = {(claim["where"], claim["claim"][:20]): claim["verdict"] for claim in claims(other)}
    assert told["5.1, Fig. 3", "NP-AAA has the least"] == HOLDS != changed["5.1, Fig. 3", "NP-AAA has the least"]
    assert told["5.1, Fig. 3", "AAA does well on Bet"] == OTHER != changed["5.1, Fig. 3", "AAA does well on Bet"]
    assert told["5.2, Fig. 4", "HM-NP with 2PEM is b"] == WRONG
    assert changed["5.2, Fig. 4", "HM-NP with 2PEM is b"] == HOLDS
    assert changed["4.2", "EM applied to all re"] == HOLDS
    assert changed["5.1, equation 3", "compared with k = ⌊ε"] == HOLDS
