"""Numbers as spreadsheets write them: which separators a column uses, and why a text is not a number."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

DECIMALS = (".", ",")
"""What may stand before the decimals."""
THOUSANDS = (",", ".", " ", "'", "\u00a0", "\u202f", "\u2019")
"""What may stand between thousands; the last three are the no-break space, the narrow one, and the Swiss apostrophe."""
TRUTHS = {"true": 1.0, "false": 0.0}
"""Truth values where a number is due."""
NAMES = {
    ",": "comma",
    ".": "point",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    " ": "space",
    "'": "apostrophe",
    "\u00a0": "no-break space",
    "\u202f": "no-break space",
    "\u2019": "apostrophe",
}
"""Separators as words."""
_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([T ].*)?$|\d{1,2}:\d{2}")
_UNIT = re.compile(r"[^\d\s.,'+-]{1,4}\s*[+-]?\d[\d.,' ]*$|[+-]?\d[\d.,' ]*\s*[^\d\s.,'+-]{1,4}$")


@dataclass(frozen=True)
class Style:
    """How numbers are written: the decimal sign, and the separator of thousands if there is one.

    Examples
    --------
    >>> Style(decimal=",", thousands=".").read("58.216,50")
    58216.5
    >>> Style().read("58,216") is None
    True
    """

    decimal: str = "."
    thousands: str | None = None

    @cached_property
    def pattern(self) -> str:
        """A regular expression that a number fulfils; also understood by Arrow."""
        whole = r"[0-9]+"
        if self.thousands:
            whole = rf"(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        point = re.escape(self.decimal)
        return rf"^\s*[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"

    @cached_property
    def _compiled(self) -> "re.Pattern[str]":
        return re.compile(self.pattern)

    def read(self, text: str) -> float | None:
        """Return the number that a text spells, or None."""
        if not self._compiled.match(text):
            return None
        plain = text.strip()
        if self.thousands:
            plain = plain.replace(self.thousands, "")
        return float(plain.replace(self.decimal, "."))


PLAIN = Style()
_OTHERS = (
    Style(","),
    *(Style(".", mark) for mark in THOUSANDS if mark != "."),
    *(Style(",", mark) for mark in THOUSANDS if mark != ","),
)


def styles(decimal: str | None, thousands: str | None) -> list[Style]:
    """Return the styles that agree with what was given, the plainest first."""
    if thousands is not None:
        points = DECIMALS if decimal is None else (decimal,)
        return [Style(point, thousands) for point in points if point != thousands]
    return [style for style in (PLAIN, *_OTHERS) if decimal in (None, style.decimal)]


def find_style(texts: Iterable[str], decimal: str | None = None, thousands: str | None = None) -> Style | None:
    """Return the plainest style in which all texts are numbers; None if there is none, or if it matters which.

    Examples
    --------
    >>> find_style(["1234,5", "17"])
    Style(decimal=',', thousands=None)
    >>> find_style(["58,216"])  # a thousands separator, or a decimal comma?
    >>> find_style(["58,216", "1,058,216"])
    Style(decimal='.', thousands=',')
    """
    found = list(dict.fromkeys(texts))
    likely = styles(decimal, thousands)
    if not found:
        return likely[0]
    fitting = [(style, read) for style in likely if None not in (read := [style.read(text) for text in found])]
    if not fitting:
        return None
    if fitting[0][0] == likely[0]:
        return likely[0]
    return fitting[0][0] if all(read == fitting[0][1] for _, read in fitting) else None


def why_not(text: str, style: Style) -> str:
    """Return what a text probably is that is not a number in this style; the text itself is not repeated."""
    plain = text.strip()
    is_comma = Style(",").read(plain) is not None and style.decimal != ","
    grouped = [one for one in styles(None, None) if one.thousands and one.thousands in plain]
    marks = [one.thousands for one in grouped if one.read(plain) is not None]
    if marks and is_comma:
        return "a thousands separator or a decimal comma? say which with thousands=',' or decimal=','"
    if is_comma:
        return "a decimal comma? decimal=',' reads it"
    if marks and style.thousands != marks[0]:
        return f"a thousands separator? thousands={marks[0]!r} reads it"
    if PLAIN.read(plain) is not None and style.decimal != ".":
        return "a decimal point? decimal='.' reads it"
    if _DATE.match(plain):
        return "it looks like a date or a time"
    if plain.endswith("%") or plain.startswith("%"):
        return "a percent sign? remove it from the column"
    if _UNIT.match(plain):
        return "a currency or a unit? remove it from the column"
    if not any(letter.isdigit() for letter in plain):
        return "it is text"
    return "it is text with digits in it"
