"""The demo from its first question to its last.

To add a question, write a function that takes the `Demo` and returns a `Section`, and name it in `QUESTIONS`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from discreet.demo.collector import STEPS, over_http
from discreet.demo.means import exact_limits, mean_departure, mean_wage, what_leaves
from discreet.demo.run import Demo
from discreet.demo.shapes import carriers, middle_wages, wage_distribution
from discreet.errors import MissingExtra
from discreet.mechanisms.comparison import mean_mechanisms
from discreet.report import Section

__all__ = ["Demo", "QUESTIONS", "Question", "run"]

Progress = Callable[[str, int, int], None]
"""Called with the name of the current step, the number of steps done, and the number of steps in all."""


@dataclass(frozen=True)
class Question:
    """A question of the demo.

    Attributes
    ----------
    ask : callable
        Takes the demo, returns the section.
    steps : callable
        How many times ``ask`` calls `Demo.doing`.
    """

    ask: Callable[[Demo], Section]
    steps: Callable[[], int] = lambda: 1


def _mean_steps() -> int:
    return len(mean_mechanisms())


QUESTIONS: tuple[Question, ...] = (
    Question(wage_distribution),
    Question(middle_wages),
    Question(carriers),
    Question(over_http, lambda: STEPS),
    Question(what_leaves),
    Question(mean_wage, _mean_steps),
    Question(mean_departure, _mean_steps),
    Question(exact_limits, lambda: 2),
)
"""The questions of the demo, in order: answers first, then how it works, the comparison of the methods last."""


def run(demo: Demo, progress: Progress = lambda text, done, total: None) -> list[Section]:
    """Ask every question; one whose optional dependency is not installed is left out, and `Demo.left_out` says why."""
    started = time.perf_counter()
    total = sum(question.steps() for question in QUESTIONS)
    done = 0

    def step(text: str) -> None:
        nonlocal done
        progress(text, done, total)
        done += 1

    demo.on_step, demo.sections, demo.left_out = step, [], []
    for question in QUESTIONS:
        try:
            demo.sections.append(question.ask(demo))
        except MissingExtra as error:
            demo.left_out.append(str(error))
    progress("Done", total, total)
    demo.seconds = time.perf_counter() - started
    return demo.sections
