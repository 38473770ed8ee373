"""Plans answer from what was asked: a history whose tables, domains or regions are not those of today's version."""

import json

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.plans.base import Answered, Channel, Plan, Round
from discreet.plans.encoders import Bucket, RangeEncoder, SquaredDeviation, read_encoder, write_encoder
from discreet.plans.registry import read_plan

DOMAIN = dc.Interval(0, 100)
VALUES = np.clip(np.random.default_rng(0).gamma(4.0, 9.0, 40_000), 0, 100)
FRUIT = dc.Categories(["apple", "pear", "plum"])


def stored(asked: Round) -> Round:
    """Return a round that was written down and read again, as a service keeps it."""
    kept = [
        (c.key, json.dumps(c.mechanism.to_document()), json.dumps(write_encoder(c.encoder)), c.share)
        for c in asked.channels
    ]
    channels = [
        Channel(key, Mechanism.from_document(json.loads(document)), read_encoder(json.loads(encoder)), share)
        for key, document, encoder, share in kept
    ]
    return Round(asked.number, tuple(channels), asked.share, asked.answers)


def asked_with(number, *channels, people=VALUES, share=1.0):
    """Return a round of an older version, with the answers of the people: everybody answers every channel."""
    asked = stored(Round(number, tuple(Channel(*one) for one in channels), share))
    tallies = {}
    for seed, channel in enumerate(asked.channels):
        reports = channel.mechanism.privatize(channel.encoder.encode(people).inputs, dc.Entropy.seeded(seed))
        tallies[channel.key] = channel.mechanism.tally(reports)
    return Answered(asked, tallies)


def estimated(plan: Plan, history, monkeypatch):
    """Estimate with every way to make a mechanism closed."""

    def closed(*arguments, **options):
        raise AssertionError("an estimate made a mechanism of its own")

    for name in ("plan.mechanism", "adaptive.mechanism", "adaptive.adaptive_additive"):
        monkeypatch.setattr(f"discreet.plans.mean.{name}", closed)
    for name in ("designs.mechanism", "designs.best_oracle", "hybrid.mechanism", "hybrid.best_oracle"):
        monkeypatch.setattr(f"discreet.plans.distribution.{name}", closed)
    for name in ("frequency.best_oracle", "range_mean.plan.named", "range_mean.plan.range_mechanism"):
        monkeypatch.setattr(f"discreet.plans.{name}", closed)
    return plan.estimate(history)


def test_a_mean_whose_best_mechanism_was_another_one(monkeypatch):
    plan = read_plan({"question": "mean", "domain": DOMAIN.to_dict(), "epsilon": 2, "method": "auto"})
    history = [asked_with(1, ("all", dc.mechanism("hybrid", 1.9), DOMAIN))]
    answer = estimated(plan, history, monkeypatch)
    assert answer.method == "hybrid"
    assert abs(answer.value - VALUES.mean()) < 5 * answer.details["standard_error"]


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("adapted", [True, False])
def test_an_adaptive_mean_with_other_tables(monkeypatch, adapted):
    plan = dc.Mean(DOMAIN, epsilon=2, method="aaa")
    first = dc.mechanism("adaptive-additive", 2, prior=[1.0] * 9)
    second = dc.mechanism("adaptive-additive", 2, prior=[1.0, 4, 4, 2, 1, 1, 1, 1, 1]) if adapted else first
    history = [
        asked_with(1, ("pilot", first, DOMAIN), people=VALUES[:4000], share=0.1),
        asked_with(2, ("adapted", second, DOMAIN), people=VALUES[4000:]),
    ]
    answer = estimated(plan, history, monkeypatch)
    assert answer.details["adapted"] is adapted
    assert answer.n == VALUES.size
    assert abs(answer.value - VALUES.mean()) < 5 * answer.details["standard_error"]


@pytest.mark.needs("scipy")
def test_an_adaptive_mean_goes_on_from_an_older_pilot():
    history = [asked_with(1, ("pilot", dc.mechanism("adaptive-additive", 2, prior=[1.0] * 9), DOMAIN), share=0.1)]
    following = dc.Mean(DOMAIN, epsilon=2, method="aaa").round(history)
    assert following.number == 2
    assert following.channels[0].mechanism.certificate.holds


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(
    ("method", "bins", "channels"),
    [
        ("auto", 64, {"wave": "discrete-square-wave", "leaf": "optimized-unary"}),
        ("square-wave-ems", 64, {"all": "piecewise"}),
        ("binning", 64, {"all": "optimized-unary"}),
        ("hh", 64, {"layer 1": "optimized-unary", "layer 2": "optimized-unary"}),
    ],
)
def test_a_distribution_with_other_tables(monkeypatch, method, bins, channels):
    plan = dc.Distribution(DOMAIN, epsilon=2, bins=bins, method=method)
    sizes = {"wave": 64, "leaf": 64, "all": 8, "layer 1": 8, "layer 2": 64}
    made = []
    for key, name in channels.items():
        if name == "piecewise":
            made.append((key, dc.mechanism(name, 1.9), DOMAIN))
        else:
            made.append((key, dc.mechanism(name, 1.9, size=sizes[key]), Bucket(DOMAIN, sizes[key])))
    answer = estimated(plan, [asked_with(1, *made)], monkeypatch)
    assert answer.probabilities.shape == (bins,)
    assert answer.probabilities.sum() == pytest.approx(1)
    assert answer.mean.value == pytest.approx(VALUES.mean(), abs=3)


def test_frequencies_of_another_oracle(monkeypatch):
    plan = dc.Frequency(FRUIT, epsilon=1)
    people = np.array(FRUIT.labels)[np.random.default_rng(1).choice(3, 20_000, p=[0.6, 0.3, 0.1])]
    history = [asked_with(1, ("all", dc.mechanism("optimized-unary", 0.9, size=3), FRUIT), people=people)]
    answer = estimated(plan, history, monkeypatch)
    assert answer.method == "optimized-unary"
    assert answer["apple"]["raw"] == pytest.approx(0.6, abs=5 * answer["apple"]["standard_error"])


def test_a_range_mean_with_other_tables(monkeypatch):
    plan = dc.RangeMean(DOMAIN, 20, 50, epsilon=2)
    source, encoder = range_mechanism("outside-symbol", "duchi", 1.9), RangeEncoder(DOMAIN, 20, 50, (20.0, 50.0))
    history = [
        asked_with(
            1, ("pilot", range_mechanism("privrm-star", "duchi", 1.9), encoder), people=VALUES[:4000], share=0.1
        ),
        asked_with(2, ("all", source, encoder), people=VALUES[4000:]),
    ]
    answer = estimated(plan, history, monkeypatch)
    inside = VALUES[(VALUES >= 20) & (VALUES <= 50)]
    assert answer.details["mechanism"] == source.name
    assert abs(answer.value - inside.mean()) < 5 * answer.details["standard_error"]


@pytest.mark.needs("scipy")
def test_a_range_mean_by_a_distribution_that_was_asked_with_one_wave():
    """Version 0.1 asked everybody with Square Wave; such collections are still answered, for one range or several."""
    history = [asked_with(1, ("all", dc.mechanism("square-wave", 2.0), DOMAIN), people=VALUES)]
    inside = VALUES[(VALUES >= 20) & (VALUES <= 50)]
    answer = dc.RangeMean(DOMAIN, 20, 50, 2.0, "distribution").estimate(history)
    assert answer.method == "distribution/spline"
    assert answer.value == pytest.approx(inside.mean(), abs=1.5)
    several = dc.RangeMeans(DOMAIN, [(20, 50), (0, 20)], 2.0, "distribution").estimate(history)
    assert several[0].value == answer.value
    assert several.method == "distribution"


@pytest.mark.parametrize("narrowed", [False, True])
def test_a_range_mean_that_narrowed_its_range_is_refused(narrowed):
    """Collections of earlier versions with adaptive=True: a wave first, then a part of the range or all of it."""
    region = (20.0, 45.0) if narrowed else (20.0, 50.0)
    source = range_mechanism("outside-symbol", "duchi", 1.9)
    history = [
        asked_with(1, ("pilot", dc.mechanism("square-wave", 1.9), DOMAIN), people=VALUES[:4000], share=0.1),
        asked_with(2, ("all", source, RangeEncoder(DOMAIN, 20, 50, region)), people=VALUES[4000:]),
    ]
    with pytest.raises(dc.DiscreetError, match=r"adaptive=True.* no longer offered: .*ask again"):
        dc.RangeMean(DOMAIN, 20, 50, epsilon=2).estimate(history)


def test_a_variance_is_decoded_around_the_centre_that_was_sent(monkeypatch):
    plan = dc.Variance(DOMAIN, epsilon=2, method="two-round")
    m = dc.mechanism("hybrid", 1.9)
    history = [
        asked_with(1, ("number", m, DOMAIN), people=VALUES[:20_000], share=0.5),
        asked_with(2, ("square", m, SquaredDeviation(DOMAIN, float(VALUES.mean()))), people=VALUES[20_000:]),
    ]
    answer = estimated(plan, history, monkeypatch)
    assert answer.details["centre"] == VALUES.mean()
    assert abs(answer.value - VALUES.var()) < 5 * answer.details["standard_error"]


def test_a_tally_of_another_mechanism_is_refused():
    asked = Round(1, (Channel("all", dc.mechanism("duchi", 1), DOMAIN),))
    other = dc.mechanism("duchi", 0.9).tally([0, 1])
    with pytest.raises(dc.DiscreetError, match="tally must be of"):
        dc.Mean(DOMAIN, epsilon=1).estimate([Answered(asked, {"all": other})])
