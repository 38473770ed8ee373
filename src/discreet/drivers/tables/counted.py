"""What was seen while privatising: rows, missing and clipped values."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Counted:
    """What was seen while privatising, by question. Keep these counts to yourself: they are exact."""

    rows: int = 0
    written: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    clipped_low: dict[str, int] = field(default_factory=dict)
    clipped_high: dict[str, int] = field(default_factory=dict)
    reports: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counted") -> "Counted":
        def add(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
            return a | {key: a.get(key, 0) + value for key, value in b.items()}

        return Counted(
            self.rows + other.rows,
            self.written + other.written,
            add(self.missing, other.missing),
            add(self.clipped_low, other.clipped_low),
            add(self.clipped_high, other.clipped_high),
            add(self.reports, other.reports),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "rows": self.rows,
            "written": self.written,
            "columns": {
                question: {
                    "reports": count,
                    "missing": self.missing.get(question, 0),
                    "clipped_low": self.clipped_low.get(question, 0),
                    "clipped_high": self.clipped_high.get(question, 0),
                }
                for question, count in self.reports.items()
            },
        }
