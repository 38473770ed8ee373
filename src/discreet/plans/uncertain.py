"""Uncertain: the intervals of an answer, and what changes them: another level, more looks, liars.

An answer keeps what computes its intervals, a function of the level. So another level, intervals that hold together
and intervals that hold while they are watched are computed again, never scaled.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from discreet.errors import DiscreetError
from discreet.estimation.watched import widened_level
from discreet.text import thousands

EACH_ALONE = "each interval holds for its own category, not for all of them together"
ONE_LOOK = "intervals hold for one look, at the end: whoever looks again and again will see some that miss"
WATCHED = "intervals hold however often you look while reports come in"
WATCHED_IF_MANY = f"{WATCHED}, if there are many reports"


@dataclass(frozen=True, kw_only=True)
class Uncertain:
    """What an answer knows of its intervals; `Answer` describes the fields."""

    question: str
    level: float
    n: int
    assumed: tuple[str, ...] = ()
    interval_kind: Literal["fixed", "watched"] = "fixed"
    family: int = 1
    ends: Callable[[float], Any] | None = field(default=None, compare=False)
    worth: tuple[float, float] | None = None

    interval_field: ClassVar[str] = "interval"
    """The field that holds what ``ends`` gives."""

    def at(self, level: float) -> Self:
        """Return the same answer with intervals of another level.

        Examples
        --------
        >>> import discreet as dc
        >>> answer = dc.simulate(dc.Mean(dc.Interval(0, 10), epsilon=1, method="duchi"), [4.0] * 1000, seed=3)
        >>> answer, answer.at(0.5)
        (<mean: 3.57 ± 0.67 (95%); ...>, <mean: 3.57 ± 0.23 (50%); ...>)
        """
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise DiscreetError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
        return self._recomputed(level=float(level))

    def watched(self, ends: Callable[[float], Any], people: int, assumed: str = WATCHED) -> Self:
        """Return the answer with intervals that hold while it is watched.

        Parameters
        ----------
        ends : callable
            Gives them for a level.
        people : int
            How many people they were planned for.
        assumed : str
            The sentence that says what they are.
        """
        said = f"{assumed}; they are narrowest at the {thousands(people)} people planned for"
        return self._recomputed(ends=ends, interval_kind="watched", assumed=(*self.assumed, said))

    def widened(self, people: int, time: float | None = None) -> Self:
        """Return the answer for somebody who looks more than once, where no exact form is known.

        Its intervals are widened by `discreet.estimation.watched.factor`, which is right in large samples, at a
        ``time`` of n / people unless given. If they cannot be computed again, they stay as they are, and ``assumed``
        says that they hold for one look.
        """
        if self.ends is None:
            return replace(self, assumed=(*self.assumed, ONE_LOOK))
        time = self.n / people if time is None else time
        return self.watched(partial(_watched_ends, self.ends, time), people, WATCHED_IF_MANY)

    def if_liars(self, share: float) -> Self:
        """Return the same answer with intervals that hold even if up to this share of the reports are lies.

        They are for the honest people, and hold whatever the liars send, even if they know everything and agree.

        Examples
        --------
        >>> import discreet as dc
        >>> answer = dc.simulate(dc.Mean(dc.Interval(0, 10), epsilon=1, method="duchi"), [4.0] * 100_000, seed=3)
        >>> answer, answer.if_liars(0.01)
        (<mean: 3.979 ± 0.067 (95%); ...>, <mean: 3.98, 3.79 to 4.15 (95%); ...>)
        """
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
            raise DiscreetError(f"share must be a number from 0 to below 1, such as 0.01, not {share!r}")
        if self.worth is None or self.ends is None or self.interval_kind != "fixed":
            raise DiscreetError("what liars can do is known for one look at a mean or at frequencies in one round")
        said = f"at most {share:.2%} of the reports are lies; the interval is for the honest people"
        return self._recomputed(
            ends=partial(_honest_ends, self.ends, share, self.worth), worth=None, assumed=(*self.assumed, said)
        )

    def _recomputed(self, **changes: Any) -> Self:
        """Return the answer with other fields, and the intervals that follow from them."""
        changed = replace(self, **changes)
        if changed.ends is None:
            raise DiscreetError(f"the intervals of this {self.question} are known at the level {self.level:g} only")
        each = 1 - (1 - changed.level) / changed.family  # Bonferroni
        return replace(changed, **{self.interval_field: changed.ends(each)})


def together(count: int) -> str:
    """Say that the intervals of an answer hold all together."""
    return f"the level is that of all {thousands(count)} intervals together: alone, each would be narrower (Bonferroni)"


def _watched_ends(ends: Callable[[float], Any], time: float, level: float) -> Any:
    return ends(widened_level(level, time))


def _honest_ends(ends: Callable[[float], Any], share: float, worth: tuple[float, float], level: float) -> Any:
    """Return the interval of the honest people's average: the liars' average may be anything that a report is worth.

    The honest reports spread no more than all of them, so that nothing else is needed.
    """
    low, high = np.asarray(ends(level), dtype=np.float64).T
    honest = np.stack([low - share * worth[1], high - share * worth[0]], axis=-1) / (1 - share)
    return (float(honest[0]), float(honest[1])) if honest.ndim == 1 else np.clip(honest, 0.0, 1.0)
