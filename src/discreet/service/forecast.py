"""What the form for a new campaign shows: the plan it describes, and the error to expect before anyone is asked."""

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.advice import Advice, advise
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.plans.registry import read_plan
from discreet.plans.simulate import simulate
from discreet.service import charts
from discreet.service.drawings import shown
from discreet.service.group_forecast import by_group, crossed, lines
from discreet.service.survey_forecast import surveyed

TWO_ROUNDS = "in two rounds"
"""What the form calls the best method within two rounds."""
MOST_SIMULATED = 20_000
"""People in the simulation of a distribution; more would keep the form waiting."""


def sure(epsilon: float) -> float:
    """Return how sure anyone can become of one of two equally likely answers, at most."""
    return 1 / (1 + math.exp(-epsilon))


def forecast(given: dict[str, Any]) -> dict[str, Any]:
    """Return the plan that a form describes and the error to expect from it: of everybody, by group, or of a table."""
    epsilon, people = _real(given, "epsilon"), int(_real(given, "people"))
    if given.get("kind") == "cross-table":
        found = crossed(given, epsilon, people)
    elif given.get("kind") == "questionnaire":
        found = surveyed(given, epsilon, _count(people))
    else:
        found = everybody(given) if given.get("by", "none") in ("", "none") else by_group(given, everybody)
    return {"groups": None, "form": None, "sure": charts.percent(sure(epsilon), 0)} | found


def everybody(given: dict[str, Any]) -> dict[str, Any]:
    """Return the plan and the error to expect of a question that everybody is asked.

    Examples
    --------
    >>> found = everybody({"kind": "mean", "low": 0, "high": 100, "epsilon": 1, "people": 1000})
    >>> found["plan"]["question"], found["options"][0]["method"], found["margin"]
    ('mean', 'minimax', '6.4')
    """
    epsilon, people = _real(given, "epsilon"), int(_real(given, "people"))
    _count(people)
    kind, method = str(given.get("kind", "")), str(given.get("method") or "auto")
    if kind == "frequency":
        domain: Interval | Categories = Categories(lines(given.get("labels")))
    elif kind in ("mean", "distribution", "quantile"):
        domain = Interval(_real(given, "low"), _real(given, "high"))
    else:
        raise DiscreetError(f"kind must be mean, distribution, quantile or frequency, not {kind!r}")
    values: dict[str, Any] = {"question": kind, "domain": domain.to_dict(), "epsilon": epsilon}
    found = {
        "kind": kind,
        "people": people,
        "epsilon": epsilon,
        "options": [],
        "is_rehearsed": False,
        "second_round": "",
    }
    is_unknown = given.get("unknown") in ("on", True)
    learn = {"range": "learn"} if is_unknown else {}
    if kind == "distribution":
        plan = read_plan(values | {"bins": 64} | learn)
        return found | {"plan": plan.to_dict()} | _simulated(plan, people)
    if isinstance(domain, Interval) and (kind == "quantile" or is_unknown):
        if kind == "quantile":
            values |= {"q": _real(given, "q") / 100} | ({"step": _real(given, "step")} if given.get("step") else {})
            learn = {"scale": "sinh"} if is_unknown else {}
        return found | _rehearsed(values, learn, domain, people)
    ranked = advise(kind, epsilon, people, domain=domain)
    gain = ranked.second_round
    if gain is not None:
        found["second_round"] = (
            str(gain).replace("allow it with rounds=2", "choose it below") if gain.pays else str(gain)
        )
    if gain is not None and gain.pays:
        ranked = _with_second_round(ranked, gain.error_ratio)
    chosen = next((option for option in ranked if option.method == method), ranked.best)
    plan = read_plan(values | ({} if chosen is ranked.best else chosen.arguments))
    return found | {"plan": plan.to_dict()} | _ranked(ranked, chosen.method)


def _count(people: int) -> int:
    if not 1 <= people <= 1 << 40:
        raise DiscreetError(f"expected answers must be a whole number from 1, not {people}")
    return people


def _with_second_round(ranked: Advice, ratio: float) -> Advice:
    """Return the options with that of two rounds in second place: the best one stays what one round can do."""
    best = ranked.best
    two = replace(
        best, method=TWO_ROUNDS, error=ratio * best.error, margin=ratio * best.margin, rounds=2, arguments={"rounds": 2}
    )
    return replace(ranked, options=(best, two, *ranked.options[1:]))


def _real(given: dict[str, Any], name: str) -> float:
    try:
        value = float(given[name])
    except (KeyError, TypeError, ValueError):
        raise DiscreetError(f"{name} must be a number") from None
    if not math.isfinite(value):
        raise DiscreetError(f"{name} must be a finite number, not {value}")
    return value


def _ranked(ranked: Advice, chosen: str) -> dict[str, Any]:
    best = next(option for option in ranked if option.method == chosen)
    is_share = ranked.question == "frequency"
    z = NormalDist().inv_cdf(0.975)
    if is_share:
        size = len(ranked.asked["domain"]["labels"])
        without = z * math.sqrt((1 - 1 / size) / (size * ranked.people))
    else:
        first = ranked.best
        without = math.sqrt(max(first.margin**2 - (z * first.error) ** 2, 0.0))

    def say(value: float) -> str:
        return f"{100 * value:.2g}\u202fpercentage points" if is_share else charts.number(value, value)

    listed = [option for i, option in enumerate(ranked) if i < 5 or option.method == chosen]
    top = max(option.margin for option in listed)
    return {
        "margin": say(best.margin),
        "margin_value": best.margin,
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


def _rehearsed(values: dict[str, Any], learn: dict[str, Any], domain: Interval, people: int) -> dict[str, Any]:
    """Return what to expect of a quantile, or of a mean in a learnt range, from simulated people.

    They have a bell-shaped distribution over the interval; over a tenth of it, if the range is not known.
    """
    plan, part = read_plan(values | learn), 0.1 if learn else 1.0
    places = np.array([NormalDist(0.4, 0.15).inv_cdf((i + 0.5) / 400) for i in range(400)])
    start = min(max(0.0, domain.low), domain.high - part * domain.width)
    held = start + part * domain.width * np.clip(places, 0.0, 1.0)
    margins = []
    for one in (plan, read_plan(values)) if learn and plan.question == "mean" else (plan,):
        answer = simulate(one, held, seed=1, people=people)
        low, high = np.asarray(answer.interval)
        margins.append(float(high - low) / 2)
    return {
        "plan": plan.to_dict(),
        "margin": charts.number(margins[0], margins[0]),
        "margin_value": margins[0],
        "unlearnt": charts.number(margins[1], margins[1]) if len(margins) > 1 else "",
        "is_rehearsed": True,
        "is_range_unknown": bool(learn),
        "useless": False,
    }


def _simulated(plan: Any, people: int) -> dict[str, Any]:
    """Ask simulated people with a bell-shaped distribution, to show what the result could look like."""
    simulated = min(people, MOST_SIMULATED)
    bell = NormalDist(0.4, 0.15)
    places = np.array([bell.inv_cdf((i + 0.5) / simulated) for i in range(simulated)])
    part = 1.0 if plan.learnt is None else 0.1
    values = plan.domain.low + part * plan.domain.width * np.clip(places, 0.0, 1.0)
    answer = simulate(plan, values, seed=1)
    margin = answer.mean.margin
    return {
        "example": shown(answer),
        "simulated": simulated,
        "margin": charts.number(margin, margin),
        "margin_value": margin,
        "useless": False,
    }
