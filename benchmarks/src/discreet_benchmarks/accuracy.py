"""Accuracy: errors of frequencies beside the peers' at equal epsilon and people; means and distributions.

Frequencies: the same people (Zipf) answer ours and theirs, each with its own noise, and the squared errors are averaged
over categories and repeats. Raw estimates of the same mechanism must agree, with each other and with the exact
variance: this checks that the peers do the same thing. The post-processing differs: what one gets without choosing is
set beside what one gets from every peer without choosing, and the best of all that we offer beside the best of all that
they offer, both chosen in hindsight. A third row, without a target, sets our default beside their best in hindsight.
The peers' EM stops after 10 000 iterations, long before it has converged if there are many categories: it stays near
its start, equal frequencies, which helps where the truth is near them. Means and distributions, which no peer has, are
in `numeric_accuracy`.
"""

from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np

from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.plans.frequency import POST, Frequency, oracle_frequencies
from discreet_benchmarks import numeric_accuracy
from discreet_benchmarks.numeric_accuracy import AT_LEAST
from discreet_benchmarks.rows import Row, Settings, Task
from discreet_papers import mechanisms

PART = "accuracy"
EPSILON = 1.0
ORACLES = (
    "randomized-response",
    "basic-rappor",
    "optimized-unary",
    "local-hashing",
    "subset-selection",
    "hadamard-response",
    "hadamard-randomized-response",
)
LARGE_ORACLES = ("randomized-response", "optimized-unary", "hadamard-response", "hadamard-randomized-response")
"""The mechanisms whose peers can count the reports of a large domain within a minute."""
UNIT = "mean squared error"
DEFAULTS = ("raw", "clipped")
"""What the peers return unless told otherwise: pure-ldp raw estimates, multi-freq-ldpy clipped ones."""
OURS = 8
"""Number of our repeats per repeat of a peer: ours are cheap, and then only one side is noisy."""


def tasks(settings: Settings) -> dict[str, Task]:
    """Return the tasks: frequencies of few and of many people, and means."""
    crowds = [(64, 10_000, 12), (64, 100_000, 6), (1024, 20_000, 4)]  # categories, people, repeats
    if settings.quick:
        crowds = [(64, 2_000, 12)]
    found: dict[str, Task] = {
        f"frequencies-{size}-{n}": partial(frequencies, settings, zipf(size, n), repeats) for size, n, repeats in crowds
    }
    return found | numeric_accuracy.tasks(settings)


def zipf(size: int, people: int) -> Any:
    """Return how many people hold each value, in decreasing order (Zipf's law).

    Examples
    --------
    >>> zipf(3, 11)
    array([6, 3, 2])
    """
    share = 1 / np.arange(1, size + 1)
    edges = np.rint(np.concatenate([[0], np.cumsum(share)]) / share.sum() * people)
    return np.diff(edges).astype(np.int64)


def frequencies(settings: Settings, people: Any, repeats: int) -> list[Row]:
    """Measure the errors of every oracle that a peer has, and of the plan's own choice."""
    truth, n, size = people / people.sum(), int(people.sum()), len(people)
    ours: dict[tuple[str, str], list[float]] = defaultdict(list)
    theirs: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    plan = Frequency(Categories(range(size)), EPSILON)
    oracles = ORACLES if size <= 64 else LARGE_ORACLES
    for _ in range(repeats):
        for name in dict.fromkeys((*oracles, plan.method)):
            for _ in range(OURS):
                for post, error in _errors(name, people, truth).items():
                    ours[name, post].append(error)
            for peer in settings.peers_of(name) if name in oracles else []:
                assert settings.peers is not None
                request = {"do": "errors", "peer": peer, "size": size, "epsilon": EPSILON, "people": people.tolist()}
                for kind, error in settings.peers.ask(**request)["errors"].items():
                    theirs[name, peer, kind].append(error)
    mine = {key: float(np.mean(errors)) for key, errors in ours.items()}
    others = {key: float(np.mean(errors)) for key, errors in theirs.items()}
    doubt = {" ".join(key[1:]): _doubt(errors) for key, errors in theirs.items()}
    about: dict[str, Any] = {
        "people": n,
        "repeats": repeats,
        "repeats_of_ours": OURS * repeats,
        "size": size,
        "epsilon": EPSILON,
    }
    about["relative_standard_errors"] = doubt
    which = f"d={size} n={n}"
    rows = []
    for name in oracles:
        exact = float(mechanisms.oracle(name, EPSILON, size=size).frequency_variance(truth, n).mean())
        here = {(peer, kind): e for (o, peer, kind), e in others.items() if o == name}
        posts = {kind: e for (o, kind), e in mine.items() if o == name}
        details = about | {"post": posts, "peers": {f"{peer}, {kind}": e for (peer, kind), e in here.items()}}
        rows += [
            Row(
                PART, f"raw frequencies {name} {which}", "accuracy", UNIT, posts["raw"], *_best(here, ("raw",)), exact,
                "the exact variance of the mechanism", details=about,
            ),
            *_compared(f"{name} {which}", posts[plan.post], plan.post, posts, here, details),
        ]  # fmt: skip
    every = {(peer, kind): e for (_, peer, kind), e in others.items()}
    chosen = {f"{o} and {post}": e for (o, post), e in mine.items()}
    return rows + _compared(which, mine[plan.method, plan.post], f"{plan.method} and {plan.post}", chosen, every, about)


def _compared(
    which: str,
    default: float,
    named: str,
    ours: dict[str, float],
    theirs: dict[tuple[str, str], float],
    details: dict[str, Any],
) -> list[Row]:
    """Return three rows: default beside default, best beside best, and our default beside their best."""
    best = min(ours, key=lambda name: ours[name])
    usual = ", ".join(f"{peer}, {kind}: {error:.3g}" for (peer, kind), error in theirs.items() if kind in DEFAULTS)
    kinds = (
        (f"frequencies by default {which}", default, DEFAULTS, AT_LEAST, f"{named}; their defaults: {usual or 'none'}"),
        (f"frequencies at best {which}", ours[best], None, None, f"{best} here; both the best in hindsight"),
        (f"frequencies, their best {which}", default, None, None, f"{named} here; theirs the best in hindsight"),
    )
    return [
        Row(PART, name, "accuracy", UNIT, error, *_best(theirs, kind), peer_target=target, note=note, details=details)
        for name, error, kind, target, note in kinds
    ]


def _errors(name: str, people: Any, truth: Any) -> dict[str, float]:
    """Simulate one collection; return the mean squared error after each post-processing."""
    size = len(people)
    oracle = mechanisms.oracle(name, EPSILON, size=size)
    tally = oracle.tally(oracle.privatize(np.repeat(np.arange(size), people)))
    raw, _ = oracle_frequencies(oracle, tally)
    found = {}
    for post in POST:
        try:
            Frequency(Categories(range(size)), EPSILON, method=name, post=post)
        except DiscreetError:  # maximum likelihood needs an oracle whose tally counts whole reports
            continue
        found[post] = float(np.mean((POST[post](oracle, tally, raw) - truth) ** 2))
    return found


def _doubt(errors: list[float]) -> float | None:
    """Return the relative standard error of a mean of errors; None if there is but one of them."""
    return None if len(errors) < 2 else float(np.std(errors, ddof=1) / np.sqrt(len(errors)) / np.mean(errors))


def _best(found: dict[tuple[str, str], float], kinds: tuple[str, ...] | None = None) -> tuple[float | None, str | None]:
    """Return the least error of the peers' estimates, of some kinds only if they are named, and whose it is."""
    errors = {f"{peer}, {kind}": error for (peer, kind), error in found.items() if kinds is None or kind in kinds}
    if not errors:
        return None, None
    name = min(errors, key=lambda one: errors[one])
    return errors[name], name
