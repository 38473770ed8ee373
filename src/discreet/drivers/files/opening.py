"""Open a file of raw values, whatever its format, with the columns that questions need."""

from pathlib import Path

from discreet.domains import Categories
from discreet.drivers.arrow import pa
from discreet.drivers.files.csv_files import NULLS, CsvSource
from discreet.drivers.files.formats import Source, format_of
from discreet.drivers.files.reading import Reading, find_dialect
from discreet.drivers.files.sheets import SheetSource
from discreet.drivers.tables import Collection
from discreet.drivers.tables.values import check_type, columns_of
from discreet.errors import DiscreetError


def open_values(path: Path, collection: Collection, reading: Reading) -> Source:
    """Open a file of raw values; columns of the wrong type are refused at once."""
    if not path.exists():
        raise DiscreetError(f"{path} does not exist")
    columns = list(collection.columns)
    labels = {name: domain for name, domain in collection.columns.items() if isinstance(domain, Categories)}
    numbers = [column for column in columns if column not in labels]
    known = {label for domain in labels.values() for label in domain.labels if isinstance(label, str)}
    nulls = [text for text in NULLS if text not in known]
    kind = format_of(path)
    if kind == "csv":
        # Labels are read as text: `Categories.find` knows which label a text spells.
        types = {column: pa.string() if column in labels else pa.float64() for column in columns}
        dialect = find_dialect(path, reading, columns, numbers)
        source: Source = CsvSource(path, columns, types, nulls, dialect)
    elif kind == "sheet":
        source = SheetSource(path, columns, numbers, nulls, reading)
    else:
        source = Source(path, columns)
    for name, plan in collection.questions.items():
        for column, domain in columns_of(name, plan).items():
            if kind != "csv" or column in labels:  # a CSV's numbers are converted while they are read
                check_type(column, source.schema.field(column).type, domain, plan.question)
    return source
