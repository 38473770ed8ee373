"""The vectors of forms.json: questions of rounds, and the rows that people's answers become; called by make.py.

Random surveys and random answers, wrong ones among them, and documents that must be refused.
"""

import json
from typing import Any

import discreet as dc
from discreet.errors import DiscreetError
from discreet.plans.questionnaire.form import Form

CONDITIONS = (
    "a = 'yes'", "a != yes", "{a} = true and b >= 3", "b < 2.5 or (c = 'é' and a <> 'no')", "b = '3'", "c > 'b'",
    "a = 1", "{a} == false", "(b > -1)", "c <= 'z' and c >= 'A'", "a = 'yes' or a = 'no'", "t = 'x'", "b != 'maybe'",
)  # fmt: skip
WRONG_CONDITIONS = (
    "a",
    "a =",
    "= 1",
    "a = b",
    "a = 'x",
    "(a = 1",
    "a = 1)",
    "a = 1 b = 2",
    "a and b",
    "a = 1.",
    "a ~ 1",
    "",
)
SAID = ("yes", "no", True, False, 0, 1, 2, 3, 4.5, -1, "3", "é", "b", "𝒜", None, "prefer not to say", "does not apply")
ODD = ({}, [], ["x"], "x", 1e300, ["cat", "cat"], [["cat"]], [True], "")


def rows(questions: list[dict[str, Any]], people: list[Any]) -> list[list[Any]]:
    """Return the rows of some people's answers."""
    form = Form.read(questions)
    return [json.loads(json.dumps(form.row(answers))) for answers in people]


def error(questions: Any) -> str | None:
    """Return the kind of error with which questions are refused; None if they are not."""
    try:
        Form.read(questions)
    except DiscreetError:
        return "refused"
    return None


def make(dice: Any, people: int = 25) -> list[dict[str, Any]]:
    """Return the vectors."""
    found = []
    for number in range(40):
        when = CONDITIONS[number % len(CONDITIONS)]
        pets = [f"pet {i}" for i in range(2 + dice.below(7))] + ["cat"]
        most = 1 + dice.below(3) if dice.below(2) else None
        questions = [
            dc.Choice("a", refusal=bool(dice.below(2))),
            dc.Choice("b", list(range(1 + dice.below(2), 6 + dice.below(3)))),
            dc.Choice("c", ["b", "é", "𝒜", "z z"], text="Which letter?"),
            dc.Ticks("t", ["x", "y"], when="a = 'no'" if dice.below(2) else None),
            dc.Choice("d", [0.5, "half", True], when=when),
            dc.Number("n", -5 + dice.below(3), 100.5, when=when if dice.below(2) else None),
            dc.Ticks("p", pets, most, together="set" if most and dice.below(2) else 1 + dice.below(3), when=when),
        ]
        survey = dc.Questionnaire(questions, 1.0 + dice.below(4), refusal=bool(dice.below(3)))
        asked = survey.round([])
        assert asked is not None
        assert asked.form is not None
        listed = asked.form.to_list()
        answered = [_answers(dice, pets) for _ in range(people)] + [{}]
        found.append({"questions": listed, "people": answered, "rows": rows(listed, answered), "reason": None})
    base = found[0]["questions"]
    return found + [
        {"questions": questions, "people": [], "rows": [], "reason": reason} for questions, reason in _bad(base)
    ]


def _answers(dice: Any, pets: list[str]) -> dict[str, Any]:
    def any_of(values: Any) -> Any:
        return values[dice.below(len(values))]

    found: dict[str, Any] = {name: any_of(SAID) for name in "abcdn"}
    found["n"] = any_of((dice.real() * 200, 7, None, "7"))
    found["d"] = any_of((0.5, "half", True, 1, 1.0, None, "0.5"))
    found["t"] = any_of((["x"], ["y", "x"], [], None, "x"))
    found["p"] = (
        [pet for pet in pets if dice.below(3) == 0] if dice.below(4) else any_of((None, "does not apply", ["?"]))
    )
    for name in "abcdnpt":
        if dice.below(6) == 0:
            found[name] = any_of(ODD)
        elif dice.below(12) == 0:
            del found[name]
    return found


def _bad(good: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    choice, number, ticks = good[0], good[5], good[6]
    plain = {"kind": "choice", "name": "x", "text": "", "when": None, "refusal": False, "options": ["u", "v"]}

    def but(base: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
        return [*good[:5], plain, base | changes]

    two = [plain, plain | {"name": "y", "when": "x = 'u'"}]
    listed: list[tuple[Any, str]] = [
        ([], "no question"), ({}, "no list"), ([7], "a number"), ([plain, plain], "the same name"),
        ([plain | {"kind": "text"}], "another kind"), ([plain | {"extra": 1}], "an unknown field"),
        ([{key: value for key, value in plain.items() if key != "text"}], "lacks the text"),
        ([plain | {"name": ""}], "an empty name"), ([plain | {"name": 7}], "a name that is a number"),
        ([plain | {"text": None}], "no text"), ([plain | {"refusal": 1}], "refusal is a number"),
        ([plain | {"options": ["u"]}], "one option"), ([plain | {"options": ["u", "u"]}], "an option twice"),
        ([plain | {"options": "uv"}], "options are a text"), ([plain | {"options": ["u", "does not apply"]}], "absent"),
        ([plain | {"options": ["u", "prefer not to say"]}], "refused"), ([plain | {"options": [[], {}]}], "no labels"),
        ([plain | {"options": [str(i) for i in range(1025)]}], "too many options"),
        ([plain | {"when": "x = 'u'"}], "about itself"), ([two[1]], "about no question"),
        ([plain | {"when": 7}], "when"),
        ([plain, two[1] | {"when": "x = 'u' or " * 400 + "x = 'v'"}], "too long a condition"),
        ([plain, two[1] | {"when": "(" * 17 + "x = 'u'" + ")" * 17}], "too deep a condition"),
        *(([plain | {"name": name} for name in "ab"] + [plain | {"when": when}], when) for when in WRONG_CONDITIONS),
        (but(number, low="0"), "an end that is a text"), (but(number, low=200), "ends that fall"),
        (but(number, high=None), "no end"), (but(ticks, most=0), "most 0"), (but(ticks, most=1.5), "most 1.5"),
        (but(ticks, most=len(ticks["options"]) + 1), "most above the options"), (but(ticks, groups=[]), "no group"),
        (but(ticks, groups=[[0], [0]]), "an option in two groups"), (but(ticks, groups=[[], [0]]), "an empty group"),
        (but(ticks, groups=[[0.5]]), "half an option"), (but(ticks, groups=7), "groups are a number"),
        (but(ticks, set=1), "set is a number"), (but(ticks, set=True, most=None), "a set without most"),
        (but(ticks, set=True, most=1, groups=[[0], list(range(1, len(ticks["options"])))]), "a set in two groups"),
        (but(ticks, options=[str(i) for i in range(47)], groups=[list(range(47))]), "too many ticks"),
        ([choice | {"name": f"q{i}"} for i in range(1025)], "too many questions"),
    ]  # fmt: skip
    for questions, reason in listed:
        assert error(questions) == "refused", reason
    return [(questions, reason) for questions, reason in listed if len(json.dumps(questions)) < 40_000]
