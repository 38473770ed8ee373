"""Conditions: who a question is asked of, decided on the device from the person's own answers.

    drinks = 'yes' and ({age} >= 18 or {student} = true)

A comparison has a name (in braces if it has spaces), one of = == != < <= > >= and a number, a text in quotes, true or
false. "and" binds tighter than "or"; there are parentheses and nothing else.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from discreet.errors import DiscreetError

_TOKEN = re.compile(
    r"\s*(?:(?P<bracket>[()])|\{(?P<name>[^{}]+)\}|(?P<sign><=|>=|==|!=|<>|=|<|>)|'(?P<single>[^']*)'|"
    r'"(?P<double>[^"]*)"|(?P<number>-?\d+(?:\.\d+)?)(?![\w.])|(?P<word>[^\W\d]\w*))'
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_WORDS = {"true": True, "false": False, "yes": "yes", "no": "no"}

Test = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Condition:
    """A condition on earlier answers.

    Attributes
    ----------
    text : str
        As it was written.
    names : tuple of str
        The questions that it is about.
    holds : callable
        Whether the answers of one person, by name, fulfil it.

    Examples
    --------
    >>> condition = read_condition("drinks = 'yes' and {age} >= 18")
    >>> condition.names, condition.holds({"drinks": "yes", "age": 30}), condition.holds({"drinks": "no", "age": 30})
    (('drinks', 'age'), True, False)
    """

    text: str
    names: tuple[str, ...]
    holds: Test


def read_condition(text: str) -> Condition:
    """Read a condition, or say where it stops being one."""
    reader = _Reader(text)
    holds = reader.either()
    if reader.tokens:
        reader.fail()
    return Condition(text, tuple(dict.fromkeys(reader.names)), holds)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.names = text, list[str]()
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                raise self.error()
            kind = str(found.lastgroup)
            self.tokens.append((kind, found[kind]))
            place = found.end()

    def fail(self) -> NoReturn:
        raise self.error()

    def error(self) -> DiscreetError:
        """Return what is wrong with the text."""
        return DiscreetError(
            f"when must compare answers, such as \"drinks = 'yes' and {{age}} >= 18\"; {self.text!r} is not read"
        )

    def next(self, *kinds: str) -> tuple[str, str]:
        if not self.tokens or self.tokens[0][0] not in kinds:
            self.fail()
        return self.tokens.pop(0)

    def has(self, word: str) -> bool:
        if self.tokens and self.tokens[0][0] == "word" and self.tokens[0][1].lower() == word:
            self.tokens.pop(0)
            return True
        return False

    def either(self) -> Test:
        parts = [self.both()]
        while self.has("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else lambda answers: any(part(answers) for part in parts)

    def both(self) -> Test:
        parts = [self.one()]
        while self.has("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else lambda answers: all(part(answers) for part in parts)

    def one(self) -> Test:
        kind, name = self.next("bracket", "name", "word")
        if kind == "bracket":
            if name != "(":
                self.fail()
            inner = self.either()
            if self.next("bracket")[1] != ")":
                self.fail()
            return inner
        if name.lower() in ("and", "or"):
            self.fail()
        compare = _COMPARISONS[self.next("sign")[1]]
        kind, text = self.next("single", "double", "number", "word")
        if kind == "word" and text.lower() not in _WORDS:
            self.fail()
        value = float(text) if kind == "number" else _WORDS[text.lower()] if kind == "word" else text
        self.names.append(name.strip())
        return _comparison(name.strip(), compare, value)


def _comparison(name: str, compare: Callable[[Any, Any], bool], value: Any) -> Test:
    def test(answers: Mapping[str, Any]) -> bool:
        held = answers.get(name)
        if held is None or held != held:  # no answer fulfils nothing
            return False
        if isinstance(value, bool) or isinstance(held, bool):
            held, wanted = _truth(held), _truth(value)
        elif isinstance(value, float):
            try:
                held, wanted = float(held), value
            except (TypeError, ValueError):
                held, wanted = str(held), f"{value:g}"
        else:
            held, wanted = str(held), value
        try:
            return bool(compare(held, wanted))
        except TypeError:
            return False

    return test


def _truth(value: Any) -> Any:
    return {"yes": True, "no": False, "true": True, "false": False}.get(str(value).lower(), value)
