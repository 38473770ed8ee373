"""Five papers reproduced with discreet: one folder per paper, run by `discreet reproduce`.

A study is a package of three modules. `study.run(job)` returns results, ready for JSON; `claims.claims(result)`
judges what the paper says (*reproduced*, *not reproduced*, *not comparable* or *paper in error*), and `page` writes
the page of the documentation and draws its plots from the results alone. `frame.page` is the layout of all pages and
`Job.head` the beginning of all results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.text import listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet_papers.job import Job
    from discreet_papers.verdicts import Claims

__all__ = ["STUDIES", "Study", "study"]


@dataclass(frozen=True)
class Study:
    """The study of one paper.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        Title of the paper.
    package : str
        Where its modules are.
    result, page_file : str
        File names of the results and of the page.
    source : str
        Authors, venue and year, with a link where there is one.
    """

    name: str
    title: str
    package: str
    page_file: str
    source: str

    @property
    def result(self) -> str:
        return f"{self.name.replace('-', '_')}.json"

    @property
    def run(self) -> "Callable[[Job], dict[str, Any]]":
        """The function that runs the study and returns its results."""
        found: Callable[[Job], dict[str, Any]] = import_module(f"{self.package}.study").run
        return found

    def claims(self, result: dict[str, Any]) -> "Claims":
        """Return the paper's claims with the verdicts that follow from the results."""
        found: Claims = import_module(f"{self.package}.claims").claims(result)
        return found

    def page(self, result: dict[str, Any], images: str = "") -> str:
        """Return the page in Markdown; ``images`` is the path from the page to the plots."""
        return str(import_module(f"{self.package}.page").page(result, images))

    def plots(self, result: dict[str, Any]) -> "dict[str, Figure]":
        """Return the figures by file name, without extension."""
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
            "B. D. Le, T. Zia, 2021, [arXiv:2102.12621](https://arxiv.org/abs/2102.12621)",
        ),
        Study(
            "n-output",
            "N-output Mechanism: Estimating Statistical Information from Numerical Data under Local Differential "
            "Privacy",
            "discreet_papers.n_output",
            "n-output.md",
            "I. Baek, Y. D. Chung, 2025; the version we used has no DOI",
        ),
        Study(
            "aaa",
            "AAA: an Adaptive Mechanism for Locally Differential Private Mean Estimation",
            "discreet_papers.aaa",
            "aaa.md",
            "F. Wei, E. Bao, X. Xiao, Y. Yang, B. Ding, PVLDB 17, 2024; we used the technical report, "
            "[arXiv:2404.01625](https://arxiv.org/abs/2404.01625), which has no DOI",
        ),
        Study(
            "privrm",
            "PrivRM: A Framework for Range Mean Estimation under Local Differential Privacy",
            "discreet_papers.privrm",
            "privrm.md",
            "L. Yu, Q. Ye, R. Du, SIGMOD 2025; we used the anonymous version for review, which names no authors, year "
            "or DOI, and found no DOI elsewhere",
        ),
        Study(
            "square-wave",
            "Estimating Numerical Distributions under Local Differential Privacy",
            "discreet_papers.square_wave",
            "square-wave.md",
            "Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, SIGMOD 2020, "
            "[doi:10.1145/3318464.3389700](https://doi.org/10.1145/3318464.3389700)",
        ),
    )
}
"""The studies by name."""


def study(name: str) -> Study:
    """Return a study by name."""
    if name not in STUDIES:
        raise DiscreetError(f"paper must be {listed([*STUDIES, 'all'])}, not {name!r}")
    return STUDIES[name]
