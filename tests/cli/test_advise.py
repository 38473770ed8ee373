import json

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet import plots
from discreet.cli import app
from discreet.extras import has
from discreet.plans.registry import read_plan

MEAN = ("advise", "mean", "--low", "0", "--high", "100", "--epsilon", "1", "--people", "1000")


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.needs("matplotlib", "pyarrow", "scipy")
def test_a_mean_with_plan_and_plot(tmp_path):
    plan, plot = tmp_path / "plan.json", tmp_path / "plot.png"
    result = run(*MEAN, "--error", "2", "--plan", str(plan), "--plot", str(plot), "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["options"][0]["method"] == "minimax"
    assert found["options"][0]["people_needed"] > 1000
    assert 1 < found["epsilon_needed"] < 3
    assert found["if_shuffled"]["epsilon"] < 1
    assert read_plan(json.loads(plan.read_text())).method == "minimax"
    assert plot.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.needs("scipy")
def test_a_second_round(tmp_path):
    plan = tmp_path / "plan.json"
    asked = ("advise", "mean", "--low", "0", "--high", "100", "--epsilon", "2", "--people", "10000")
    shown = " ".join(run(*asked).stdout.split())
    assert "A second round would save about 1" in shown
    assert "allow it with --rounds 2" in shown
    assert json.loads(run(*asked, "--json").stdout)["second_round"]["people_saved"] > 0.1
    two = run(*asked, "--rounds", "2", "--plan", str(plan), "--json")
    assert "second_round" not in json.loads(two.stdout)
    assert read_plan(json.loads(plan.read_text())).method == "aaa"


@pytest.mark.needs("matplotlib", "pyarrow", "scipy")
@pytest.mark.needs("scipy")
def test_means_by_group_and_the_difference_that_is_seen():
    common = ("advise", "groups", "--low", "0", "--high", "100", "--epsilon", "1", "--people", "10000")
    result = run(*common, "--groups", "2", "--difference", "5", "--error", "1", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["to_compare"] == {"difference": 5.0, "power": 0.8, "people_per_group": 6662}
    assert found["options"][0]["method"] == "minimax"
    assert 1 < found["epsilon_needed"] < 2
    secret = json.loads(run(*common, "--groups", "51", "--secret-groups", "--difference", "5", "--json").stdout)
    assert secret["to_compare"]["people_per_group"] > 100 * 6662
    shown = run(*common, "--groups", "2", "--difference", "5").stdout
    assert "A difference of 5 between two groups is seen with probability 0.8" in " ".join(shown.split())
    mean = run(*MEAN, "--difference", "5")
    assert mean.exit_code == 2
    assert "belong to the question groups" in mean.output


def test_frequencies_as_a_table():
    result = run("advise", "frequency", "--size", "51", "--epsilon", "1", "--people", "1000")
    assert result.exit_code == 0, result.output
    assert "subset-selection" in result.stdout
    if has("scipy"):  # without it there is no bound to state
        assert "shuffler" in result.stdout


@pytest.mark.needs("matplotlib", "pyarrow", "scipy")
def test_other_questions_write_plans_too(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.advice.rehearsal.FEWEST", {"variance": 1, "range-mean": 1})
    monkeypatch.setattr("discreet.advice.rehearsal.SECONDS", 0.0)
    sample = tmp_path / "old.csv"
    sample.write_text("age\n" + "\n".join(str(20 + i % 40) for i in range(200)) + "\n\n")
    number = ("--low", "0", "--high", "100", "--epsilon", "2", "--people", "300")
    for question, flags, method in (
        ("variance", (*number, "--sample", str(sample), "--column", "age"), "distribution"),
        ("range-mean", (*number, "--from", "20", "--to", "50", "--shape", "even"), None),
        ("means", (*number, "--numbers", "3"), "minimax"),
        ("frequency", ("--labels", "tea, coffee", "--epsilon", "2", "--people", "300"), "randomized-response"),
    ):
        plan = tmp_path / f"{question}.json"
        result = run("advise", question, *flags, "--plan", str(plan), "--json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert found["question"] == question
        built = read_plan(json.loads(plan.read_text()))
        assert built.question == question
        assert method is None or built.method == method
        assert question != "variance" or "sample of 200" in found["basis"]


@pytest.mark.needs("matplotlib", "pyarrow", "scipy")
def test_it_asks_for_what_is_missing(monkeypatch):
    monkeypatch.setattr("discreet.cli.advise._is_person", lambda: True)
    result = CliRunner().invoke(app, ["advise"], input="frequency\n8\n1\n1000\n")
    assert result.exit_code == 0, result.output
    assert "subset-selection" in result.stdout


@pytest.mark.needs("matplotlib", "pyarrow", "scipy")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("advise", "mean"), "low is missing"),
        (("advise", "frequency", "--epsilon", "1", "--people", "10"), "size is missing"),
        (("advise", "colour", "--low", "0", "--high", "1", "--epsilon", "1", "--people", "10"), "not 'colour'"),
        (("advise", "mean", "--low", "1", "--high", "0", "--epsilon", "1", "--people", "10"), "low must be below high"),
        ((*MEAN[:-1], "0"), "people must be a whole number"),
        ((*MEAN, "--error", "-1"), "error must be a positive number, not -1"),
        ((*MEAN, "--plot", "x.nonsense"), "plot file"),
        ((*MEAN, "--sample", "missing.csv", "--column", "age"), "does not exist"),
        ((*MEAN, "--sample", "missing.csv"), "needs the --column"),
        ((*MEAN, "--shape", "round"), "shape must be one of"),
        (("advise", "range-mean", *MEAN[2:]), "from is missing"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_2(arguments, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert why in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.needs("matplotlib", "pyarrow", "scipy")
def test_the_frequency_plot_shows_every_category_and_the_truth():
    plan = dc.Frequency(dc.Categories(["a", "b", "c"]), epsilon=1)
    estimate = dc.simulate(plan, ["a", "b"] * 500, seed=1)
    for truth in (None, {"a": 0.5, "b": 0.5}, [0.5, 0.5, 0.0]):
        figure = estimate.plot(truth=truth)
        axes = figure.axes[0]
        assert sorted(label.get_text() for label in axes.get_yticklabels()) == ["a", "b", "c"]
    assert "1 000 reports" in axes.get_xlabel()
    assert len(plots.frequencies(estimate, top=2).axes[0].get_yticklabels()) == 2
