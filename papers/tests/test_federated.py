"""The federated case study in one process: training, refusals, and the committed table beside the reference."""

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.federated import Updates
from discreet_papers.job import Job
from discreet_papers.n_output.federated import simulator as federated
from discreet_papers.n_output.federated import study as n_output_federated

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Drawn data: the folder is empty."""
    return federated.problem("gamma", tmp_path_factory.mktemp("empty"))


def test_data_that_stand_in_say_so(case):
    assert not case.paper
    assert case.features.shape == (15_216, 10)
    assert case.test_features.shape == (3_804, 10)
    assert case.dimension == 22
    assert np.abs(case.features.mean(axis=0)).max() < 1e-9


def test_the_split_is_scikit_learns():
    labels = np.arange(10)
    found = federated.split("ten", np.arange(10.0)[:, None], labels, paper=False)
    assert found.test_labels.tolist() == [8, 1]  # train_test_split(range(10), test_size=0.2, random_state=42)
    assert found.labels.tolist() == [5, 0, 7, 2, 9, 4, 3, 6]


def test_training_of_many_is_training_of_each(case):
    rng = np.random.default_rng(1)
    model = federated.first_model(case, rng)
    mine = federated.shards(case, rng)[:4]
    together = federated.local_updates(model, case.features[mine], case.labels[mine], 2, decay=0.01)
    for i, one in enumerate(mine):
        after = model.copy()
        x = np.column_stack([case.features[one], np.ones(len(one))])
        for _ in range(federated.STEPS):
            table = np.column_stack([after[:20].reshape(2, 10), after[20:]])
            odds = np.exp(x @ table.T)
            slope = (odds / odds.sum(axis=1, keepdims=True) - np.eye(2)[case.labels[one]]).T @ x / len(one)
            table = table - federated.RATE * (slope + 0.01 * table)
            after = np.concatenate([table[:, :10].ravel(), table[:, 10]])
        assert np.allclose(together[i], after - model, atol=1e-12)


def test_learning_learns_and_privacy_costs(case):
    plain = federated.run(case, None, 0, dc.Entropy.seeded(1))
    kind = federated.run(case, Updates(22, 5.0, 0.3), 0, dc.Entropy.seeded(1))
    noisy = federated.run(case, Updates(22, 0.1, 0.3, method="duchi"), 0, dc.Entropy.seeded(1))
    assert plain.accuracy[-1] > plain.accuracy[0]
    assert plain.accuracy[-1] - 3 < kind.accuracy[-1]
    assert noisy.accuracy[-1] < kind.accuracy[-1] - 5
    assert kind.spent.sum() == 5 * federated.ROUNDS * federated.DRAWN
    assert plain.spent.sum() == 0


def test_two_settings_share_their_clients(case):
    spent = [
        federated.run(case, Updates(22, 5.0, 0.3, method=m), 3, dc.Entropy.seeded(1)).spent for m in ("duchi", "auto")
    ]
    assert np.array_equal(*spent)


def test_nobody_spends_more_than_the_limit(case):
    course = federated.run(case, Updates(22, 5.0, 0.3, method="duchi"), 0, dc.Entropy.seeded(1), limit=10)
    free = federated.run(case, Updates(22, 5.0, 0.3, method="duchi"), 0, dc.Entropy.seeded(1))
    assert course.spent.max() == 10
    assert np.array_equal(course.spent, np.minimum(free.spent, 10))


def test_rounds_in_which_all_refuse_leave_the_model(case):
    course = federated.run(case, Updates(22, 5.0, 0.3, method="duchi"), 0, dc.Entropy.seeded(1), limit=5)
    assert course.spent.max() == 5
    assert len(course.accuracy) == federated.ROUNDS


def test_every_setting_can_be_built(case):
    for name, setting in n_output_federated.settings(quick=False).items():
        design = setting.design(case)
        assert (design is None) == (name == "non-private")


def test_a_quick_figure_without_the_papers_data(tmp_path, monkeypatch):
    asked = n_output_federated.settings(quick=True)
    assert set(n_output_federated.CASE_STUDY) <= set(asked) < set(n_output_federated.settings(quick=False))
    monkeypatch.setattr(n_output_federated, "QUICK_RUNS", 2)
    monkeypatch.setattr(
        n_output_federated, "settings", lambda quick: {"non-private": asked["non-private"], "duchi": asked["duchi"]}
    )
    figure = n_output_federated.run_figure(Job(quick=True, data=tmp_path))
    assert figure["paper_data"] == {"gamma": False, "shuttle": False}
    assert list(figure["mechanisms"]) == ["duchi"]
    gap, error = n_output_federated.difference(figure["cells"]["gamma"], "non-private", "duchi")
    cells = figure["cells"]["gamma"]
    assert gap == pytest.approx(cells["non-private"]["accuracy"] - cells["duchi"]["accuracy"], abs=1e-2)
    assert error > 0
