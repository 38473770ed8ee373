"""Dropout: do people leave when they see some of the questions? Then no epsilon mends the bias.

A report's id decides its block before anyone sees a question, so without dropout the reports of every block are a fair
sample of those who began. Where the collector knows how many ids it gave for each block (handed out, or invited), the
test compares the parts of them that came back: under equal dropout

    sum over blocks of (reports - r handed)^2 / (r (1 - r) handed),    r = all reports / all handed

is chi-square with (blocks - 1) degrees of freedom. Where devices draw their own ids it compares the reports with the
blocks' shares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.estimation.tails import Alarm, chi_square_tail

SIGNIFICANCE = 1e-4
"""An alarm is raised below this p-value: small, because a dashboard looks at it every day."""
FEWEST = 5.0
"""Blocks of which fewer reports, or fewer people who left, are expected make the test unreliable."""


@dataclass(frozen=True)
class Dropout(Alarm):
    """How many of the people of each block answered; an alarm if some blocks are left more often than others.

    Attributes
    ----------
    blocks : list of dict
        For each: its key, the reports, the ids that were handed out (None if devices draw them), the reports that were
        to be expected if people left all blocks alike, and the share that came back (None if it is not known).
    """

    blocks: list[dict[str, Any]]

    significance: ClassVar[float] = SIGNIFICANCE


def dropout(
    keys: Sequence[str], reports: Sequence[int], shares: Sequence[float], handed: Sequence[int] | None = None
) -> Dropout:
    """Test whether people leave some blocks more often than others.

    Parameters
    ----------
    keys : sequence of str
        Names of the blocks.
    reports : sequence of int
        How many reports of each block came.
    shares : sequence of float
        The blocks' parts of the people.
    handed : sequence of int, optional
        How many ids of each block were handed out; not known where devices draw their own.

    Examples
    --------
    >>> found = dropout(["mood", "income"], [950, 700], [0.5, 0.5], [1000, 1000])
    >>> found.alarm, [block["answered"] for block in found.blocks]
    (True, [0.95, 0.7])
    >>> dropout(["mood", "income"], [505, 495], [0.5, 0.5]).alarm
    False
    """
    total = sum(reports)
    if handed is None:
        weights, whole, spread = [share / math.fsum(shares) for share in shares], total, 1.0
    else:
        # A crash may lose the count of the last ids that were handed out, never a report.
        handed = [max(given, came) for given, came in zip(handed, reports, strict=True)]
        whole = sum(handed)
        weights = [given / whole if whole else 0.0 for given in handed]
        spread = 1.0 - total / whole if whole else 0.0
    expected = [total * weight for weight in weights]
    blocks = [
        {
            "channel": key,
            "reports": came,
            "handed": None if handed is None else handed[i],
            "expected": expected[i],
            "answered": came / handed[i] if handed is not None and handed[i] else None,
        }
        for i, (key, came) in enumerate(zip(keys, reports, strict=True))
    ]
    if len(keys) < 2:
        return Dropout(blocks, p_value=None, reason="everyone is asked the same")
    if min(expected) < FEWEST:
        return Dropout(blocks, p_value=None, reason="too few reports")
    if handed is not None and min(given - mean for given, mean in zip(handed, expected, strict=True)) < FEWEST:
        return Dropout(blocks, p_value=None, reason="hardly anyone has left")
    statistic = math.fsum((came - mean) ** 2 / (mean * spread) for came, mean in zip(reports, expected, strict=True))
    return Dropout(blocks, p_value=chi_square_tail(statistic, len(keys) - 1))
