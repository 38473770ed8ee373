"""The federated case study in one process: softmax regression, all clients of a round at once.

The protocol of the N-output paper's section 5.3, with the details of its released code: 500 clients hold equal,
disjoint shards. In each of 50 rounds, 50 of them take five steps of gradient descent on all their records and report a
few coordinates of the clipped difference of the parameters, privatised by `discreet.federated.Updates`; the server adds
the average. Every report is charged to a ledger.

This is only a simulation: shards, first model and the choice of clients come from one seed, so that two mechanisms are
compared on the same clients, and the noise from another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.device.ledger import Ledger
from discreet.federated import Updates
from discreet.privacy.entropy import Entropy
from discreet.privacy.ledger import BudgetError
from discreet_papers import data as sources

CLIENTS, ROUNDS, DRAWN = 500, 50, 50
STEPS, RATE = 5, 0.1
DECAY = 0.001
"""Weight decay of the non-private model; the private ones have none."""
SIZES = {"gamma": (19_020, 10, 2), "shuttle": (14_500, 9, 7)}
"""Records, features, classes."""


@dataclass(frozen=True)
class Problem:
    """Records for training and for testing, with standardised features.

    Attributes
    ----------
    paper : bool
        Whether these are the paper's own data rather than generated substitutes.
    """

    name: str
    features: Floats
    labels: Counts
    test_features: Floats
    test_labels: Counts
    classes: int
    paper: bool

    @property
    def dimension(self) -> int:
        """Number of parameters: weights, then biases."""
        return self.classes * (int(self.features.shape[1]) + 1)


def problem(name: str, given: Path | None = None) -> Problem:
    """Return "gamma" or "shuttle", or generated data of the same size if the files are missing."""
    file = {"gamma": "magic_gamma.parquet", "shuttle": "statlog_shuttle_test.parquet"}[name]
    place = sources.folder(given)
    if place is None or not (place / file).is_file():
        return split(name, *_drawn(*SIZES[name]), paper=False)
    import pyarrow.parquet as pq

    table = pq.read_table(place / file)
    columns = [column for column in table.column_names if column != "class"]
    features = np.column_stack([table[column].to_numpy().astype(np.float64) for column in columns])
    labels = np.unique(np.array(table["class"].to_pylist()), return_inverse=True)[1].astype(np.int64)
    return split(name, features, labels, paper=True)


def _drawn(records: int, features: int, classes: int) -> tuple[Floats, Counts]:
    """Return normal features around one centre per class; classes get rarer, as in the real data."""
    rng = np.random.default_rng(2025)
    shares = 0.5 ** np.arange(classes)
    labels = rng.choice(classes, records, p=shares / shares.sum()).astype(np.int64)
    return rng.normal(size=(records, features)) + rng.normal(0, 0.7, (classes, features))[labels], labels


def split(name: str, features: Floats, labels: Counts, paper: bool) -> Problem:
    """Keep a fifth for the test, drawn as scikit-learn's train_test_split with random_state 42; standardise."""
    shuffled = np.random.RandomState(42).permutation(len(labels))
    held = -(-len(labels) // 5)
    test, train = shuffled[:held], shuffled[held:]
    centre, scale = features[train].mean(axis=0), features[train].std(axis=0)
    scaled = (features - centre) / np.where(scale > 0, scale, 1.0)
    classes = int(labels.max()) + 1
    return Problem(name, scaled[train], labels[train], scaled[test], labels[test], classes, paper)


# -- the model --------------------------------------------------------------------------------------------


def first_model(case: Problem, rng: np.random.Generator) -> Floats:
    """Return uniform weights (Glorot's limit) and biases of zero, in one vector."""
    width = case.features.shape[1]
    limit = np.sqrt(6 / (width + case.classes))
    return np.concatenate([rng.uniform(-limit, limit, case.classes * width), np.zeros(case.classes)])


def shards(case: Problem, rng: np.random.Generator) -> Counts:
    """Return the records of each client, one row per client."""
    each = len(case.labels) // CLIENTS
    return rng.permutation(each * CLIENTS).reshape(CLIENTS, each)


def local_updates(model: Floats, features: Floats, labels: Counts, classes: int, decay: float = 0.0) -> Floats:
    """Return the update of the model by gradient descent on each client's records, one row per client.

    Parameters
    ----------
    features : numpy.ndarray of shape (clients, records, width)
    labels : numpy.ndarray of shape (clients, records)
    """
    clients, records, width = features.shape
    columns = np.ascontiguousarray(features.transpose(0, 2, 1))  # sums run along records: quick for few classes
    wanted = np.eye(classes)[labels].transpose(0, 2, 1)
    weights = np.repeat(model[: classes * width].reshape(1, classes, width), clients, axis=0)
    biases = np.repeat(model[None, classes * width :], clients, axis=0)
    for _ in range(STEPS):
        scores = weights @ columns + biases[:, :, None]
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        slopes = (odds / odds.sum(axis=1, keepdims=True) - wanted) / records
        weights = weights - RATE * (slopes @ features + decay * weights)
        biases = biases - RATE * (slopes.sum(axis=2) + decay * biases)
    after: Floats = np.concatenate([weights.reshape(clients, -1), biases], axis=1)
    return after - model


def accuracy(case: Problem, model: Floats) -> float:
    """Return the share of test records that are classified correctly, in per cent."""
    width = case.features.shape[1]
    scores = case.test_features @ model[: case.classes * width].reshape(case.classes, width).T
    return 100 * float(((scores + model[case.classes * width :]).argmax(axis=1) == case.test_labels).mean())


# -- the study --------------------------------------------------------------------------------------------


@dataclass
class Course:
    """One run: test accuracy after each round, and statistics of the updates.

    Attributes
    ----------
    clipped, variance : float
        Share of coordinates outside the range; the mechanism's variance averaged over the updates that occurred.
    spent : numpy.ndarray
        Epsilon of each client.
    """

    accuracy: list[float]
    clipped: float
    variance: float
    spent: Floats


def run(
    case: Problem,
    design: Updates | None,
    seed: int,
    noise: Entropy,
    limit: float | None = None,
    scale: float = 1.0,
) -> Course:
    """Learn for fifty rounds.

    Parameters
    ----------
    design : Updates or None
        How updates are privatised; None sends the updates themselves.
    seed : int
        Seed of the shards, the first model and the choice of clients.
    noise : Entropy
        Randomness of the reports; seeded, because this is a simulation.
    limit : float, optional
        What each client's ledger allows; clients that have spent it refuse.
    scale : float
        Factor on the server's estimate: the released code does not count the biases as coordinates.
    """
    rng = np.random.default_rng(seed)
    records = shards(case, rng)
    model = first_model(case, rng)
    ledger = None if limit is None else Ledger(limit=limit)
    curve: list[float] = []
    clipped, variance, rounds = 0.0, 0.0, np.zeros(CLIENTS, dtype=np.int64)
    for number in range(1, ROUNDS + 1):
        drawn = rng.choice(CLIENTS, DRAWN, replace=False)
        if design is not None and ledger is not None:
            drawn = np.array(list(_willing(drawn, design, number, ledger)), dtype=np.int64)
        if not len(drawn):
            curve.append(accuracy(case, model))
            continue
        rounds[drawn] += 1
        mine = records[drawn]
        decay = DECAY if design is None else 0.0
        updates = local_updates(model, case.features[mine], case.labels[mine], case.classes, decay)
        if design is None:
            model = model + updates.mean(axis=0)
        else:
            estimate = design.estimate(design.tally_all(*design.privatize_all(updates, noise)))
            model = model + scale * estimate.values
            scaled = updates.ravel() / design.range
            clipped += float((np.abs(scaled) > 1).sum())
            variance += float(design.mechanism.variance(np.clip(scaled, -1, 1)).sum())
        curve.append(accuracy(case, model))
    asked = rounds.sum() * case.dimension
    spent: Floats = rounds * np.float64(0.0 if design is None else design.epsilon)
    return Course(curve, clipped / asked, variance / asked, spent)


def _willing(drawn: Counts, design: Updates, number: int, ledger: Ledger) -> Iterator[int]:
    """Yield the clients that may still spend this round's epsilon; they are charged."""
    for client in drawn.tolist():
        try:
            ledger.charge(str(client), "case study", design.epsilon, round=number)
        except BudgetError:
            continue
        yield client


def summary(courses: list[Course]) -> dict[str, Any]:
    """Return means over runs, ready for JSON."""
    curves = np.array([course.accuracy for course in courses])
    last = curves[:, -1]
    spent = np.array([course.spent for course in courses])
    return {
        "runs": len(courses),
        "accuracy": float(last.mean()),
        "standard_error": float(last.std(ddof=1) / np.sqrt(len(last))),
        "last": last.round(3).tolist(),
        "curve": curves.mean(axis=0).round(3).tolist(),
        "clipped_percent": 100 * float(np.mean([course.clipped for course in courses])),
        "variance_met": float(np.mean([course.variance for course in courses])),
        "spent": {
            "mean": float(spent.mean()),
            "p99": float(np.percentile(spent, 99)),
            "busiest": float(spent.max(axis=1).mean()),
        },
    }
