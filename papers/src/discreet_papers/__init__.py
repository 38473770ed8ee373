"""The papers' tables and figures again, honestly: one module a paper, driven by `discreet reproduce`.

A study is a module with three functions: `run(job)` returns JSON-ready results with verdicts, `plots(result)` the
figures, `page(result, images)` the page of the documentation, which quotes nothing that is not in the results. Verdicts
are *reproduced*, *not reproduced* and *paper in error*, each with its reason (`verdicts.claim`). `frame.page` gives all
pages one order, `Job.head` all results one beginning.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet_papers.job import Job

__all__ = ["STUDIES", "Study", "study"]


@dataclass(frozen=True)
class Study:
    """One paper.

    Attributes
    ----------
    name : str
        On the command line.
    result, page_file : str
        File names of the results (beside its plots) and of the page.
    """

    name: str
    title: str
    package: str
    page_file: str

    @property
    def result(self) -> str:
        return f"{self.name.replace('-', '_')}.json"

    @property
    def run(self) -> "Callable[[Job], dict[str, Any]]":
        """Function that returns the results."""
        found: Callable[[Job], dict[str, Any]] = import_module(f"{self.package}.study").run
        return found

    def page(self, result: dict[str, Any], images: str = "") -> str:
        """Return the page in Markdown; ``images`` is the path of the plots, seen from the page."""
        return str(import_module(f"{self.package}.page").page(result, images))

    def plots(self, result: dict[str, Any]) -> "dict[str, Figure]":
        """Return the figures by file name, without ending."""
        found: dict[str, Figure] = import_module(f"{self.package}.page").plots(result)
        return found


STUDIES = {
    found.name: found
    for found in (
        Study(
            "discrete",
            "Discrete Distribution Estimation with Local Differential Privacy: A Comparative Analysis",
            "discreet_papers.discrete",
            "discrete-comparison.md",
        ),
        Study(
            "n-output",
            "N-output Mechanism: Estimating Statistical Information from Numerical Data under Local Differential "
            "Privacy",
            "discreet_papers.n_output",
            "n-output.md",
        ),
        Study(
            "aaa",
            "AAA: an Adaptive Mechanism for Locally Differential Private Mean Estimation",
            "discreet_papers.aaa",
            "aaa.md",
        ),
        Study(
            "privrm",
            "PrivRM: A Framework for Range Mean Estimation under Local Differential Privacy",
            "discreet_papers.privrm",
            "privrm.md",
        ),
        Study(
            "square-wave",
            "Estimating Numerical Distributions under Local Differential Privacy",
            "discreet_papers.square_wave",
            "square-wave.md",
        ),
    )
}
"""The papers that are reproduced, by name."""


def study(name: str) -> Study:
    """Return a study by name."""
    if name not in STUDIES:
        raise DiscreetError(f"paper is {name!r}; allowed are {', '.join(STUDIES)}, all")
    return STUDIES[name]
