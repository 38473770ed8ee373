"""Questions by name, and plans read from JSON-ready values (campaigns, plan files)."""

from typing import Any

from discreet.errors import DiscreetError
from discreet.plans.base import Plan
from discreet.plans.cross_table import CrossTable
from discreet.plans.distribution import Distribution
from discreet.plans.encoders import read_domain
from discreet.plans.frequency import Frequency
from discreet.plans.groups import Groups
from discreet.plans.mean import Mean
from discreet.plans.mean.several import Means
from discreet.plans.quantile import Quantile, Quantiles
from discreet.plans.questionnaire import Questionnaire
from discreet.plans.questionnaire.questions import read_question
from discreet.plans.range_mean import RangeMean
from discreet.plans.range_mean.answering import NARROWED
from discreet.plans.range_mean.several import RangeMeans
from discreet.plans.variance import Variance

QUESTIONS: dict[str, type[Plan]] = {
    "mean": Mean,
    "frequency": Frequency,
    "means": Means,
    "distribution": Distribution,
    "variance": Variance,
    "quantile": Quantile,
    "quantiles": Quantiles,
    "range-mean": RangeMean,
    "range-means": RangeMeans,
    "groups": Groups,
    "questionnaire": Questionnaire,
    "cross-table": CrossTable,
}


RENAMED = {
    "distribution": {"wave": "mechanism"},
    "variance": {"wave": "mechanism"},
    "range-means": {"users": "people"},
}
"""Options of version 0.1 that have another name now."""
PLUG_IN = (
    "decode='plug-in' is no longer offered: with bounds much wider than the values its interval missed the truth; "
    "leave decode out, and the reports are averaged without bias"
)
RETIRED: dict[str, dict[str, tuple[Any, str]]] = {
    "mean": {"decode": ("average", PLUG_IN)},
    "means": {"decode": ("average", PLUG_IN)},
    "range-mean": {"adaptive": (False, NARROWED), "literal": (False, NARROWED)},
}
"""Options that are no longer offered: the value that changes nothing, and why any other is refused."""


def read_plan(values: Any) -> Plan:
    """Build the plan that `Plan.to_dict` wrote.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Mean(dc.Interval(0, 10), epsilon=1, method="duchi")
    >>> read_plan(plan.to_dict())
    <plan: mean by duchi, epsilon 1>
    """
    if not isinstance(values, dict) or values.get("question") not in QUESTIONS:
        named = values.get("question") if isinstance(values, dict) else values
        raise DiscreetError(f"question must be one of {', '.join(sorted(QUESTIONS))}, not {named!r}")
    renamed = RENAMED.get(values["question"], {})
    arguments = {renamed.get(str(key), str(key)): value for key, value in values.items() if key != "question"}
    for key, (harmless, reason) in RETIRED.get(values["question"], {}).items():
        if arguments.pop(key, harmless) != harmless:
            raise DiscreetError(reason)
    for key, value in arguments.items():
        if key in ("domain", "first", "second") or (
            key == "by" and isinstance(value, dict)
        ):  # the variance's ``by`` is a method
            arguments[key] = read_domain(value)
        elif key == "plan":
            arguments[key] = read_plan(value)
        elif key == "domains":
            arguments[key] = [read_domain(item) for item in value]
        elif key == "questions":
            arguments[key] = [read_question(item) for item in value]
    try:
        return QUESTIONS[values["question"]](**arguments)
    except TypeError as error:
        raise DiscreetError(f"a plan for {values['question']!r} cannot be made of these fields: {error}") from None
