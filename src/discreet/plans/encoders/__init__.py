"""Encoders: what turns the value that a person holds into the input of a channel's mechanism, on the device.

Each encoder has a document, which clients in every language read. ``kind`` says which one it is:

    {"kind": "interval", "low": 0, "high": 100}                          numbers, scaled to [-1, 1]
    {"kind": "categories", "labels": ["tea", "coffee"]}                  labels, as their number 0, 1, …
    {"kind": "bucket", "interval": {"low", "high"}, "bins": 64}          numbers, as the number of their bucket
    {"kind": "squared-deviation", "interval": {"low", "high"}, "squared_deviation_from": 41.5}
    {"kind": "attribute", "attribute": 0, "interval": {"low", "high"}}   one column of a person's row, scaled to [-1, 1]
    {"kind": "range", "interval": {"low", "high"}, "range": [20, 50], "region": [20, 40], "clip": true}
    {"kind": "symbols", "size": 3}                                       numbers of symbols 0, 1, …, as they are
    {"kind": "number-or-refusal", "attribute": 1, "interval": {"low", "high"}, "refusal": true}
    {"kind": "below", "interval": {"low", "high"}, "threshold": "41.5"}  1 if the number is at most the threshold, or 0
    {"kind": "group-value", "labels": ["Ohio", "Utah"], "interval": {"low", "high"}, "levels": 2}    (label, number)
    {"kind": "signed-value", "labels": ["Ohio", "Utah"], "interval": {"low", "high"}, "row": 1}      (label, number)
    {"kind": "answers", "columns": [0, 2], "encoders": [{"kind": "categories", …}, …]}   several answers as one category

Documents of version 0.1 had the same fields without ``kind``; they are read as well.

A collector may send any encoder without harm to privacy, because a channel is *total*: whatever the value, the
mechanism gets an input that it takes, so that a report of the same length goes out. (An encoder that failed for some
values would tell them apart by silence.) It is decided before the value is read, by these rules, in Python and in
JavaScript:

1. Every encoder has an `Image`, what it can give: "numbers" from -1 to 1 (interval, squared-deviation, attribute,
   signed-value), "numbers or outside" (range), "categories" and how many (categories: its labels; bucket: its bins;
   below: 2; answers: the product of its encoders' categories), or "places", numbers from 0 to one less than how many
   (group-value: labels times levels). A channel whose image is not exactly what its mechanism takes (`accepted`) is
   refused.
2. Numbers in an encoder are finite and of magnitude 2^1000 at most. The widths of interval, range and region are at
   least 2^-1000; the largest squared distance from ``squared_deviation_from`` lies between 2^-1000 and 2^1000. ``bins``
   is a whole number from 1 to 2^31, ``attribute`` one from 0 to 2^31 - 1. A ``threshold`` is a decimal number as text,
   of at most 400 characters, without exponent and needless zeros; it is read as the nearest double. Labels are texts,
   finite numbers or booleans, at least 2 and all different (true counts as 1, false as 0). ``levels`` is a whole number
   from 2 to 64, ``row`` one from 0 to 2^12 - 1. ``columns`` are whole numbers from 0 to 2^31 - 1, as many as
   ``encoders``, at least 1; these give
   categories (not answers again), 2^24 together at most.
3. On a device, `encode_total` takes any object. A finite number outside the interval is clipped. What is no finite
   number (a text, a boolean, NaN, an infinity, a missing attribute, a row that is no list) becomes 0, the middle; for a
   bucket or a threshold it becomes category 0, and for a range outside. What is none of the labels becomes category 0.
   In a row, each entry is replaced by itself: the middle of the person's group, the first group for a known number.

`encode`, with errors that name the row, is for people who hold the data themselves: files, frames, simulations.

`base` says what an encoder is; `numbers` and `rows` hold those of one number and of a person's row, `documents` reads
their documents.
"""

from discreet.plans.encoders.base import Domain, Encoder, accepted, asked_domain, write_encoder
from discreet.plans.encoders.documents import read_domain, read_encoder
from discreet.plans.encoders.numbers import LONGEST_THRESHOLD, Below, Bucket, RangeEncoder, SquaredDeviation
from discreet.plans.encoders.rows import (
    MOST_LEVELS,
    MOST_SYMBOLS,
    Answers,
    Attribute,
    GroupValue,
    NumberOrRefusal,
    SignedValue,
    Symbols,
    column_of,
)

__all__ = [
    "LONGEST_THRESHOLD",
    "MOST_LEVELS",
    "MOST_SYMBOLS",
    "Answers",
    "Attribute",
    "Below",
    "Bucket",
    "Domain",
    "Encoder",
    "GroupValue",
    "NumberOrRefusal",
    "RangeEncoder",
    "SignedValue",
    "SquaredDeviation",
    "Symbols",
    "accepted",
    "asked_domain",
    "column_of",
    "read_domain",
    "read_encoder",
    "write_encoder",
]
