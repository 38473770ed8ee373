"""The wire: canonical JSON of mechanism documents, and fixed-width packed reports.

The compatibility law (docs/wire.md): a document's meaning never changes once a version is published; a
reader refuses a version it does not know, a field it does not know, and any byte left over. Documents contain
only strings, whole numbers below 2^53, lists and objects. There are no fractions, so that every language writes
the same bytes; the SHA-256 of those bytes is the id of the mechanism.
"""

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Words
from discreet.errors import WireError

VERSION = 1
"""Version of the format of mechanism documents."""
MAX_DOCUMENT_BYTES = 16 << 20
"""Longer documents are refused before they are parsed."""
MAX_TABLE_ENTRIES = 1 << 20
"""Longer lists and larger tables are refused."""
_MOST_BRACKETS = 1 << 18
"""Texts from strangers with more brackets are refused before they are parsed."""
_DEEPEST = 16
"""Most levels of lists and objects in a text from a stranger."""
_LONGEST_NUMBER = 40
"""Most characters of a number in a text from a stranger."""
_EXACT_INTEGER = 1 << 53
"""Every language with 64-bit floats represents whole numbers below this exactly."""


def canonical(document: dict[str, Any]) -> str:
    """Return the one JSON text of a document: sorted keys, no spaces, ASCII.

    Examples
    --------
    >>> canonical({"b": [1, 2], "a": "x"})
    '{"a":"x","b":[1,2]}'
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def document_id(document: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical text, hexadecimal."""
    return hashlib.sha256(canonical(document).encode("ascii")).hexdigest()


def parse(text: str | bytes, name: str, most: int) -> Any:
    """Parse JSON from a stranger: what two readers could read differently, or what could exhaust one, is refused.

    No repeated key, no NaN or infinity, at most ``most`` characters, 2^18 brackets, a depth of 16, and 40 characters
    per number. The JavaScript client has the same rules.

    Examples
    --------
    >>> parse('{"a": [1, 2.5]}', "round", most=100)
    {'a': [1, 2.5]}
    >>> parse('{"a": 1, "a": 2}', "round", most=100)
    Traceback (most recent call last):
    ...
    discreet.errors.WireError: round must not repeat a key
    """
    if isinstance(text, bytes):
        try:
            text = text[: 4 * most + 4].decode("utf-8")
        except UnicodeDecodeError:
            raise WireError(f"{name} is not UTF-8") from None
    if len(text) > most:
        raise WireError(f"{name} must have at most {most} characters, not {len(text)}")
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise WireError(f"{name} must have at most {_MOST_BRACKETS} lists and objects")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise WireError(f"{name} must not repeat a key")
        return found

    def short(kind: Callable[[str], Any]) -> Callable[[str], Any]:
        def read(number: str) -> Any:
            if len(number) > _LONGEST_NUMBER:
                raise WireError(f"{name} must have numbers of at most {_LONGEST_NUMBER} characters, not {len(number)}")
            return kind(number)

        return read

    def refuse(constant: str) -> Any:
        raise WireError(f"{name} must have finite numbers only, not {constant}")

    try:
        found = json.loads(
            text, object_pairs_hook=unique, parse_int=short(int), parse_float=short(float), parse_constant=refuse
        )
    except json.JSONDecodeError:
        raise WireError(f"{name} is not JSON") from None
    except RecursionError:
        raise WireError(f"{name} must be nested at most {_DEEPEST} deep") from None
    check_depth(found, name)
    return found


def check_depth(document: Any, name: str) -> None:
    """Refuse lists and objects that are nested more than 16 deep."""
    level = [document]
    for _ in range(_DEEPEST):
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [item for items in inside for item in items]
    if any(isinstance(one, (dict, list)) for one in level):
        raise WireError(f"{name} must be nested at most {_DEEPEST} deep")


def read_document(text: str | bytes) -> dict[str, Any]:
    """Parse a document strictly: a known version, no duplicate keys, no fractions, nothing left over."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise WireError(f"mechanism document is not UTF-8: {error}") from None
    if len(text) > MAX_DOCUMENT_BYTES:
        raise WireError(f"mechanism document must have at most {MAX_DOCUMENT_BYTES} characters, not {len(text)}")
    try:
        document = json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_int=_short_integer,
            parse_float=_no_fraction,
            parse_constant=_no_fraction,
        )
    except json.JSONDecodeError as error:
        raise WireError(f"mechanism document is not JSON: {error}") from None
    except RecursionError:
        raise WireError("mechanism document is nested too deeply") from None
    if not isinstance(document, dict):
        raise WireError(f"mechanism document must be an object, not a {type(document).__name__}")
    if document.get("discreet") != VERSION:
        raise WireError(
            f"mechanism document must have version {VERSION}, which this discreet reads, not "
            f"{document.get('discreet')!r}"
        )
    return document


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise WireError(f"mechanism document must not repeat a key: {sorted(keys)}")
    return dict(pairs)


def _short_integer(text: str) -> int:
    if len(text) > 17:  # 2^53 has 16 digits
        raise WireError(f"mechanism document must have numbers below 2^53, not one of {len(text)} digits")
    return int(text)


def _no_fraction(text: str) -> Any:
    raise WireError(f"mechanism document must have whole numbers and strings only, not the number {text}")


class Fields:
    """Reads the fields of a document strictly: each has its type, all must be read, and no other may be there."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._read: set[str] = set()

    def _get(self, key: str) -> Any:
        self._read.add(key)
        if key not in self._document:
            raise WireError(f"mechanism document must have the field {key!r}")
        return self._document[key]

    def text(self, key: str) -> str:
        """Return a string field."""
        value = self._get(key)
        if not isinstance(value, str):
            raise WireError(f"{key} must be a string, not {value!r}")
        return value

    def real(self, key: str) -> float:
        """Return a float field, which is written as a string."""
        return _real(key, self._get(key))

    def reals(self, key: str) -> list[float]:
        """Return a list of floats, written as strings."""
        return [_real(key, item) for item in self._list(key)]

    def integer(self, key: str, low: int, high: int = _EXACT_INTEGER - 1) -> int:
        """Return a whole number from ``low`` to ``high``."""
        return _integer(key, self._get(key), low, high)

    def integers(self, key: str, low: int, high: int = _EXACT_INTEGER - 1) -> list[int]:
        """Return a list of whole numbers from ``low`` to ``high``."""
        return [_integer(key, item, low, high) for item in self._list(key)]

    def rows(self, key: str, low: int, high: int = _EXACT_INTEGER - 1) -> list[list[int]]:
        """Return a rectangular list of lists of whole numbers."""
        rows = self._list(key)
        if not rows or not all(isinstance(row, list) and len(row) == len(rows[0]) and row for row in rows):
            raise WireError(f"{key} must be a rectangular table")
        if len(rows) * len(rows[0]) > MAX_TABLE_ENTRIES:
            raise WireError(f"{key} must have at most {MAX_TABLE_ENTRIES} entries, not {len(rows) * len(rows[0])}")
        return [[_integer(key, item, low, high) for item in row] for row in rows]

    def documents(self, key: str) -> list[dict[str, Any]]:
        """Return a list of nested documents."""
        items = self._list(key)
        if not all(isinstance(item, dict) for item in items):
            raise WireError(f"{key} must be a list of mechanism documents")
        return items

    def _list(self, key: str) -> list[Any]:
        value = self._get(key)
        if not isinstance(value, list) or len(value) > MAX_TABLE_ENTRIES:
            raise WireError(f"{key} must be a list of at most {MAX_TABLE_ENTRIES} entries")
        return value

    def done(self) -> None:
        """Refuse fields that were not read."""
        unknown = sorted(set(self._document) - self._read)
        if unknown:
            raise WireError(f"mechanism document has the unknown field {unknown[0]!r}")


def _real(key: str, value: Any) -> float:
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or repr(number) != value:
        raise WireError(f"{key} must be a number written as a string, such as '0.5', not {value!r}")
    return number


def _integer(key: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise WireError(f"{key} must be a whole number between {low} and {high}, not {value!r}")
    return value


def pack_integers(reports: AnyArray, alphabet: int) -> bytes:
    """Pack reports of a small alphabet, each in the same number of whole bytes, little-endian."""
    width = report_bytes(alphabet)
    wide = np.ascontiguousarray(reports, dtype="<u8").reshape(-1, 1).view(np.uint8)
    return np.ascontiguousarray(wide[:, :width]).tobytes()


def unpack_integers(data: bytes, alphabet: int) -> Words:
    """Unpack what `pack_integers` packed; refuse a wrong length and anything outside the alphabet."""
    width = report_bytes(alphabet)
    if len(data) % width:
        raise WireError(f"packed reports must have a multiple of {width} bytes, not {len(data)}")
    wide = np.zeros((len(data) // width, 8), dtype=np.uint8)
    wide[:, :width] = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
    reports = wide.view("<u8").reshape(-1)
    if reports.size and int(reports.max()) >= alphabet:
        raise WireError(f"packed reports must be between 0 and {alphabet - 1}, not {int(reports.max())}")
    return reports


def report_bytes(alphabet: int) -> int:
    """Return the number of bytes per packed report."""
    return max(1, ((alphabet - 1).bit_length() + 7) // 8)
