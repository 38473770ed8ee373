"""Progress bars on stderr, shown only where a person watches a terminal."""

import time
from collections.abc import Callable
from typing import Any

from discreet.cli.common import console


class Rows:
    """A bar for work on the rows of a file, fed with the rows done and the rows in all."""

    def __init__(self, title: str) -> None:
        self._title = title

    def __enter__(self) -> Callable[[int, int | None], None]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("rows"),
            TimeElapsedColumn(),
        )
        shown = console(stderr=True)
        self._bar = Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal)
        self._bar.start()
        task = self._bar.add_task(self._title, total=None)
        return lambda done, total: self._bar.update(task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


class Waiting:
    """A bar that appears when something takes longer than two seconds, fed with the fraction done."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None

    def __enter__(self) -> Callable[[float], None]:
        self._started = time.perf_counter()
        return self._tell

    def _tell(self, done: float) -> None:
        shown = console(stderr=True)
        if not shown.is_terminal or time.perf_counter() - self._started < 2:
            return
        if self._bar is None:
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=shown, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=1.0)
        self._bar.update(self._task, completed=done)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
