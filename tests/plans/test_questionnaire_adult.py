"""Ten questions of the Adult census extract, with its real refusals: margins and intervals with the people advised."""

from pathlib import Path

import numpy as np
import pytest

import discreet as dc

FILE = Path(__file__).parents[3] / "shared" / "data" / "adult_train.parquet"
EDUCATION = {
    "less": range(1, 9),
    "high school": [9],
    "some college": range(10, 13),
    "bachelor": [13],
    "higher": range(14, 17),
}
RUNS = 30

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("pandas"),
    pytest.mark.needs("pyarrow"),
    pytest.mark.skipif(not FILE.exists(), reason="the extract is not part of the repository"),
]


@pytest.fixture(scope="module")
def census():
    """Answers by question; "?" is a refusal."""
    import pandas

    data = pandas.read_parquet(FILE)
    levels = {level: name for name, numbers in EDUCATION.items() for level in numbers}
    frame = pandas.DataFrame(
        {
            "sex": data.sex.astype(str),
            "income": data.income.astype(str),
            "born here": (data.native_country == "United-States").map({True: "yes", False: "no"}),
            "race": data.race.astype(str),
            "marital": data.marital_status.astype(str),
            "relationship": data.relationship.astype(str),
            "workclass": data.workclass.astype(str),
            "education": data.education_num.map(levels),
            "age": data.age,
            "hours per week": data.hours_per_week,
        }
    )
    return frame.where(frame != "?", None)


def survey_of(frame, epsilon):
    choices = [dc.Choice(name, sorted(set(frame[name].dropna())), margin=0.02) for name in frame.columns[:8]]
    numbers = [dc.Number("age", 17, 90, margin=1.0), dc.Number("hours per week", 1, 99, margin=1.0)]
    return dc.Questionnaire([*choices, *numbers], epsilon, refusal=True)


def truth_of(frame):
    found = {}
    for name in frame.columns:
        answered = frame[name].dropna()
        found[name, "prefer not to say"] = 1 - len(answered) / len(frame)
        if name in ("age", "hours per week"):
            found[name, "mean"] = float(answered.astype(float).mean())
        else:
            found |= {(name, label): share for label, share in answered.value_counts(normalize=True).items()}
    return found


@pytest.mark.parametrize(("epsilon", "people"), [(2, 81_728), (4, 26_706)])
def test_the_advised_people_meet_the_margins_and_intervals_hold(census, epsilon, people):
    survey, truth = survey_of(census, epsilon), truth_of(census)
    assert survey.people == people
    rows = survey.read_rows(census)
    margins = {question.name: question.margin for question in survey.questions}
    met, inside = [], []
    for seed in range(RUNS):
        answer = dc.simulate(survey, rows, seed=seed, people=survey.people)
        for row in answer.rows():
            wanted = truth[row["question"], row["label"]]
            inside.append(row["low"] <= wanted <= row["high"])
            if row["label"] != "prefer not to say":
                met.append(abs(row["value"] - wanted) <= margins[row["question"]])
    assert len(inside) > 500
    assert np.mean(met) >= 0.95
    assert np.mean(inside) >= 0.94
    assert np.mean(inside) <= 0.985
