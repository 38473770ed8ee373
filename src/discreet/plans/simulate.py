"""simulate: run a plan on values that you hold, as if each came from a device of its own.

With ``people`` it runs for any number of them, up to 10^12, in about the same time: the values stand for a population
from which everyone is drawn independently, and tallies are drawn from their distribution (`discreet.mechanisms.draws`).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats
from discreet.errors import DiscreetError, DomainError
from discreet.plans.assignment import cuts
from discreet.plans.base import A, Answered, Channel, Plan, Round
from discreet.plans.encoders import Answers, Bucket, Encoder, column_of
from discreet.plans.rows import Labelled, Rows
from discreet.privacy.entropy import Entropy
from discreet.tallies import Tally
from discreet.threads import check_threads, in_order

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random

_PART = 1 << 19
"""This many people at a time, so that their inputs stay in cache; threads take such parts in turn."""


def simulate(
    plan: Plan[A],
    values: Any,
    seed: int | None = None,
    *,
    people: int | None = None,
    weights: Any = None,
    threads: int | None = None,
) -> A:
    """Run a plan on values that you hold: privatise every value, count the reports round by round, and estimate.

    Parameters
    ----------
    plan : Plan
        The question.
    values : array_like
        One raw value per person (or one row, for several attributes).
    seed : int, optional
        For a reproducible simulation. Without it the words come from the operating system.
    people : int, optional
        Simulate this many people instead, up to 10^12, each with one of the values drawn at random. No report is made:
        each tally is drawn from its distribution, so that a plan for the whole internet can be tried in about a second.
    weights : array_like, optional
        With ``people``: how likely each value is, relative to the others; all alike unless given.
    threads : int, optional
        How many threads share the work if there are millions of values: one per core unless given. A seed gives the
        same answer with any number of them.

    Returns
    -------
    Answer
        What the collector would have learnt, of the type that the plan's ``estimate`` returns. ``details`` counts the
        clipped values, which no collector can see (with ``people``: the expected number).

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Mean(dc.Interval(0, 100), epsilon=1)
    >>> dc.simulate(plan, [20, 30, 70], seed=1, people=10**10, weights=[1, 2, 1])
    <mean: 37.5000 ± 0.0020 (95%); 10000000000 reports, epsilon 1, minimax>
    """
    rows, at_once = plan.read_rows(values), check_threads(threads)
    if (isinstance(rows, np.ndarray) and rows.ndim == 0) or len(rows) == 0:
        raise DiscreetError("values must hold at least one person's value")
    if people is not None:
        return _from_laws(plan, rows, _shares(weights, len(rows)), people, seed)
    if weights is not None:
        raise DiscreetError("weights need people: without people, every value is one person")
    plan = plan.expecting(len(rows))
    entropy = Entropy() if seed is None else Entropy.seeded(seed)
    waiting = np.arange(len(rows))
    history: list[Answered] = []
    clipped = 0
    while (asked := plan.round(history)) is not None:
        if asked.share < 1 or len(asked.channels) > 1 or history:
            waiting = waiting[np.argsort(entropy.words(len(waiting)), kind="stable")]
        count = _asked(asked, len(waiting), len(rows))
        persons, waiting = waiting[:count], waiting[count:]
        whole = count == len(rows) and len(asked.channels) == 1
        tally: dict[str, Tally] = {}
        for drawn, group in enumerate(_parts(asked, persons, rows)):
            chosen = held(asked, rows if whole else rows[group])
            for channel in asked.answered(drawn):
                counted, outside = _answers(channel, chosen, entropy, at_once)
                _add(tally, channel, counted)
                clipped += outside
        history.append(Answered(asked, tally))
    estimate = plan.estimate(history)
    estimate.details["clipped_in_simulation"] = clipped
    return estimate


def _answers(channel: Channel, rows: Rows, entropy: Entropy, threads: int) -> tuple[Tally, int]:
    """Return the tally of the answers of some people, and how many values were clipped; a part at a time."""
    encoder, mechanism = channel.encoder, channel.mechanism

    def answer(part: tuple[Rows, Entropy]) -> tuple[Tally, int]:
        encoded = encoder.encode(part[0])
        return mechanism.privatize_and_tally(encoded.inputs, part[1]), encoded.clipped_low + encoded.clipped_high

    if not len(rows):
        return mechanism.tally([]), 0
    parts = [rows[start : start + _PART] for start in range(0, len(rows), _PART)]
    if len(parts) == 1:
        return answer((rows, entropy))
    words = [len(part) * mechanism.words_per_report for part in parts]
    sources = [entropy] * len(parts) if threads == 1 else entropy.divide(words)
    try:
        counted = list(in_order(answer, zip(parts, sources, strict=True), threads))
    except DomainError:
        encoder.encode(rows)  # names the row by its place in the whole
        raise
    return Tally.merge(tally for tally, _ in counted), sum(clipped for _, clipped in counted)


def _from_laws(plan: Plan[A], rows: Rows, shares: Floats, people: int, seed: int | None) -> A:
    """Run the plan on people who each hold one of the rows, drawn by its share.

    Who is asked what does not depend on what they hold, so every group is a sample of the same population, independent
    of the others; those of a group who answer several questions hold the same rows in all of them.
    """
    from discreet.mechanisms.draws import check_people, draw_given, generator, multinomial

    people, random, clipped = check_people(people), generator(seed), 0.0
    plan, waiting = plan.expecting(people), people
    history: list[Answered] = []
    while (asked := plan.round(history)) is not None:
        count = _asked(asked, waiting, people)
        waiting -= count
        tally: dict[str, Tally] = {}
        for drawn, (size, part, likely) in enumerate(_populations(asked, count, rows, shares, random)):
            holding = multinomial(size, likely, random) if asked.answers > 1 else None
            for channel in asked.answered(drawn):
                mechanism = channel.mechanism
                if not size:
                    _add(tally, channel, mechanism.tally([]))
                    continue
                inputs, outside = _encode(channel.encoder, part, likely)
                clipped += size * outside
                if holding is None:
                    _add(tally, channel, mechanism.draw_tally(inputs, likely, size, random))
                else:
                    _add(tally, channel, draw_given(mechanism, inputs, holding, random))
        history.append(Answered(asked, tally))
    estimate = plan.estimate(history)
    estimate.details["clipped_in_simulation"] = round(clipped)
    return estimate


def held(asked: Round, rows: Rows) -> Rows:
    """Return what the channels of a round encode: without the label, if it only decides who answers which channel."""
    return rows.values if asked.by is not None and isinstance(rows, Labelled) else rows


def _parts(asked: Round, persons: Counts, rows: Rows) -> list[Counts]:
    """Return who answers each channel: shuffled people are cut, within each public group if there are any."""
    if asked.by is None or not isinstance(rows, Labelled):
        return np.split(persons, cuts(asked.shares, len(persons)))
    codes, shares = rows.codes[persons], asked.shares[: asked.block]
    members = (persons[codes == group] for group in range(asked.by.size))
    return [part for people in members for part in np.split(people, cuts(shares, len(people)))]


def _populations(
    asked: Round, count: int, rows: Rows, shares: Floats, random: "Random"
) -> list[tuple[int, Rows, Floats]]:
    """Return how many people answer each channel, and from which rows they are drawn, with which probabilities."""
    from discreet.mechanisms.draws import multinomial

    if asked.by is None or not isinstance(rows, Labelled):
        return [(size, rows, shares) for size in np.diff([0, *cuts(asked.shares, count), count]).tolist()]
    found: list[tuple[int, Rows, Floats]] = []
    masses = np.bincount(rows.codes, shares, asked.by.size)
    for group, people in enumerate(multinomial(count, masses, random).tolist()):
        own = rows.codes == group
        likely = shares[own] / masses[group] if people else shares[own]
        sizes = np.diff([0, *cuts(asked.shares[: asked.block], people), people])
        found += [(size, rows.values[own], likely) for size in sizes.tolist()]
    return found


def _shares(weights: Any, count: int) -> Floats:
    if weights is None:
        return np.full(count, 1 / count)
    shares = np.asarray(weights)
    if shares.shape != (count,) or shares.dtype.kind not in "fiu":
        raise DiscreetError(
            f"weights must be one number for each of {count} values, "
            f"not of type {shares.dtype} and shape {shares.shape}"
        )
    if not (np.isfinite(shares).all() and (shares >= 0).all() and 0 < shares.sum() < np.inf):
        raise DiscreetError("weights must be finite numbers from 0 on, and not all 0")
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def _encode(encoder: Encoder, rows: Rows, shares: Floats) -> tuple[AnyArray, float]:
    """Return canonical inputs, and the share of those who are clipped."""
    encoded = encoder.encode(rows)
    low, high = encoded.clipped_low, encoded.clipped_high
    if not low + high:
        return encoded.inputs, 0.0
    if isinstance(encoder, Answers):
        return encoded.inputs, float((shares * _outside(encoder, rows)).sum())
    values: Any = rows.values if isinstance(rows, Labelled) else rows
    place = column_of(encoder)
    column = values if place is None else values[:, place]
    ranked = shares[np.argsort(column)]
    return encoded.inputs, float(ranked[:low].sum() + ranked[len(ranked) - high :].sum())


def _outside(encoder: Answers, rows: Any) -> Floats:
    """Return how many answers of each row are clipped."""
    counts = np.zeros(len(rows))
    for column, one in zip(encoder.columns, encoder.encoders, strict=True):
        if isinstance(one, Bucket):
            numbers = np.array([row[column] for row in rows], dtype=np.float64)
            counts += (numbers < one.domain.low) | (numbers > one.domain.high)
    return counts


def _asked(asked: Round, waiting: int, people: int) -> int:
    """Return how many of those who wait a round asks."""
    return waiting if asked.share >= 1 else min(waiting, round(asked.share * people))


def _add(tally: dict[str, Tally], channel: Channel, counted: Tally) -> None:
    tally[channel.key] = tally[channel.key] + counted if channel.key in tally else counted
