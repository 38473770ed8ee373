"""A collection: questions to the columns of a table, and how one budget covers them.

Two pure functions do everything, on any engine that moves Arrow record batches: `Stage.map_batch` turns a batch of
values into a batch of reports, `Reports.tally_batch` counts a batch of reports, and `merge` adds the counts. A stage is
one round of every question that still has one; most plans have a single round.

With several questions the budget is *split* (everybody answers every question; their epsilons add up) or *sampled*
(everybody answers one question, drawn at random, with the whole epsilon: usually better from three questions on).

Columns of reports are unsigned integers, or packed bytes where a report is a bit vector. A null means: not asked.
Whether somebody has a value at all is not hidden; give missing values a category of their own if it should be.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.drivers.tables.values import columns_of
from discreet.errors import DiscreetError
from discreet.plans.base import Plan
from discreet.plans.encoders import Domain
from discreet.plans.registry import QUESTIONS
from discreet.privacy.ledger import rational, shown, total
from discreet.tallies import Tally
from discreet.text import listed

if TYPE_CHECKING:
    from discreet.drivers.tables.reports import Reports
    from discreet.drivers.tables.stage import Stage

BUDGETS = ("split", "sample")
MANY = 1 << 30
"""More people than any plan needs; one that would ask so many as it asks any number need not know the number."""
Budget = Fraction | float | str | None
"""The most that a person may spend in all; None: what the only question costs."""


class Collection:
    """Questions to columns, within one budget.

    Parameters
    ----------
    questions : mapping
        A plan for each question. A question reads the column of its name; a plan of several numbers (`Means`) reads the
        columns that its ``names`` say, under any name of its own.
    budget : str
        "split" (everybody answers everything, the plans' epsilons add up) or "sample" (everybody answers one
        question at random, and spends its epsilon).
    epsilon : number or fraction, optional
        The most that a person may spend in all; needed to ask several questions, so that nobody adds up by accident.

    Examples
    --------
    >>> import discreet as dc
    >>> wage, age = dc.Interval(0, 500_000), dc.Interval(0, 120)
    >>> questions = {"wage": dc.Mean(wage, epsilon=1, method="duchi"), "age": dc.Mean(age, epsilon=1, method="duchi")}
    >>> Collection(questions, budget="sample", epsilon=1)
    <collection: mean of wage, mean of age; each person answers 1 of 2, epsilon 1 in all>
    >>> Collection(questions, budget="split", epsilon=1)
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: questions cost epsilon 2 together; the budget is 1 (split it, or use budget='sample')
    """

    def __init__(self, questions: Mapping[str, Plan], budget: str = "split", epsilon: Budget = None) -> None:
        if not isinstance(questions, Mapping) or not questions:
            raise DiscreetError("questions must be a mapping with a plan for each column, and not empty")
        if budget not in BUDGETS:
            raise DiscreetError(f"budget must be {listed(BUDGETS)}, not {budget!r}")
        self.columns: dict[str, Domain] = {}
        for name, plan in questions.items():
            self._check(name, plan)
            for column, domain in columns_of(name, plan).items():
                if type(self.columns.setdefault(column, domain)) is not type(domain):
                    raise DiscreetError(f"column {column!r} is asked both as a number and as a category")
        self.questions = dict(questions)
        self.budget = budget
        costs = [rational(plan.epsilon) for plan in self.questions.values()]
        self.epsilon = max(costs) if budget == "sample" else total(*costs)
        if epsilon is None and len(self.questions) > 1:
            raise DiscreetError(
                f"{len(self.questions)} questions need a budget: give epsilon={shown(self.epsilon)}, "
                "what one person spends in all"
            )
        if epsilon is not None and self.epsilon > rational(epsilon):
            raise DiscreetError(
                f"questions cost epsilon {shown(self.epsilon)} together; the budget is {shown(rational(epsilon))} "
                "(split it, or use budget='sample')"
            )

    @staticmethod
    def _check(name: str, plan: Plan) -> None:
        if not isinstance(name, str) or not name:
            raise DiscreetError(f"a question must have the name of a column, not {name!r}")
        if not isinstance(plan, Plan):
            raise DiscreetError(f"the question {name!r} must be a plan such as Mean(…), not {plan!r}")
        if plan.question not in QUESTIONS:
            raise DiscreetError(
                f"the question {name!r} is {plan.question}, which cannot be read back from a file; "
                f"it must be {listed(sorted(QUESTIONS))}"
            )

    def __repr__(self) -> str:
        asked = ", ".join(f"{plan.question} of {name}" for name, plan in self.questions.items())
        several = len(self.questions) > 1 and self.budget == "sample"
        how = f"; each person answers 1 of {len(self.questions)}" if several else ""
        return f"<collection: {asked}{how}, epsilon {shown(self.epsilon)} in all>"

    @property
    def divides(self) -> bool:
        """Whether some plan divides people into rounds by how many there are."""
        return any(plan.expecting(MANY).to_dict() != plan.to_dict() for plan in self.questions.values())

    def expecting(self, people: int) -> "Collection":
        """Return the collection for this many people, as a simulation or a campaign of the same plans would ask them.

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Mean(dc.Interval(0, 100), epsilon=2, rounds=2)
        >>> asked = Collection({"age": plan}).expecting(10_000).questions["age"].round([])
        >>> asked.share == plan.expecting(10_000).round([]).share
        True
        """
        each = people // len(self.questions) if self.budget == "sample" else people
        questions = {name: plan.expecting(max(each, 1)) for name, plan in self.questions.items()}
        return Collection(questions, self.budget, self.epsilon)

    def stage(self, previous: "Reports | None" = None, tallies: Mapping[str, Tally] | None = None) -> "Stage | None":
        """Return the next stage, or None when every question has had its rounds."""
        from discreet.drivers.tables.reports import Reports
        from discreet.drivers.tables.stage import Stage

        past = previous or Reports(self)
        histories = past.histories(tallies or {})
        rounds = {name: plan.round(histories[name]) for name, plan in self.questions.items()}
        alive = {name: asked for name, asked in rounds.items() if asked is not None}
        return Stage(self, alive, past) if alive else None
