"""Questions of the demo beyond the mean: a whole distribution, frequencies, and the mean within a range."""

import numpy as np

import discreet
from discreet import plots
from discreet.demo.means import WAGE, holds
from discreet.demo.run import Demo
from discreet.plans.answers import NumberAnswer
from discreet.report import Column, Row, Section
from discreet.text import format_number, thousands

AIRLINES = {
    "9E": "Endeavor Air",
    "AA": "American Airlines",
    "AS": "Alaska Airlines",
    "B6": "JetBlue Airways",
    "DL": "Delta Air Lines",
    "EV": "ExpressJet Airlines",
    "F9": "Frontier Airlines",
    "FL": "AirTran Airways",
    "HA": "Hawaiian Airlines",
    "MQ": "Envoy Air",
    "OO": "SkyWest Airlines",
    "UA": "United Air Lines",
    "US": "US Airways",
    "VX": "Virgin America",
    "WN": "Southwest Airlines",
    "YV": "Mesa Airlines",
}
"""The airlines of the flights, by their codes."""


def answer_columns(what: str) -> list[Column]:
    """Return the columns of a table with one answer per row, beside the truth."""
    titles = ("Truth", "Estimate", "95 % interval")
    return [Column(what, is_number=False), *map(Column, titles), Column("Truth inside", is_number=False)]


QUANTILES = {"median": 0.5, "three in four earn up to": 0.75, "nine in ten earn up to": 0.9}


def wage_distribution(demo: Demo) -> Section:
    """Estimate the whole distribution of wages from one report per person, and read numbers off it."""
    demo.doing("Distribution of wages")
    wages = np.clip(demo.data("income_cps", "wage").astype(np.float64), WAGE.low, WAGE.high)
    plan = discreet.Distribution(WAGE, epsilon=demo.epsilon, bins=256)
    answer = discreet.simulate(plan, wages, seed=demo.seed_for("distribution", "wage"))
    section = Section(
        "distribution",
        "Distribution of wages",
        f"{thousands(len(wages))} people, one private report each, for everything that can be read off the "
        "distribution of their wages.",
        answer_columns("Number"),
    )
    inside = (wages >= 50_000) & (wages <= 100_000)
    read: list[tuple[str, float, NumberAnswer]] = [
        ("mean", float(wages.mean()), answer.mean),
        *((name, float(np.quantile(wages, q)), answer.quantile(q)) for name, q in QUANTILES.items()),
        ("share of 50 000 … 100 000", float(inside.mean()), answer.range(50_000, 100_000)),
    ]
    if inside.any():
        read.append(("their mean", float(wages[inside].mean()), answer.range_mean(50_000, 100_000)))
    for name, truth, number in read:
        section.rows.append(_row(name, truth, number))
    section.notes.append("More than a third of the wages are zero: a spike in the first of 256 buckets.")
    section.notes.append("The reports themselves do not show any one wage; the picture is computed from their counts.")
    section.facts = {
        "n": len(wages),
        "method": answer.method,
        "numbers": [number.to_dict() | {"truth": truth} for _, truth, number in read],
    }
    caption = "Distribution of wages: estimate with the 95 % interval of each bar, beside the truth."
    demo.picture(
        section,
        caption,
        lambda: plots.distribution(answer, wages, what="yearly wage (US dollars)", cells=128, upto=200_000),
    )
    return section


def carriers(demo: Demo) -> Section:
    """Estimate each airline's share of the flights, by the best mechanism for it."""
    demo.doing("Frequencies of carriers")
    codes = demo.data("flights_nyc13", "carrier_code")
    airlines = [AIRLINES.get(str(code), str(code)) for code in demo.names("flights_nyc13", "carrier_names")]
    plan = discreet.Frequency(airlines, epsilon=demo.epsilon)
    answer = discreet.simulate(plan, np.asarray(airlines)[codes], seed=demo.seed_for("frequency", "carrier"))
    truth = dict(zip(airlines, (np.bincount(codes, minlength=len(airlines)) / len(codes)).tolist(), strict=True))
    section = Section(
        "frequency",
        "Airlines",
        f"The airline of each of {thousands(len(codes))} flights, one private report each. The six most frequent.",
        answer_columns("Airline"),
    )
    for row in answer.top(6):
        true = truth[row["label"]]
        held = "yes" if row["low"] <= true <= row["high"] else "no"
        cells = (f"{true:.2%}", f"{row['frequency']:.2%}", f"{row['low']:.2%} … {row['high']:.2%}")
        section.rows.append(Row((row["label"], *cells, held)))
    section.notes.append(f"Method: {plan.reason}.")
    section.facts = answer.to_dict() | {"truth": list(truth.values())}
    caption = "Share of each airline: estimate with its 95 % interval, and the truth."
    demo.picture(section, caption, lambda: plots.frequencies(answer, truth=truth))
    return section


def middle_wages(demo: Demo) -> Section:
    """Estimate the mean of those inside a range, without learning who they are."""
    demo.doing("Mean wage within a range")
    wages = demo.data("income_cps", "wage").astype(np.float64)
    inside = (wages >= 50_000) & (wages <= 100_000)
    section = Section(
        "range-mean",
        "The mean of those between 50 000 and 100 000",
        "Nobody says whether they are inside: people outside the range send a report too, and it looks the same.",
        answer_columns("Number"),
    )
    if not inside.any():
        section.notes.append("Nobody in this sample earns between 50 000 and 100 000.")
        return section
    plan = discreet.RangeMean(WAGE, 50_000, 100_000, epsilon=demo.epsilon, method="outside-symbol")
    answer = discreet.simulate(plan, wages, seed=demo.seed_for("range-mean", "wage"))
    truth = float(wages[inside].mean())
    section.rows.append(_row("their mean wage", truth, answer))
    section.facts = answer.to_dict() | {"truth": truth}
    return section


def _row(name: str, truth: float, answer: NumberAnswer) -> Row:
    numbers = (truth, answer.value, *answer.interval)
    true, value, low, high = (format_number(number, answer.margin) for number in numbers)
    return Row((name, true, value, f"{low} … {high}", "yes" if holds(answer, truth) else "no"))
