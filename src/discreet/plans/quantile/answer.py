"""Answers of quantiles: a multiple of a step with its interval, or several such numbers."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from discreet.errors import DiscreetError
from discreet.plans.answers import NumberAnswer, SeveralAnswer, leading
from discreet.text import format_number


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantileAnswer(NumberAnswer):
    """A quantile; its interval is not symmetric, because it allows for heaps at round numbers on either side.

    Attributes
    ----------
    q : float
        Which quantile: the share of the people whose value is at most this one.
    step : float
        The unit of the answer.
    """

    q: float
    step: float

    @property
    def precision(self) -> float:
        """The margin that says how many digits are shown: none below the step."""
        decimals = max(0, -int(Decimal(repr(self.step)).normalize().as_tuple().exponent))
        return max(self.margin, 10.0 ** (1 - decimals))

    def __str__(self) -> str:
        value, low, high = (format_number(number, self.precision) for number in (self.value, *self.interval))
        return f"{value}, {low} to {high} ({self.level:.0%})"


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantilesAnswer(SeveralAnswer):
    """Several quantiles, in the order in which they were asked for; ``answer[0.5]`` is the median, if it was."""

    estimates: dict[float, NumberAnswer]
    counted: ClassVar[str] = "reports"

    def __getitem__(self, q: float) -> NumberAnswer:
        if q not in self.estimates:
            raise DiscreetError(f"q must be one of {', '.join(f'{one:g}' for one in self.estimates)}, not {q!r}")
        return self.estimates[q]

    def __len__(self) -> int:
        return len(self.estimates)

    def named(self) -> list[tuple[str, NumberAnswer]]:
        """Return each quantile with its name."""
        return [(one.question, one) for one in self.estimates.values()]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per quantile: name, value, low, high, q."""
        return [one.rows()[0] | {"q": q} for q, one in self.estimates.items()]

    def figures(self) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": self.rows()}

    def __str__(self) -> str:
        return leading([f"{q:g}: {one}" for q, one in list(self.estimates.items())[:4]], 3)
