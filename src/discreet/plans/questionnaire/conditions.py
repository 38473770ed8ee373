"""Conditions: who a question is asked of, decided on the device from the person's own answers.

    drinks = 'yes' and ({age} >= 18 or {student} = true)

A comparison has a name (in braces if it has spaces), one of = == != < <= > >= and a number, a text in quotes, true or
false. "and" binds tighter than "or"; there are parentheses and nothing else. Two texts are compared as texts, a number
with a text that spells one as numbers; other pairs differ. JavaScript has the same rules (`clients/javascript`).
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from discreet.errors import DiscreetError

_SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<bracket>[()])|\{(?P<name>[^{}]+)\}|(?P<sign><=|>=|==|!=|<>|=|<|>)|'(?P<single>[^']*)'|"
    r'"(?P<double>[^"]*)"|(?P<number>-?[0-9]+(?:\.[0-9]+)?)(?![\w.])|(?P<word>[^\W\d]\w*))'
)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
LONGEST = 2000
"""The most characters of a condition."""
DEEPEST = 16
"""How deep its parentheses may be nested."""
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
    if not isinstance(text, str) or len(text) > LONGEST:
        raise DiscreetError(f"when must be a text of at most {LONGEST} characters")
    reader = _Reader(text)
    holds = reader.either()
    if reader.tokens:
        reader.fail()
    return Condition(text, tuple(dict.fromkeys(reader.names)), holds)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.names = text, list[str]()
        self.tokens: list[tuple[str, str]] = []
        self.depth = place = 0
        while text[place:].strip(_SPACE):
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
            self.depth += 1
            if name != "(" or self.depth > DEEPEST:
                self.fail()
            inner = self.either()
            self.depth -= 1
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
        self.names.append(name.strip(_SPACE))
        return _comparison(name.strip(_SPACE), compare, value)


def _comparison(name: str, compare: Callable[[Any, Any], bool], value: Any) -> Test:
    def test(answers: Mapping[str, Any]) -> bool:
        held = answers.get(name)
        if not isinstance(held, (str, bool, int, float)) or held != held:  # no answer, and no list, fulfils anything
            return False
        pair = _comparable(held, value)
        return compare is operator.ne if pair is None else bool(compare(*pair))

    return test


def _comparable(held: Any, wanted: Any) -> tuple[Any, Any] | None:
    """Return two truths, numbers or texts to compare; None if they are of different kinds."""
    if isinstance(held, bool) or isinstance(wanted, bool):
        held, wanted = _truth(held), _truth(wanted)
    if isinstance(held, str) and isinstance(wanted, str):
        return held, wanted
    numbers = _number(held), _number(wanted)
    return None if None in numbers else numbers


def _truth(value: Any) -> Any:
    return {"yes": True, "no": False, "true": True, "false": False}.get(str(value).lower(), value)


def _number(value: Any) -> float | None:
    try:
        return float(value) if not isinstance(value, str) or _NUMBER.fullmatch(value) else None
    except OverflowError:
        return None
