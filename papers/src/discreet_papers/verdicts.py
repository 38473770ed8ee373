"""Claims of a paper, each with what was found and a verdict: reproduced, not reproduced, or paper in error."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

HOLDS, FAILS, WRONG = "reproduced", "not reproduced", "paper in error"
VERDICTS = (HOLDS, FAILS, WRONG)

Claims = list[dict[str, str]]


def claim(
    where: str, told: str, ours: str, verdict: str | bool, reason: str = "", *, failed: str = ""
) -> dict[str, str]:
    """Return one line of the table of claims.

    Parameters
    ----------
    where, told, ours : str
        The place in the paper, what it says, what was found.
    verdict : str or bool
        True and false stand for reproduced and not reproduced.
    reason, failed : str
        What is to be said of it whatever the verdict, and what only if the claim does not hold.

    Examples
    --------
    >>> claim("Table 1", "a < b", "1 < 2", 1 < 2)["verdict"]
    'reproduced'
    """
    if isinstance(verdict, bool):
        verdict = HOLDS if verdict else FAILS
    reason = "; ".join(part for part in (reason, "" if verdict == HOLDS else failed) if part)
    return {"where": where, "claim": told, "ours": ours, "verdict": verdict, "reason": reason}


def count(claims: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return how many claims of the paper have each verdict; what is marked "(ours)" is nobody's claim but ours.

    Examples
    --------
    >>> count([claim("1", "x", "y", False), claim("2", "(ours) z", "z", True)])
    {'reproduced': 0, 'not reproduced': 1, 'paper in error': 0}
    """
    seen = Counter(one["verdict"] for one in claims if not one["claim"].startswith("(ours)"))
    return {verdict: seen[verdict] for verdict in VERDICTS}
