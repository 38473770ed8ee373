"""Answering: from the counts of each block to the answer of each question, among those who answered it."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.simplex import norm_sub
from discreet.mechanisms.shapes.agreement import Agreement
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.window import RandomizedResponse
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import Answered, Channel
from discreet.plans.encoders import Answers, Attribute, NumberOrRefusal
from discreet.plans.mean.plan import RANDOM_SAMPLE, mean_answer
from discreet.plans.questionnaire.answer import ChoiceAnswer, GivenNumber, TableAnswer
from discreet.plans.questionnaire.designs import Column
from discreet.plans.questionnaire.estimates import Joint, Ratios, Shares, supported
from discreet.plans.questionnaire.questions import ABSENT, REFUSED, Choice, Number, Question, Ticks
from discreet.plans.range_mean.estimators import ratio
from discreet.plans.uncertain import EACH_ALONE

if TYPE_CHECKING:
    from discreet.plans.questionnaire.plan import Questionnaire

AMONG = "shares and means are those of the people who answered; refusals are counted beside them"
NO_NUMBER = "gave no number"
FEW = "too few people answered: the intervals are all that is possible"
FEW_NUMBERS = (
    "too few people gave a number: the value is the middle of the domain, or as near to that as the interval allows"
)
Found = dict[str, Shares | GivenNumber]
"""What is known of each column, by its name."""


def asked_columns(channel: Channel) -> tuple[int, ...]:
    """Return the columns that a channel asks."""
    encoder = channel.encoder
    if isinstance(encoder, Answers):
        return encoder.columns
    if isinstance(encoder, (Attribute, NumberOrRefusal)):
        return (encoder.index,)
    raise DiscreetError(f"channel {channel.key!r} is not one of a questionnaire")


def read_block(
    plan: "Questionnaire", answered: Answered, channel: Channel, own: Sequence[Column], found: Found
) -> list[Joint]:
    """Add what a block tells about its columns; return its counts if they are of whole combinations."""
    tally, mechanism = answered.tally(channel.key, least=2), channel.mechanism
    first = own[0]
    if isinstance(first.question, Number):
        found[first.name] = _number(plan, answered, channel, first.question)
        return []
    assert isinstance(channel.encoder, Answers)
    if tuple(column.symbols for column in own) != channel.encoder.sizes:
        raise DiscreetError(f"block {channel.key!r} was asked with other symbols than its questions have")
    if not isinstance(mechanism, (Agreement, RandomizedResponse)):
        found[first.name] = supported(mechanism, tally, len(first.question.extras) if first.is_set else 0)
        return []
    joint = Joint.read(mechanism, tally, channel.encoder.columns, channel.encoder.sizes)
    found.update({column.name: joint.shares(place) for place, column in enumerate(own)})
    return [joint]


# -- symbols ---------------------------------------------------------------------------------------------------


def events(column: Column) -> Floats:
    """Return which symbols count for each option, one row per option."""
    if isinstance(column.question, Ticks) and not column.is_set:
        symbols = np.arange(column.symbols)
        own = symbols < 1 << len(column.options)
        return np.array([own & (symbols >> rank & 1 > 0) for rank in range(len(column.options))], dtype=np.float64)
    return np.eye(len(getattr(column.question, "options", ())), _length(column))


def _length(column: Column) -> int:
    """Return how many shares are estimated of a column: of its symbols, or of the options of a set."""
    return len(column.options) + len(column.question.extras) if column.is_set else column.symbols


def _extra(column: Column, *names: str) -> Floats:
    """Return which shares are those of some symbols besides the options."""
    extras, length = column.question.extras, _length(column)
    vector = np.zeros(length)
    for place, name in enumerate(extras):
        vector[length - len(extras) + place] = name in names
    return vector


# -- questions -------------------------------------------------------------------------------------------------


def answer_question(plan: "Questionnaire", question: Question, found: Found, method: str) -> ChoiceAnswer | GivenNumber:
    """Return the answer to one question, from what is known of its columns."""
    own = [column for column in plan.columns if column.question is question]
    known = [found[column.name] for column in own]
    if isinstance(known[0], GivenNumber):
        return known[0]
    shares = [one for one in known if isinstance(one, Shares)]
    pairs = list(zip(own, shares, strict=True))
    ratios = [one.ratios(events(column), _extra(column, REFUSED, ABSENT)) for column, one in pairs]
    order: Any = np.argsort([i for column in own for i in column.options]) if own[0].options else slice(None)
    values = np.concatenate([one.values for one in ratios])[order]
    labels = tuple(getattr(question, "options", ()))
    shown = np.nan_to_num(values, nan=0.5)
    is_choice = isinstance(question, Choice)
    facts: dict[str, Any] = {
        "level": plan.level,
        "n": sum(one.n for one in shares),
        "epsilon": plan.epsilon,
        "method": method,
    }
    ends = partial(_intervals, ratios, order)
    assumed = [RANDOM_SAMPLE, EACH_ALONE, *([AMONG] if question.extras else [])]
    assumed += [] if all(one.is_enough(plan.level) for one in ratios) else [FEW]
    return ChoiceAnswer(
        question=question.name,
        labels=labels,
        frequencies=norm_sub(shown) if is_choice else np.clip(shown, 0.0, 1.0),
        raw=values,
        standard_errors=np.concatenate([one.errors for one in ratios])[order],
        intervals=ends(plan.level),
        ends=ends,
        post="norm-sub" if is_choice else "clip",
        influence=max(one.reach for one in shares),
        assumed=tuple(assumed),
        **facts,
        **_numbers_beside(question, pairs, facts),
    )


def _intervals(ratios: Sequence[Ratios], order: Any, level: float) -> Floats:
    return np.asarray(np.vstack([one.intervals(0.0, 1.0, level) for one in ratios])[order])


def _numbers_beside(
    question: Question, pairs: Sequence[tuple[Column, Shares]], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the numbers beside the shares: refusals, how many are concerned, and a mean."""
    found = {}
    if question.refusal:
        found["refused"] = _number_of(_pooled(pairs, REFUSED, ABSENT), REFUSED, (0.0, 1.0), facts)
    if question.when is not None:
        absent = _pooled(pairs, ABSENT)
        concerned = Ratios(1 - absent.top, 1.0, absent.top_variance, absent.between, 0.0)
        found["concerned"] = _number_of(concerned, "the question applies", (0.0, 1.0), facts)
    scale = question.scale if isinstance(question, Choice) else None
    if scale is not None:
        (column, shares), ends = pairs[0], (min(scale), max(scale))
        weights = np.array([scale]) @ events(column)
        found["mean"] = _number_of(shares.ratios(weights, _extra(column, REFUSED, ABSENT)), "mean", ends, facts)
    if isinstance(question, Ticks) and not pairs[0][0].is_set:
        parts = [one.ratios(events(column).sum(axis=0)[None], _extra(column, REFUSED, ABSENT)) for column, one in pairs]
        if all(one.bottom > 0 for one in parts):
            value = float(sum(one.values[0] for one in parts))
            variance = float(sum(one.errors[0] ** 2 for one in parts))
            total = Ratios(np.array([value]), 1.0, np.array([variance]), np.zeros(1), 0.0)
            found["mean"] = _number_of(total, "ticks per person", (0.0, float(len(question.options))), facts)
    return found


def _pooled(pairs: Sequence[tuple[Column, Shares]], name: str, *left_out: str) -> Ratios:
    """Return the share of one extra symbol in all columns of a question together."""
    total = sum(shares.n for _, shares in pairs)
    top = bottom = top_variance = between = bottom_variance = 0.0
    for column, shares in pairs:
        part, weight = shares.ratios(_extra(column, name)[None], _extra(column, *left_out)), shares.n / total
        top, bottom = top + weight * float(part.top[0]), bottom + weight * part.bottom
        top_variance += weight**2 * float(part.top_variance[0])
        between += weight**2 * float(part.between[0])
        bottom_variance += weight**2 * part.bottom_variance
    return Ratios(np.array([top]), bottom, np.array([top_variance]), np.array([between]), bottom_variance)


def _number_of(ratios: Ratios, name: str, bounds: tuple[float, float], facts: Mapping[str, Any]) -> NumberAnswer:
    """Return one ratio as a number with its interval."""
    ends = partial(_one_interval, ratios, bounds)
    value = float(np.clip(np.nan_to_num(ratios.values[0], nan=sum(bounds) / 2), *bounds))
    return NumberAnswer(
        question=name,
        value=value,
        interval=ends(facts["level"]),
        ends=ends,
        assumed=(RANDOM_SAMPLE,),
        details={"standard_error": float(ratios.errors[0])},
        **facts,
    )


def _one_interval(ratios: Ratios, bounds: tuple[float, float], level: float) -> tuple[float, float]:
    low, high = ratios.intervals(*bounds, level)[0]
    return float(low), float(high)


def _number(plan: "Questionnaire", answered: Answered, channel: Channel, question: Number) -> GivenNumber:
    """Return the mean of those who gave a number, and how many did not."""
    tally, source = answered.tally(channel.key), channel.mechanism
    facts: dict[str, Any] = {"level": plan.level, "n": tally.n, "epsilon": plan.epsilon, "method": source.name}
    if not isinstance(source, Ranged):
        mean = mean_answer(plan, answered, channel.key)
        return GivenNumber(
            question="mean",
            value=mean.value,
            interval=mean.interval,
            ends=mean.ends,
            details=mean.details,
            assumed=mean.assumed,
            **facts,
        )
    found, domain = ratio([(source, tally)], plan.level), question.domain
    ends = partial(_number_interval, source, tally, domain)
    missing = Ratios(np.array([1 - found.share]), 1.0, np.array([found.share_error**2]), np.zeros(1), 0.0)
    assumed = [f"values outside {domain} count as its nearest end", RANDOM_SAMPLE, AMONG]
    return GivenNumber(
        question="mean",
        value=float(domain.decode(found.mean)),
        interval=ends(plan.level),
        ends=ends,
        refused=_number_of(missing, NO_NUMBER if question.when else REFUSED, (0.0, 1.0), facts),
        assumed=tuple(assumed if found.enough else [*assumed, FEW_NUMBERS]),
        details={"standard_error": found.error * domain.width / 2, "enough": found.enough},
        **facts,
    )


def _number_interval(source: Ranged, tally: Any, domain: Any, level: float) -> tuple[float, float]:
    low, high = (float(domain.decode(end)) for end in ratio([(source, tally)], level).interval)
    return low, high


# -- tables ----------------------------------------------------------------------------------------------------


def make_table(plan: "Questionnaire", joints: Sequence[Joint], first: str, second: str, level: float) -> TableAnswer:
    """Return the table of two questions, or say that they were not asked together."""
    (a, own), (b, other) = plan.place(first), plan.place(second)
    joint = next((one for one in joints if a in one.columns and b in one.columns), None)
    if joint is None:
        raise DiscreetError(
            f"{first!r} and {second!r} were not asked of the same people; name them in tables= before asking"
        )
    (labels, rows), (others, columns) = _sides(plan.columns[a], own), _sides(plan.columns[b], other)
    weights: Floats
    if a == b:
        shares = joint.shares(joint.columns.index(a))
        weights = (rows[:, None, :] * columns[None, :, :]).reshape(-1, rows.shape[1])
    else:
        shares = joint.pair(joint.columns.index(a), joint.columns.index(b))
        weights = np.asarray(np.kron(rows, columns), dtype=np.float64)
    ratios = shares.ratios(weights, 1 - weights.sum(axis=0))
    values = np.nan_to_num(ratios.values, nan=1 / len(weights))
    ends = partial(_intervals, [ratios], slice(None))
    return TableAnswer(
        question=f"{first} by {second}",
        names=(first, second),
        labels=tuple((x, y) for x in labels for y in others),
        frequencies=norm_sub(values),
        raw=ratios.values,
        standard_errors=ratios.errors,
        intervals=ends(level),
        ends=ends,
        post="norm-sub",
        influence=shares.reach,
        level=level,
        n=shares.n,
        epsilon=plan.epsilon,
        method=plan.method,
        assumed=(RANDOM_SAMPLE, EACH_ALONE, "shares are those of the people who answered both questions"),
    )


def _sides(column: Column, option: str | None) -> tuple[tuple[Any, ...], Floats]:
    """Return the labels of one side of a table, and which symbols count for each."""
    if option is None:
        return tuple(getattr(column.question, "options", ())), events(column)
    names = [str(getattr(column.question, "options", ())[i]) for i in column.options]
    ticked = events(column)[names.index(option)]
    own = (np.arange(column.symbols) < 1 << len(column.options)).astype(np.float64)
    return ("yes", "no"), np.array([ticked, own - ticked])
