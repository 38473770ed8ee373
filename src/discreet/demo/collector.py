"""The demo's last question, the real thing: a collector on this machine, and people who answer it over HTTP.

Everything works as in production: the collector stores the reports in a database and counts them; each person fetches
the question, computes its certificate, randomises the answer and uploads it. Only the network is missing.
"""

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.demo.run import Demo
from discreet.device.client import Collector
from discreet.domains import Categories, Interval
from discreet.extras import require
from discreet.plans.base import Plan
from discreet.plans.distribution import Distribution
from discreet.plans.frequency import Frequency
from discreet.plans.mean import Mean
from discreet.privacy.entropy import Entropy
from discreet.report import Column, Row, Section
from discreet.text import format_number, thousands

if TYPE_CHECKING:
    from discreet.service.embedded import Embedded

MOST_PEOPLE = 6000
"""More would keep the demo waiting."""
BATCH = 500
STEPS = 4
AGES = ("under 30", "30 to 44", "45 to 59", "60 and over")


def over_http(demo: Demo) -> Section:
    """Ask three questions through a collector, and show its answers beside the truth."""
    for module in ("fastapi", "sqlalchemy", "alembic", "jinja2", "uvicorn"):
        require(module, "service", "The demo's collector")
    from discreet.service.embedded import Embedded

    demo.doing("A collector: starting")
    collector = Embedded().start()
    try:
        section = _ask(demo, collector)
    except BaseException:
        collector.close()
        raise
    demo.keep(collector)
    return section


def _ask(demo: Demo, running: "Embedded") -> Section:
    people = min(MOST_PEOPLE, demo.people or MOST_PEOPLE)
    wages = np.clip(demo.data("income_cps", "wage")[-people:].astype(np.float64), 0, 200_000)
    minutes = demo.data("flights_nyc13", "dep_minute")[-people:].astype(np.float64)
    ages = np.asarray(AGES)[np.digitize(demo.data("income_cps", "age")[-people:], [30, 45, 60])]
    asked: list[tuple[str, str, Plan, Any, str]] = [
        ("Mean wage", "mean", Mean(Interval(0, 200_000), demo.epsilon), wages, "What do you earn in a year?"),
        ("Age", "share of 30 to 44", Frequency(Categories(AGES), demo.epsilon), ages, "How old are you?"),
        (
            "Departures",
            "median minute",
            Distribution(Interval(0, 1440), demo.epsilon, bins=64, method="square-wave-ems"),
            minutes,
            "At which minute of the day did you leave?",
        ),
    ]
    section = Section(
        "collector",
        "The real thing: a collector and its people",
        f"A collector was started on this machine, and {thousands(people)} people answered each of three questions "
        "over HTTP. Each fetched the question, computed its exact ε, randomised the answer and sent a packed report.",
        [
            Column("Campaign", is_number=False),
            Column("Asked for", is_number=False, on_phone=False),
            Column("Truth"),
            Column("Estimate"),
            Column("95 % interval"),
            Column("Inside", is_number=False),
        ],
    )
    answers: list[dict[str, Any]] = []
    with Collector(running.url, running.token) as admin:
        for title, what, plan, values, question in asked:
            demo.doing(f"A collector: {title.lower()}")
            campaign = admin.create(plan, title, question=question, minimum=min(100, people), people=people)
            started = time.perf_counter()
            entropy = Entropy.seeded(demo.seed_for("collector", title))
            receipt = campaign.submit(values, limit=demo.epsilon, batch=BATCH, entropy=entropy)
            seconds = time.perf_counter() - started
            truth, value, low, high = _figures(campaign.estimate()["estimate"], values)
            margin = (high - low) / 2
            holds = low <= truth <= high
            cells = (
                title,
                what,
                format_number(truth, margin),
                format_number(value, margin),
                f"{format_number(low, margin)} … {format_number(high, margin)}",
                "yes" if holds else "no",
            )
            section.rows.append(Row(cells))
            answers.append(
                {
                    "campaign": campaign.id, "link": campaign.progress()["link"],
                    "title": title, "truth": truth, "value": value, "interval": [low, high],
                    "holds_truth": holds, "counted": receipt.counted, "seconds": seconds,
                    "alarm": bool(campaign.fit()["alarm"]),
                }
            )  # fmt: skip
    counted = sum(answer["counted"] for answer in answers)
    rate = counted / max(sum(answer["seconds"] for answer in answers), 1e-9)
    section.notes = [
        f"{thousands(counted)} reports counted, each once; {thousands(rate)} per second in batches of {BATCH}, "
        "including randomising and durable storage. About one in twenty intervals is expected to miss the truth.",
        "discreet demo --stay keeps the collector open, so that you can see the dashboard and answer yourself.",
    ]
    section.facts = {"n": people, "answers": answers}
    return section


def _figures(found: dict[str, Any], values: Any) -> tuple[float, float, float, float]:
    """Return the truth, the estimate and the interval of the number that the table shows."""
    if found["question"] == "frequency":
        row = next(row for row in found["rows"] if row["label"] == AGES[1])
        return float((values == AGES[1]).mean()), row["frequency"], row["low"], row["high"]
    if found["question"] == "distribution":
        one = next(one for one in found["summary"] if one["question"] == "quantile 0.5")
        return float(np.median(values)), one["value"], one["interval"][0], one["interval"][1]
    return float(values.mean()), found["value"], found["interval"][0], found["interval"][1]
