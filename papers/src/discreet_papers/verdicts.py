"""Claims of a paper, each with our finding and a verdict.

*reproduced*, *not reproduced*, *paper in error*; and *not comparable*, if a claim about the paper's data does not hold
on the data that stand in for them here.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

HOLDS, FAILS, OTHER, WRONG = "reproduced", "not reproduced", "not comparable", "paper in error"
VERDICTS = (HOLDS, FAILS, OTHER, WRONG)

Claims = list[dict[str, str]]


def claim(
    where: str, told: str, ours: str, verdict: str | bool, reason: str = "", *, failed: str = ""
) -> dict[str, str]:
    """Return one row of the table of claims.

    Parameters
    ----------
    where, told, ours : str
        The place in the paper, what it says, and what we found.
    verdict : str or bool
        True means reproduced, false means not reproduced.
    reason, failed : str
        A remark for any verdict, and one that is added only if the claim does not hold.

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
    """Count the paper's claims by verdict; claims marked "(ours)" are our own and do not count.

    Examples
    --------
    >>> count([claim("1", "x", "y", False), claim("2", "(ours) z", "z", True)])
    {'reproduced': 0, 'not reproduced': 1, 'not comparable': 0, 'paper in error': 0}
    """
    seen = Counter(one["verdict"] for one in claims if not one["claim"].startswith("(ours)"))
    return {verdict: seen[verdict] for verdict in VERDICTS}


def on_stand_ins(claims: Claims) -> Claims:
    """Return claims that were tried on other data than the paper's: one that fails says nothing against the paper.

    Examples
    --------
    >>> [one["verdict"] for one in on_stand_ins([claim("1", "x", "y", False), claim("2", "x", "y", True)])]
    ['not comparable', 'reproduced']
    """
    return [
        one | {"verdict": OTHER} if one["verdict"] == FAILS and not one["claim"].startswith("(ours)") else one
        for one in claims
    ]
