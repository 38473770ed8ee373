"""Verbs from other distributions, by entry points of the group `discreet.commands`.

An entry point is named after its verb and refers to a function `register(app)`, which adds the verb to the command
line. `discreet-papers` provides `reproduce` and `discreet-benchmarks` provides `bench`.
"""

from importlib.metadata import entry_points

import typer

from discreet.errors import MissingExtra

GROUP = "discreet.commands"
DISTRIBUTIONS = {"reproduce": "discreet-papers", "bench": "discreet-benchmarks"}
"""The verbs of our own distributions, which are named in an error where they are not installed."""


def register(app: typer.Typer) -> None:
    """Add every installed verb, and for those of ours that are not installed a command that says how to get them."""
    found = entry_points(group=GROUP)
    for entry_point in found:
        entry_point.load()(app)
    for verb in DISTRIBUTIONS.keys() - found.names:
        _register_missing(app, verb)


def _register_missing(app: typer.Typer, verb: str) -> None:
    takes_anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @app.command(verb, hidden=True, add_help_option=False, context_settings=takes_anything)
    def missing() -> None:
        distribution = DISTRIBUTIONS[verb]
        raise MissingExtra(
            f"the verb {verb!r} needs {distribution}: pip install {distribution} (in a clone of discreet: make setup)"
        )
