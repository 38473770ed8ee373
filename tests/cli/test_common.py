"""The command line: verbs, JSON, errors, and what it must not import."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from discreet import __version__
from discreet.cli import app
from discreet.cli.common import parse_options
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import entries, mechanism

HEAVY = ("numpy", "scipy", "numba", "matplotlib", "highspy", "cryptography", "rich")


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def found(*arguments: str) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_help_shows_the_verbs_with_examples():
    result = run("--help")
    assert result.exit_code == 0
    for word in ("demo", "mechanisms", "describe", "Examples:", "--version"):
        assert word in result.stdout
    for verb in ("demo", "mechanisms", "describe"):
        shown = run(verb, "--help")
        assert shown.exit_code == 0
        assert f"discreet {verb}" in shown.stdout
        assert "--json" in shown.stdout


def test_version():
    assert run("--version").stdout.strip() == f"discreet {__version__}"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom discreet.cli import main\nsys.argv = ['discreet', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_runs_as_the_script_does():
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"discreet {__version__}"


def test_mechanisms_lists_the_registry():
    listed = found("mechanisms")["mechanisms"]
    assert {row["name"] for row in listed} == set(entries())
    assert all(set(row) == {"name", "question", "paper", "needs", "options", "summary"} for row in listed)
    assert {row["question"] for row in found("mechanisms", "--question", "mean")["mechanisms"]} == {"mean"}


def test_mechanisms_for_people():
    shown = run("mechanisms")
    assert shown.exit_code == 0
    for name in ("duchi", "optimized-unary", "square-wave"):
        assert name in shown.stdout


@pytest.mark.parametrize("name", ["duchi", "piecewise", "piecewise-sub", "hybrid", "square-wave"])
def test_describe_numeric(name):
    facts = found("describe", name, "--epsilon", "1")
    expected = {
        "name",
        "epsilon",
        "epsilon_exact",
        "alphabet",
        "bits",
        "unbiased",
        "worst_case_variance",
        "variance_at",
    }
    assert expected <= set(facts)
    assert facts == json.loads(json.dumps(mechanism(name, 1.0).describe()))
    assert len(facts["variance_at"]) == 5
    assert 1 - 1e-6 < facts["epsilon_exact"] <= 1
    assert ("values" in facts) == (facts["alphabet"] <= 64)


@pytest.mark.parametrize("name", ["randomized-response", "optimized-unary"])
def test_describe_categorical(name):
    facts = found("describe", name, "--epsilon", "1", "--size", "16")
    assert {"name", "epsilon", "epsilon_exact", "alphabet", "bits", "size", "p", "q", "mean_variance"} <= set(facts)
    assert facts["size"] == 16


@pytest.mark.parametrize(
    "arguments", [("duchi",), ("hybrid",), ("randomized-response", "--size", "4"), ("optimized-unary", "--size", "100")]
)
def test_describe_for_people(arguments):
    shown = run("describe", *arguments, "--epsilon", "1")
    assert shown.exit_code == 0, shown.output
    for word in (arguments[0], "exact ε", "Unbiased", "Report", "Paper"):
        assert word in shown.stdout


def test_options_reach_the_constructor():
    direct = found("describe", "randomized-response", "--epsilon", "1", "--size", "4")
    assert found("describe", "randomized-response", "--epsilon", "1", "--option", "size=4") == direct


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("describe", "no-such", "--epsilon", "1"), "not 'no-such'"),
        (("describe", "duchi", "--epsilon", "-1"), "epsilon"),
        (("describe", "duchi", "--epsilon", "nan"), "epsilon"),
        (("describe", "optimized-unary", "--epsilon", "1"), "needs size"),
        (("describe", "duchi", "--epsilon", "1", "--size", "3"), "no option 'size'"),
        (("describe", "optimized-unary", "--epsilon", "1", "--size", "1"), "not 1"),
        (("describe", "duchi", "--epsilon", "1", "--option", "bad"), "key=value"),
        (("describe", "duchi", "--epsilon", "1", "--option", "epsilon=2"), "given twice"),
        (("describe", "optimized-unary", "--epsilon", "1", "--option", "size=many"), "many"),
        (("describe", "adaptive-additive", "--epsilon", "1", "--option", "prior=word"), "prior=word"),
        (("mechanisms", "--question", "why"), ", not 'why'"),
        (("demo", "--epsilon", "0"), "epsilon"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_errors_are_one_sentence_and_exit_code_2(arguments, words, as_json):
    result = run(*arguments, *(["--json"] if as_json else []))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr
    assert result.stderr.startswith("discreet: ")
    assert len(result.stderr.strip().splitlines()) == 1


def test_wrong_usage_is_exit_code_2_without_traceback():
    for arguments in (("describe", "duchi"), ("describe", "duchi", "--epsilon", "one"), ("nothing",)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Traceback" not in result.stderr


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("demo", "--out", str(tmp_path / "file" / "below"), "--people", "50")
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_parse_options_reads_json_and_text():
    assert parse_options(["outputs=5", "a=0.5", "b=true", "c=[1, 2]", "d=word", "e-f=1"]) == {
        "outputs": 5, "a": 0.5, "b": True, "c": [1, 2], "d": "word", "e_f": 1,
    }  # fmt: skip
    with pytest.raises(DiscreetError, match="twice"):
        parse_options(["a=1", "a=2"])


def leaves(group, path=()):
    """Every installed verb, those of groups too; a verb of a missing distribution is hidden."""
    for name, command in sorted(group.commands.items()):
        if not command.hidden:
            yield from leaves(command, (*path, name)) if hasattr(command, "commands") else [(*path, name)]


def test_every_verb_takes_json_and_shows_examples():
    import typer.main

    verbs = list(leaves(typer.main.get_command(app)))
    assert len(verbs) > 15
    for verb in verbs:
        shown = run(*verb, "--help").stdout
        assert "--json" in shown, verb
        assert f"discreet {' '.join(verb)}" in shown.partition("Examples:")[2], verb


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nonsense",), "No such command 'nonsense'; see discreet --help"),
        (("describe", "duchi"), "Missing option '--epsilon'; see discreet describe --help"),
        (("describe", "--nope"), "No such option: --nope; see discreet describe --help"),
        (("campaign", "start"), "Missing argument 'plan'; see discreet campaign start --help"),
    ],
)
def test_wrong_use_is_one_sentence_too(arguments, sentence):
    # of a process of its own: the runner's program has another name
    done = subprocess.run([sys.executable, "-m", "discreet.cli", *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip() == f"discreet: {sentence}"
    assert "Usage:" in run("campaign").output
