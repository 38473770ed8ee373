"""The command line: `discreet VERB`. One module per verb; heavy modules are imported inside the verbs.

A verb is a plain function: it takes typed options, including `--json`, does its work with the library and passes the
result to `common.show_json` or to rich. To add a verb, write its module and add it to `VERBS` below.
"""

from discreet.cli import (
    advise,
    audit,
    budget,
    campaign,
    certify,
    compare,
    demo,
    describe,
    estimate,
    mechanisms,
    new_mechanism,
    plugins,
    privatize,
    serve,
    verify_page,
    warm_up,
)
from discreet.cli.common import app

__all__ = ["app", "main"]

VERBS = (
    demo, mechanisms, describe, advise, privatize, estimate, compare, certify, audit, budget, serve, campaign,
    new_mechanism, verify_page, warm_up, plugins,
)  # fmt: skip
"""The modules of the verbs, in the order of `discreet --help`; each has `register(app)`."""

for verb in VERBS:
    verb.register(app)


def main() -> None:
    """Run the command line; the entry point `discreet`."""
    app(prog_name="discreet")
