"""Run a verb as a person does: its JSON, its refusals."""

import json

from typer.testing import CliRunner

from discreet.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def found(*arguments, code=0):
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("discreet: ")
    return result.stderr
