"""What the pages show, as plain values for the templates: campaigns, results with their charts, advice.

A view knows nothing of HTTP. Estimates come from tallies through the plan, as everywhere; below the minimum batch a
view holds the reason and no figure.
"""

import math
import threading
from statistics import NormalDist
from typing import Any

import numpy as np
from sqlalchemy.engine import RowMapping

from discreet.advice import Advice, advise
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.plans.base import Estimate
from discreet.plans.distribution.answer import DistributionEstimate
from discreet.plans.frequency import FrequencyEstimate
from discreet.plans.mean.several import MeansEstimate
from discreet.plans.registry import read_plan
from discreet.plans.simulate import simulate
from discreet.service import charts
from discreet.service.asked import Asked
from discreet.service.campaigns import Campaigns, plan_of

MOST_ROWS = 40
"""Categories shown; the rest is in the export."""
REHEARSED = 20_000
"""People in the rehearsal of a distribution; more would keep the form waiting."""
_KEPT = 64
_NAMES = {"quantile 0.5": "median"} | {
    f"quantile {q:g}": f"{100 * q:g}\u202f% are below" for q in (0.1, 0.25, 0.75, 0.9)
}


class Views:
    """The dashboard's values, computed once for each state of a campaign."""

    def __init__(self, campaigns: Campaigns) -> None:
        self.campaigns = campaigns
        self._answers: dict[tuple[bytes, int, int], dict[str, Any]] = {}
        self._lock = threading.Lock()

    def listed(self) -> list[dict[str, Any]]:
        """Return all campaigns, the newest first."""
        rows = self.campaigns.store.campaigns()
        return [self.campaigns.progress(bytes(row["id"])) for row in rows]

    def campaign(self, identifier: bytes) -> dict[str, Any]:
        """Return everything that the dashboard of one campaign shows."""
        progress = self.campaigns.progress(identifier)
        row, rounds = self.campaigns.find(identifier), self.campaigns.store.rounds(identifier)
        fit: dict[str, Any] = {"alarm": False, "channels": []} | self.campaigns.fit(identifier)
        return progress | {
            "answer": self._answer(row, rounds, progress["n"]),
            "fit": fit,
            "doubts": [one for one in fit["channels"] if one["alarm"]],
            "certificates": _certificates(rounds),
            "arrivals": _arrivals(progress["days"]),
            "rounds": [_round(one) for one in progress["rounds"]],
        }

    def _answer(self, row: RowMapping, rounds: list[RowMapping], n: int) -> dict[str, Any]:
        held = self.campaigns.withheld(row, n)
        if held is not None:
            return {"kind": "withheld", "reason": "", "n": n, "minimum": int(row["minimum"])}
        key = (bytes(row["id"]), len(rounds), n)
        with self._lock:  # one at a time: two dashboards of the same campaign wait for one computation
            if key not in self._answers:
                try:
                    found = shown(plan_of(row["plan"]).estimate(self.campaigns.history(rounds)))
                except (DiscreetError, ArithmeticError, LookupError) as error:
                    reason = str(error) if isinstance(error, DiscreetError) else "the next round has not begun"
                    found = {"kind": "withheld", "reason": reason, "n": n, "minimum": int(row["minimum"])}
                while len(self._answers) >= _KEPT:
                    self._answers.pop(next(iter(self._answers)))
                self._answers[key] = found
            return self._answers[key]


# -- results ----------------------------------------------------------------------------------------------


def shown(estimate: Any) -> dict[str, Any]:
    """Return an estimate as the dashboard shows it: a headline, charts, and the same figures as a table."""
    if isinstance(estimate, DistributionEstimate):
        found = _distribution(estimate)
    elif isinstance(estimate, FrequencyEstimate):
        found = _frequencies(estimate)
    elif isinstance(estimate, MeansEstimate):
        found = {"kind": "numbers", "numbers": [_number(name, one) for name, one in estimate.estimates.items()]}
    elif isinstance(estimate, Estimate):
        found = {"kind": "numbers", "numbers": [_number(estimate.question, estimate)]}
    else:
        found = {"kind": "other", "rows": estimate.rows() if hasattr(estimate, "rows") else []}
    return found | {
        "n": estimate.n,
        "level": charts.percent(getattr(estimate, "level", 0.95), 0),
        "method": estimate.method,
        "assumed": list(getattr(estimate, "assumed", ())),
    }


def _number(name: str, one: Estimate, scale: charts.Pair | None = None) -> dict[str, Any]:
    margin = one.margin
    low, high = one.interval
    reach = max(margin, 1e-12)
    scale = scale or (one.value - 3 * reach, one.value + 3 * reach)
    value, start, end = (charts.number(x, margin) for x in (one.value, low, high))
    return {
        "name": name,
        "value": value,
        "margin": charts.number(margin, margin),
        "low": start,
        "high": end,
        "chart": charts.span(one.value, one.interval, scale, f"{name}: {value}, from {start} to {end}"),
    }


def _distribution(estimate: DistributionEstimate) -> dict[str, Any]:
    edges, heights, low, high = (values.tolist() for values in estimate.coarse(48))
    width = estimate.domain.width
    ticks = [charts.number(estimate.domain.low + width * i / 4, width / 4) for i in range(5)]
    return {
        "kind": "distribution",
        "chart": charts.density(edges, heights, low, high),
        "ticks": ticks,
        "summary": [
            _number(_NAMES.get(one.question, one.question), one, (estimate.domain.low, estimate.domain.high))
            for one in estimate.summary()
            if one.question != "variance"
        ],
        "variance": _number("variance", estimate.variance),
        "rows": [
            {
                "from": charts.number(edges[i], width / 48),
                "to": charts.number(edges[i + 1], width / 48),
                "share": charts.percent(heights[i]),
                "low": charts.percent(low[i]),
                "high": charts.percent(high[i]),
            }
            for i in range(len(heights))
        ],
    }


def _frequencies(estimate: FrequencyEstimate) -> dict[str, Any]:
    rows = estimate.rows()
    many = len(rows) > 12
    listed = estimate.top(MOST_ROWS) if many else rows
    top = max(max(row["high"] for row in listed), 1e-9)
    return {
        "kind": "frequencies",
        "hidden": len(rows) - len(listed),
        "rows": [
            {
                "label": str(row["label"]),
                "share": charts.percent(row["frequency"]),
                "low": charts.percent(row["low"]),
                "high": charts.percent(row["high"]),
                "chart": charts.bar(
                    row["frequency"],
                    (row["low"], row["high"]),
                    top,
                    f"{row['label']}: {charts.percent(row['frequency'])}",
                ),
            }
            for row in listed
        ],
    }


def _round(one: dict[str, Any]) -> dict[str, Any]:
    part = None if one["target"] is None else min(1.0, one["n"] / one["target"])
    return one | {"part": part, "left": None if one["target"] is None else max(0, one["target"] - one["n"])}


def _certificates(rounds: list[RowMapping]) -> list[dict[str, Any]]:
    found = []
    for row in rounds:
        asked = Asked.read(row["document"])
        for key, mechanism in zip(asked.keys, asked.mechanisms, strict=True):
            certificate = mechanism.certificate
            found.append(
                {
                    "round": row["number"],
                    "channel": key,
                    "mechanism": mechanism.name,
                    "claimed": f"{certificate.claimed:g}",
                    "exact": repr(float(certificate.epsilon)),
                    "bytes": asked.width,
                    "bits": certificate.bits,
                    "times": f"{math.exp(certificate.epsilon):.3g}",
                }
            )
    return found


def _arrivals(days: list[dict[str, Any]]) -> dict[str, Any] | None:
    if len(days) < 2:
        return None
    last = days[-60:]
    return {
        "chart": charts.columns([float(one["n"]) for one in last], f"reports a day, {len(last)} days"),
        "first": last[0]["day"],
        "last": last[-1]["day"],
    }


# -- advice -----------------------------------------------------------------------------------------------


def sure(epsilon: float) -> float:
    """Return how sure one can become of one of two equally likely answers, at most."""
    return 1 / (1 + math.exp(-epsilon))


def advice(given: dict[str, Any]) -> dict[str, Any]:
    """Return the plan that a filled form describes and the error to expect of it, before anyone is asked.

    Examples
    --------
    >>> found = advice({"kind": "mean", "low": 0, "high": 100, "epsilon": 1, "users": 1000})
    >>> found["plan"]["question"], found["options"][0]["method"], found["margin"]
    ('mean', 'minimax', '6.4')
    """
    epsilon, users = _real(given, "epsilon"), int(_real(given, "users"))
    if not 1 <= users <= 1 << 40:
        raise DiscreetError(f"expected answers is {users}; allowed is a whole number from 1")
    kind, method = str(given.get("kind", "")), str(given.get("method") or "auto")
    if kind == "frequency":
        labels = [line.strip() for line in str(given.get("labels", "")).splitlines() if line.strip()]
        domain: Interval | Categories = Categories(labels)
    elif kind in ("mean", "distribution"):
        domain = Interval(_real(given, "low"), _real(given, "high"))
    else:
        raise DiscreetError(f"kind is {kind!r}; allowed are mean, distribution and frequency")
    values: dict[str, Any] = {"question": kind, "domain": domain.to_dict(), "epsilon": epsilon}
    found = {"kind": kind, "users": users, "epsilon": epsilon, "sure": charts.percent(sure(epsilon), 0), "options": []}
    if kind == "distribution":
        plan = read_plan(values | {"bins": 64})
        return found | {"plan": plan.to_dict()} | _rehearsal(plan, users)
    ranked = advise(kind, epsilon, users, domain=domain)
    chosen = next((option for option in ranked if option.method == method), ranked.best)
    plan = read_plan(values | ({} if chosen is ranked.best else {"method": chosen.method}))
    return found | {"plan": plan.to_dict()} | _ranked(ranked, chosen.method)


def _real(given: dict[str, Any], name: str) -> float:
    try:
        value = float(given[name])
    except (KeyError, TypeError, ValueError):
        raise DiscreetError(f"{name} is missing or is not a number") from None
    if not math.isfinite(value):
        raise DiscreetError(f"{name} is {value}; allowed is a finite number")
    return value


def _ranked(ranked: Advice, chosen: str) -> dict[str, Any]:
    best = next(option for option in ranked if option.method == chosen)
    is_share = ranked.question == "frequency"
    z = NormalDist().inv_cdf(0.975)
    without = math.sqrt(max(best.margin**2 - (z * best.error) ** 2, 0.0))

    def say(value: float) -> str:
        return f"{100 * value:.2g}\u202fpercentage points" if is_share else charts.number(value, value)

    listed = [option for i, option in enumerate(ranked) if i < 5 or option.method == chosen]
    top = max(option.margin for option in listed)
    return {
        "margin": say(best.margin),
        "without": say(without),
        "useless": is_share and best.margin > 0.25,
        "options": [
            {
                "method": option.method,
                "margin": say(option.margin),
                "bytes": option.report_bytes,
                "chosen": option.method == chosen,
                "chart": charts.bar(option.margin, None, top, f"{option.method}: ± {say(option.margin)}"),
            }
            for option in listed
        ],
    }


def _rehearsal(plan: Any, users: int) -> dict[str, Any]:
    """Ask made-up people, spread like a bell over the range: what the result would look like."""
    people = min(users, REHEARSED)
    spread = NormalDist(0.4, 0.15)
    places = np.array([spread.inv_cdf((i + 0.5) / people) for i in range(people)])
    values = plan.domain.low + plan.domain.width * np.clip(places, 0.0, 1.0)
    found = shown(simulate(plan, values, seed=1))
    return {"rehearsal": found, "people": people, "margin": found["summary"][0]["margin"], "useless": False}
