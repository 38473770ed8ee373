"""Surveys of other tools become questionnaires, and what cannot be asked is refused by name."""

import json

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import DiscreetError
from discreet.plans.questionnaire.survey import read_survey, read_text

DOCUMENT = {
    "title": "Health",
    "pages": [
        {
            "elements": [
                {"type": "html", "name": "hello", "html": "<b>Hello</b>"},
                {"type": "boolean", "name": "drinks", "title": "Do you drink?", "isRequired": True},
                {
                    "type": "text", "name": "glasses", "inputType": "number", "min": 0, "max": 40, "margin": 0.5,
                    "visibleIf": "{drinks} = true",
                },
                {"type": "radiogroup", "name": "sleep", "choices": ["well", {"value": "badly", "text": "Badly!"}],
                 "showOtherItem": True},
            ]
        },
        {
            "visibleIf": "{sleep} = 'badly'",
            "elements": [
                {"type": "panel", "name": "more", "visibleIf": "{drinks} = false", "elements": [
                    {"type": "rating", "name": "mood", "rateMax": 7}]},
                {"type": "checkbox", "name": "symptoms", "choices": ["cough", "fever", "rash"],
                 "maxSelectedChoices": 2},
            ],
        },
        {
            "elements": [
                {"type": "matrix", "name": "service", "columns": [1, 2, 3], "rows": ["speed", {"value": "price"}]},
                {"type": "text", "name": "age", "inputType": "number",
                 "validators": [{"type": "numeric", "minValue": 18, "maxValue": 98}]},
            ]
        },
    ],
}  # fmt: skip


def test_a_surveyjs_document():
    survey = dc.Questionnaire.from_survey(DOCUMENT, 2.0)
    by_name = {question.name: question for question in survey.questions}
    assert list(by_name) == [
        "drinks", "glasses", "sleep", "mood", "symptoms", "service/speed", "service/price", "age",
    ]  # fmt: skip
    assert by_name["drinks"].text == "Do you drink?"
    assert (by_name["glasses"].low, by_name["glasses"].high, by_name["glasses"].margin) == (0, 40, 0.5)
    assert by_name["sleep"].options == ("well", "badly", "other")
    assert by_name["mood"].options == tuple(range(1, 8))
    assert by_name["mood"].condition.holds({"sleep": "badly", "drinks": "no"})
    assert not by_name["mood"].condition.holds({"sleep": "well", "drinks": "no"})
    assert by_name["symptoms"].most == 2
    assert (by_name["age"].low, by_name["age"].high) == (18, 98)
    assert by_name["age"].margin == pytest.approx(1.6)
    assert all(question.refusal for question in survey.questions)
    assert by_name["symptoms"].extras == ("prefer not to say", "does not apply")
    assert dc.Questionnaire.from_survey(json.dumps(DOCUMENT), 2.0).blocks == survey.blocks
    row = {"drinks": True, "glasses": 3, "sleep": "well", "service/speed": 2, "age": 50}
    cells = dict(zip([column.name for column in survey.columns], survey.row(row), strict=True))
    assert cells["glasses"] == 3.0
    assert cells["mood"] == 8  # does not apply
    assert cells["service/price"] == 3  # no answer


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ({"type": "text", "name": "name"}, "element 'name' of type 'text' cannot be asked"),
        ({"type": "comment", "name": "more"}, "element 'more' of type 'comment' cannot be asked"),
        ({"type": "file", "name": "photo"}, "'photo' of type 'file' cannot be asked"),
        ({"type": "text", "name": "age", "inputType": "number", "min": 0}, "'age' is a number without min and max"),
        ({"type": "radiogroup", "name": "x", "choicesByUrl": {}}, "'x' of type 'radiogroup' cannot be asked"),
        ({"type": "boolean", "name": "x", "visibleIf": "{y} anyof ['a']"}, "element 'x': when must compare answers"),
        ({"type": "rating", "name": "x", "rateMin": 0, "rateMax": 5000}, "'x' must be a rating of 2 to 100"),
        ({"type": "boolean"}, "must have a name"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(element, words):
    with pytest.raises(dc.DiscreetError, match=words.replace("(", "\\(")):
        read_survey({"elements": [element]})


PLAIN = """name,kind,options,low,high,most,margin,when,text
smokes,yes-no,,,,,0.01,,Do you smoke?
cigarettes,number,,0,60,,1,smokes = 'yes',
sleep,choice,well|so-so|badly,,,,,,
mood,rating,,1,5,,,,
symptoms,ticks,cough|fever|rash,,,2,,,
"""


def test_plain_lists(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(PLAIN, encoding="utf-8")
    survey = dc.Questionnaire.from_survey(path, 2.0, refusal=False)
    kinds = [(q.name, q.kind) for q in survey.questions]
    assert kinds == [
        ("smokes", "choice"), ("cigarettes", "number"), ("sleep", "choice"), ("mood", "choice"), ("symptoms", "ticks"),
    ]  # fmt: skip
    assert survey.questions[0].margin == 0.01
    assert survey.questions[1].when == "smokes = 'yes'"
    assert survey.questions[3].options == (1, 2, 3, 4, 5)
    assert survey.questions[4].most == 2
    with pytest.raises(dc.DiscreetError, match="kind of 'x' must be yes-no"):
        read_survey([{"name": "x", "kind": "essay"}])
    with pytest.raises(dc.DiscreetError, match="high of 'x' must be a number"):
        read_survey([{"name": "x", "kind": "number", "low": 0, "high": "many"}])
    with pytest.raises(dc.DiscreetError, match="neither"):
        read_survey("no such file.json")
    with pytest.raises(dc.DiscreetError, match="not JSON"):
        read_survey("{")
    with pytest.raises(dc.DiscreetError, match="list of questions"):
        read_survey({})


@pytest.mark.needs("yaml")
def test_yaml(tmp_path):
    path = tmp_path / "questions.yaml"
    path.write_text("questions:\n- name: smokes\n- name: sleep\n  options: [well, badly]\n", encoding="utf-8")
    assert [q.options for q in read_survey(path)] == [("yes", "no"), ("well", "badly")]


def test_advice_for_a_survey(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(PLAIN, encoding="utf-8")
    run = CliRunner().invoke(
        app,
        [
            "advise",
            "questionnaire",
            "--survey",
            str(path),
            "--epsilon",
            "2",
            "--plan",
            str(tmp_path / "p.json"),
            "--json",
        ],
    )
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    survey = dc.Questionnaire.from_survey(path, 2.0)
    assert found["people"] == survey.people == dc.advise(survey).people
    assert found["expensive"] == "smokes"
    assert found["alternatives"]["one question each"] == survey.people_one_each
    assert json.loads((tmp_path / "p.json").read_text()) == json.loads(json.dumps(survey.to_dict()))
    shown = CliRunner().invoke(app, ["advise", "questionnaire", "--survey", str(path), "--epsilon", "2"])
    assert "people for all margins" in shown.stdout


def test_advice_is_the_notes():
    choices = {"sex": 2, "income": 2, "born": 2, "race": 5, "marital": 7, "relation": 6, "work": 8, "education": 5}
    questions = [dc.Choice(name, list(map(str, range(size)))) for name, size in choices.items()]
    questions += [dc.Number("age", 17, 90, margin=1.0), dc.Number("hours", 1, 99, margin=1.0)]
    advice = dc.advise(dc.Questionnaire(questions, 2, refusal=True))
    found = advice.alternatives
    assert found["one question each"] == found["blocks"] == 81_728
    assert found["everyone asked everything, epsilon divided evenly"] == 1_484_492
    assert found["everyone asked everything, epsilon divided unevenly"] == pytest.approx(701_655, rel=1e-3)
    assert advice.expensive == "hours"
    assert "hours" in str(advice)
    assert "<table>" in advice._repr_html_()
    saved = {row["question"]: row["saved_by_wider"] for row in advice.rows()}
    assert saved["hours"] == 12_860 - 5_716 or abs(saved["hours"] - 7144) < 3


def test_texts_are_told_apart_and_matrices_are_lists_too():
    rows = read_text("name,kind,rows,low,high\nservice,matrix,speed|price,1,3\n")
    assert [(one.name, one.text, one.options) for one in rows] == [
        ("service/speed", "service: speed", (1, 2, 3)),
        ("service/price", "service: price", (1, 2, 3)),
    ]
    assert read_text('\ufeff[{"name": "smokes"}]')[0].name == "smokes"
    for low, high in ((3, 3), (1, 200)):
        with pytest.raises(DiscreetError, match="2 to 100 whole points"):
            read_text(f"name,kind,low,high\nmood,rating,{low},{high}\n")


@pytest.mark.needs("yaml")
def test_a_text_may_be_yaml():
    found = read_text("- name: smokes\n- name: mood\n  kind: rating\n  low: 1\n  high: 5\n")
    assert found[1].options == (1, 2, 3, 4, 5)
