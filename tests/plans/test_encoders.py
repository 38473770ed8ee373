"""Documents of encoders: with a kind, as version 0.1 wrote them, and those that are refused."""

import json

import pytest

import discreet as dc
from discreet.plans.encoders import (
    Attribute,
    Below,
    Bucket,
    RangeEncoder,
    SquaredDeviation,
    read_encoder,
    write_encoder,
)

WAGE = dc.Interval(0, 100)
ENCODERS = {
    "interval": WAGE,
    "categories": dc.Categories(["tea", "coffee"]),
    "bucket": Bucket(WAGE, 16),
    "squared-deviation": SquaredDeviation(WAGE, 41.5),
    "attribute": Attribute(2, WAGE),
    "below": Below(WAGE, "41.5"),
    "range": RangeEncoder(WAGE, 20.0, 50.0, (20.0, 40.0), clip=False),
}


@pytest.mark.parametrize("kind", ENCODERS)
def test_documents_survive_json_with_and_without_a_kind(kind):
    document = json.loads(json.dumps(write_encoder(ENCODERS[kind])))
    assert document["kind"] == kind
    assert read_encoder(document) == ENCODERS[kind]
    first = {name: value for name, value in document.items() if name != "kind"}
    assert read_encoder(first) == ENCODERS[kind]  # as version 0.1 wrote it


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "must be an object"),
        ({}, "must have a kind"),
        ({"kind": "magic"}, "must be one of interval, categories"),
        ({"kind": ["interval"]}, "must be one of interval, categories"),
        ({"kind": "interval", "low": 0}, "must have the fields"),
        ({"kind": "interval", "labels": ["a", "b"]}, "must have the fields"),
        ({"kind": "bucket", "interval": {"low": 0, "high": 1}, "bins": 2.5}, "bins must be a whole number"),
        ({"kind": "bucket", "interval": {"low": 0, "high": 1}, "bins": 0}, "bins must be a whole number"),
        ({"kind": "bucket", "interval": {"labels": ["a", "b"]}, "bins": 2}, "low and high"),
        ({"kind": "attribute", "attribute": -1, "interval": {"low": 0, "high": 1}}, "attribute must be a whole"),
        ({"kind": "below", "interval": {"low": 0, "high": 1}, "threshold": 0.5}, "threshold must be a decimal number"),
        ({"kind": "below", "interval": {"low": 0, "high": 1}, "threshold": "5e-1"}, "threshold must be a decimal"),
        (
            {"kind": "squared-deviation", "interval": {"low": 0, "high": 1}, "squared_deviation_from": "x"},
            "must be a finite number",
        ),
        (
            {"kind": "range", "interval": {"low": 0, "high": 1}, "range": [0, 1], "region": [1, 0], "clip": True},
            "region must go up",
        ),
        (
            {"kind": "range", "interval": {"low": 0, "high": 1}, "range": [0], "region": [0, 1], "clip": True},
            "cannot be read",
        ),
        (
            {"kind": "range", "interval": {"low": 0, "high": 1}, "range": [0, 1], "region": [0, 1], "clip": 1},
            "clip must be true or false",
        ),
    ],
)
def test_bad_documents_are_refused_with_a_sentence(document, why):
    with pytest.raises(dc.DiscreetError, match=why):
        read_encoder(document)
