"""`discreet warm-up`: compile the kernels and load the tables now, so that the first question is fast."""

import time
from collections.abc import Callable
from typing import Annotated

import typer

from discreet.cli.common import Json, console, examples, show_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("warm-up", epilog=examples("discreet warm-up", "NUMBA_CACHE_DIR=/var/cache/discreet discreet warm-up"))(
        warm_up
    )


def warm_up(
    people: Annotated[int, typer.Option(min=1, help="How many people each rehearsal has.", hidden=True)] = 5_000,
    as_json: Json = False,
) -> None:
    """Compile what would otherwise be compiled at the first question.

    Asks each kind of question once of simulated people. Compiled code is kept beside the package, or in the folder
    that NUMBA_CACHE_DIR names; run this while you build an image, or after an update. Without the extra `fast` there is
    nothing to compile, and only what can be asked is tried.
    """
    import numpy as np

    from discreet import compiling
    from discreet.errors import MissingExtra
    from discreet.extras import has
    from discreet.plans.distribution import Distribution
    from discreet.plans.frequency import Frequency
    from discreet.plans.mean import Mean
    from discreet.plans.simulate import simulate

    values = np.arange(people) % 100 / 100
    labels = [str(i) for i in range(64)]
    rehearsals: dict[str, Callable[[], object]] = {
        "mean": lambda: [simulate(Mean((0, 1), 1, method=name), values) for name in ("minimax", "piecewise", "hybrid")],
        "frequency": lambda: [
            simulate(Frequency(labels, 1, method=name), np.asarray(labels)[np.arange(people) % 64])
            for name in ("subset-selection", "optimized-unary", "local-hashing", "hadamard-response")
        ],
        "distribution": lambda: [simulate(Distribution((0, 1), 1, bins=64), values)],
    }
    took: dict[str, float | None] = {}
    for name, rehearse in rehearsals.items():
        started = time.perf_counter()
        try:
            with compiling.using(compiled=has("numba")):  # so few people would not pay for it otherwise
                rehearse()
            took[name] = round(time.perf_counter() - started, 3)
        except MissingExtra:
            took[name] = None
    if as_json:
        show_json({"compiled": has("numba"), "seconds": took})
        return
    out = console()
    for name, seconds in took.items():
        out.print(f"{name}: " + ("needs an extra, left out" if seconds is None else f"{seconds:.1f} s"))
    if not has("numba"):
        out.print('Nothing was compiled: pip install "discreet[fast]" brings the compiler.', markup=False)
