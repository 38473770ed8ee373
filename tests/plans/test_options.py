"""Options are explicit: help shows them, a typo is told what was meant, and a wrong method is told the right ones."""

import inspect
import json

import pytest

import discreet as dc
from discreet.plans.registry import QUESTIONS, read_plan

WAGE = dc.Interval(0, 100)


@pytest.mark.parametrize("plan", QUESTIONS.values())
def test_no_plan_takes_any_option(plan):
    parameters = inspect.signature(plan).parameters.values()
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters)
    own = {"plan", "by"} if plan is dc.Groups else {"epsilon", "level", "method"}  # those of the plan in each group
    assert own <= {p.name for p in parameters}
    for parameter in parameters:
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.name in plan.__doc__, parameter.name


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.Mean(WAGE, 1, metod="duchi"), "Mean has no option 'metod'; did you mean 'method'"),
        (lambda: dc.Mean(WAGE, 1, colour=1), "Mean has no option 'colour'; its options are domain, epsilon"),
        (lambda: dc.Mean(WAGE, 1, method="duchi", pilot="minimax"), "it belongs to the methods aaa and np-aaa"),
        (lambda: dc.Mean(WAGE, 1, outputs=5), "auto has no option 'outputs'; it belongs to the methods .*n-output"),
        (lambda: dc.Mean(WAGE, 1, method="aaa", mechanism="duchi"), "mechanism belongs to the method auto"),
        (lambda: dc.Mean(WAGE, 1, method="aaa", rounds=1), "aaa takes 2 rounds"),
        (lambda: dc.Mean(WAGE, 1, rounds=3), "rounds must be 1 or 2, not 3"),
        (lambda: dc.Mean(WAGE, 1, mechanism="randomized-response"), "mechanism must be one of"),
        (
            lambda: dc.Frequency(dc.Categories(["a", "b"]), 1, k=1),
            "auto has no option 'k'; it belongs to the method subset",
        ),
        (lambda: dc.Distribution(WAGE, 1, cells=4), "auto has no option 'cells'; it belongs to the method binning"),
        (lambda: dc.Distribution(WAGE, 1, method="spline", ratio=0.4), "it belongs to the method general-wave"),
        (lambda: dc.Variance(WAGE, 1, "two-round", bins=4), "it belongs to the method distribution"),
        (lambda: dc.RangeMean(WAGE, 0, 50, 1, "direct", draw="zero"), "it belongs to the methods auto, privrm-i"),
        (lambda: dc.RangeMean(WAGE, 0, 50, 1, adaptive=True), "RangeMean has no option 'adaptive'"),
    ],
)
def test_wrong_options_are_told_what_would_have_been_right(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()


def test_a_mechanism_may_be_named_either_way():
    assert dc.Mean(WAGE, 1, mechanism="duchi").to_dict() == dc.Mean(WAGE, 1, method="duchi").to_dict()
    oracle = dc.Frequency(dc.Categories(["a", "b", "c"]), 1, mechanism="optimized-unary")
    assert oracle.method == oracle.mechanism == "optimized-unary"


def test_two_rounds_are_taken_only_where_allowed():
    assert dc.Mean(WAGE, 1).round([]).share == 1
    assert dc.Mean(WAGE, 1, rounds=2).method == "aaa"
    assert dc.RangeMean(WAGE, 0, 50, 1).round([]).share == 1
    assert dc.RangeMean(WAGE, 0, 50, 1, rounds=2).round([]).share == 0.1


def test_plans_are_cheap_to_make(monkeypatch):
    def closed(*arguments, **options):
        raise AssertionError("a constructor built a mechanism")

    for name in ("mean.plan.mechanism", "mean.adaptive.adaptive_additive", "frequency.best_oracle"):
        monkeypatch.setattr(f"discreet.plans.{name}", closed)
    for name in ("options.build", "frequency.build", "distribution.designs.build", "distribution.designs.best_oracle"):
        monkeypatch.setattr(f"discreet.plans.{name}", closed)
    for name in ("plan.range_mechanism", "plan.named", "several.named"):
        monkeypatch.setattr(f"discreet.plans.range_mean.{name}", closed)
    dc.Mean(WAGE, 1)
    dc.Mean(WAGE, 1, method="aaa")
    dc.Means([WAGE, WAGE], 1)
    dc.Variance(WAGE, 1, "two-round")
    dc.Frequency(dc.Categories(["a", "b", "c"]), 1)
    dc.RangeMean(WAGE, 0, 50, 1, guess=(0.5, 20))
    dc.RangeMeans(WAGE, [(0, 50)], 1)
    for method in ("auto", "hh", "binning", "spline"):
        dc.Distribution(WAGE, 1, method=method)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(
    "document",
    [
        {"question": "mean", "epsilon": 1.0, "method": "minimax", "level": 0.95},
        {"question": "mean", "epsilon": 1.0, "method": "aaa", "level": 0.95, "people": 500},
        {"question": "mean", "epsilon": 1.0, "method": "np-aaa", "level": 0.95, "decode": "average"},
        {"question": "distribution", "epsilon": 1.0, "bins": 16, "method": "spline", "level": 0.9, "wave": "piecewise"},
        {"question": "variance", "epsilon": 1.0, "method": "two-round", "level": 0.95, "mechanism": "auto"},
        {
            "question": "range-mean", "low": 0.0, "high": 50.0, "epsilon": 1.0, "method": "auto", "mechanism": None,
            "adaptive": False, "level": 0.95, "guess": None, "prior": None, "pilot": 0.1, "literal": False,
            "tailored": True,
        },
        {
            "question": "range-means", "ranges": [[0, 50]], "epsilon": 1.0, "method": "divide", "mechanism": "duchi",
            "level": 0.95, "users": 100, "prior": None,
        },
    ],
    ids=lambda document: f"{document['question']} {document['method']}",
)  # fmt: skip
def test_plans_of_version_0_1_are_read(document):
    plan = read_plan(document | {"domain": WAGE.to_dict()})
    again = read_plan(json.loads(json.dumps(plan.to_dict())))
    assert again.to_dict() == plan.to_dict()
    assert again.round([]).channels[0].mechanism == plan.round([]).channels[0].mechanism
    assert again.round([]).share == (0.1 if document["question"] == "range-mean" else plan.round([]).share)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"question": "mean", "method": "aaa", "decode": "plug-in"}, "decode='plug-in' is no longer offered: .*leave"),
        (
            {"question": "range-mean", "low": 0, "high": 50, "adaptive": True},
            "adaptive=True.* no longer offered: .*ask",
        ),
        ({"question": "range-mean", "low": 0, "high": 50, "literal": True}, "no longer offered"),
    ],
)
def test_options_that_are_no_longer_offered_are_refused_with_the_reason(options, why):
    with pytest.raises(dc.DiscreetError, match=why):
        read_plan({"domain": WAGE.to_dict(), "epsilon": 1.0} | options)
