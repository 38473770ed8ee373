"""ReadQuantiles: several quantiles that were read off one distribution."""

from dataclasses import dataclass
from typing import Any

from discreet.errors import DiscreetError
from discreet.plans.answers import NumberAnswer, SeveralAnswer, leading


@dataclass(frozen=True, kw_only=True, repr=False)
class ReadQuantiles(SeveralAnswer):
    """Several quantiles of a distribution, in the order in which they were asked for; ``answer[0.5]`` is the median."""

    estimates: dict[float, NumberAnswer]

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
        return leading([f"{q:g}: {one}" for q, one in self.estimates.items()], 3)
