"""Files: a column of values in, a column of reports out, and the answers from the reports alone.

`privatize_file` and `estimate_file` stream CSV, Parquet and Arrow files of any size in batches, one thread per core; a
folder or a pattern stands for the files in it. Needs the extra ``dataframes``; spreadsheets also need ``excel``.

Each run draws new noise and spends the budget again: publish one file of reports for one table of people.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.drivers.files.formats import Progress, Source, check_out, parts_of
from discreet.drivers.files.opening import open_values
from discreet.drivers.files.reading import Reading
from discreet.drivers.files.report_files import Sink, tally_groups, tally_parts
from discreet.drivers.tables import Budget, Collection, Counted, Reports, Tallies
from discreet.drivers.tables.run import collect
from discreet.drivers.tables.values import RowError
from discreet.errors import DiscreetError, DomainError
from discreet.plans.answers import Answer
from discreet.plans.base import Plan
from discreet.privacy.entropy import Entropy
from discreet.threads import check_threads

__all__ = ["Summary", "estimate_file", "privatize_file", "tally_file"]


@dataclass(frozen=True)
class Summary:
    """What `privatize_file` did. Keep ``counted`` to yourself: it is exact.

    Attributes
    ----------
    out : pathlib.Path
        Where the reports are.
    reports : Reports
        What they answer, and with which mechanisms.
    counted : Counted
        Rows, reports, missing and clipped values.
    notes : tuple of str
        What you should know about how the values were read, such as a delimiter that was found out.
    """

    out: Path
    reports: Reports
    counted: Counted
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        collection = self.reports.collection
        return {
            "out": self.out.as_posix(),
            "epsilon": float(collection.epsilon),
            "budget": collection.budget,
            "questions": {column: plan.to_dict() for column, plan in collection.questions.items()},
            "notes": list(self.notes),
        } | self.counted.to_dict()


def privatize_file(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    questions: Mapping[str, Plan],
    *,
    budget: str = "split",
    epsilon: Budget = None,
    missing: str = "drop",
    overwrite: bool = False,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    entropy: Entropy | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Summary:
    """Privatise columns of a file into a file of reports.

    Parameters
    ----------
    path, out : path
        CSV, Parquet or Arrow, by their endings; ``path`` may also be a spreadsheet (.xlsx, .xls, .ods), a folder or a
        pattern of such files.
    questions : mapping
        A plan for each column; one row is one person.
    budget, epsilon
        See `discreet.drivers.tables.Collection`.
    missing : str
        "drop" counts missing values and leaves them out, "error" stops at the first.
    overwrite : bool
        Whether ``out`` may exist.
    delimiter, decimal, thousands, encoding : str, optional
        How a CSV file is written; found out from the file unless given, and said in the summary's ``notes``.
    sheet : str, optional
        Which sheet of a spreadsheet; the first unless given.
    entropy : Entropy, optional
        For tests; the operating system's unless given.
    progress : callable, optional
        Called with the rows done so far and their total, if known.
    threads : int, optional
        One per core unless given; a given entropy is used by one.
    """
    target, count = Path(out), check_threads(threads)
    collection = Collection(questions, budget, epsilon)
    reading = Reading(delimiter, decimal, thousands, encoding, sheet)
    check_out(target)
    parts = parts_of(path)
    if target.exists():
        if any(part.exists() and os.path.samefile(part, target) for part in parts):
            raise DiscreetError(f"out must be another file than the values, not {target}")
        if not overwrite:
            raise DiscreetError(f"{target} exists; new reports would spend the budget again (overwrite=True allows it)")
    sources = [open_values(part, collection, reading) for part in parts]
    rows = [source.rows for source in sources]
    total = None if None in rows else sum(row for row in rows if row is not None)

    def told() -> Iterator[Any]:
        done = 0
        for source in sources:
            for batch in source.batches():
                yield batch
                done += batch.num_rows
                if progress is not None:
                    progress(done, total)

    try:
        reports, counted = collect(
            collection,
            told,
            lambda reports: Sink(target, reports),
            missing,
            entropy,
            target.parent,
            count if entropy is None else 1,
        )
    except RowError as error:
        raise DomainError(_located(error, sources)) from None
    notes = [note for source in sources for note in source.notes]
    if not counted.rows:
        notes.append(f"{path} has the names of the columns, but no row below them: there are no reports")
    return Summary(target, reports, counted, tuple(notes))


def _located(error: RowError, sources: list[Source]) -> str:
    """Return the message with the place in its file: the line of a CSV file, the row of a spreadsheet."""
    row = error.row
    for source in sources:
        count = source.rows if source.rows is not None else sum(batch.num_rows for batch in source.batches())
        if row < count:
            where = "" if len(sources) == 1 else f"{source.path}, "
            return where + error.at(source.place(row))
        row -= count
    return str(error)


def tally_file(
    path: str | os.PathLike[str], progress: Progress | None = None, threads: int | None = None
) -> tuple[Reports, Tallies]:
    """Count the reports of a file, or of all files of a folder or a pattern; see `estimate_file`."""
    return tally_parts(parts_of(path), progress, threads)


def estimate_file(
    *paths: str | os.PathLike[str],
    by: str | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> dict[str, Answer]:
    """Answer the questions from one or more files of reports of the same collection (parts of it, days, regions).

    Parameters
    ----------
    *paths : path
        Files that `privatize_file` wrote, or that `discreet.drivers.spark` wrote; folders and patterns of them.
    by : str, optional
        A public column beside the reports: every question is answered for each of its values, whatever they are.
    progress : callable, optional
        Called with the rows done so far and their total, if known.
    threads : int, optional
        One per core unless given.

    Returns
    -------
    dict
        An `Answer` for each question.
    """
    if not paths:
        raise DiscreetError("paths must name at least one file of reports")
    parts = [part for path in paths for part in parts_of(path)]
    if by is not None:
        reports, groups = tally_groups(parts, by, progress, threads)
        return reports.estimate_by(groups, by)
    reports, tallies = tally_parts(parts, progress, threads)
    return reports.estimate(tallies)
