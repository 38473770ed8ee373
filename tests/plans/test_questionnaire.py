"""Questionnaires: the reference figures, blocks against brute force, exact expectations, refusals, reading answers."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.categorical.agreement import agreement, ideal_laws
from discreet.mechanisms.categorical.subset_selection import best_k
from discreet.mechanisms.draws import generator
from discreet.messages.rounds import read_round, write_round
from discreet.plans.base import Answered
from discreet.plans.questionnaire.conditions import read_condition
from discreet.plans.questionnaire.designs import _best, _Costs, _many, _neighbours, alone, number_variance
from discreet.plans.questionnaire.estimates import Joint, one_symbol
from discreet.plans.registry import read_plan
from discreet.tallies import Tally

REFERENCE = json.loads((Path(__file__).parent / "questionnaire_reference.json").read_text())
ADULT = {
    "sex": 2,
    "income": 2,
    "born here": 2,
    "race": 5,
    "marital": 7,
    "relationship": 6,
    "workclass": 8,
    "education": 5,
}


def adult(epsilon):
    choices = [dc.Choice(name, [str(i) for i in range(size)], margin=0.02) for name, size in ADULT.items()]
    numbers = [dc.Number("age", 17, 90, margin=1.0), dc.Number("hours_per_week", 1, 99, margin=1.0)]
    return dc.Questionnaire([*choices, *numbers], epsilon, refusal=True)


# -- the reference ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1", "2", "3", "5"])
def test_people_for_the_census_questions(epsilon):
    survey, wanted = adult(float(epsilon)), REFERENCE["advice_adult"][epsilon]
    assert survey.people == wanted["people"]["blocks"]
    assert survey.people_one_each == wanted["people"]["one question each"]
    assert sorted(block.people for block in survey.blocks) == sorted(people for _, people, _ in wanted["blocks"])
    assert sum(block.share for block in survey.blocks) == pytest.approx(1)


def test_people_at_other_epsilons():
    assert [adult(epsilon).people for epsilon in (4, 6)] == [26_706, 16_001]


def total(p, q, size):
    """n x the variance of a share of 1/size, noise and the drawing of people."""
    seen = q + (p - q) / size
    return seen * (1 - seen) / (p - q) ** 2


def subset_total(size, epsilon):
    k, e = best_k(epsilon, size), math.exp(epsilon)
    p = k * e / (k * e + size - k)
    return total(p, (p * (k - 1) + (1 - p) * k) / (size - 1), size)


def test_ten_questions_alike():
    for key, row in REFERENCE["blocks"].items():
        size, epsilon = int(key.split("/")[0]), float(key.split("/")[1])
        assert 10 * subset_total(size, epsilon) == pytest.approx(row["one"], rel=1e-9)
        assert subset_total(size, epsilon / 10) == pytest.approx(row["all"], rel=1e-9)
        parts = [(10 / m * subset_total(size, epsilon / m), m) for m in range(1, 11)]
        assert min(parts) == pytest.approx(tuple(row["m_of_10"]), rel=1e-9)
        value, k, threshold = row["block"]
        if k > 1:
            p, q = ideal_laws(epsilon, (size,) * k, threshold)[0]
            assert total(p, q, size) * 10 / k == pytest.approx(value, rel=1e-9)
        found = [(subset_total(size, epsilon) * 10, 1)] + [
            (total(*ideal_laws(epsilon, (size,) * k, t)[0], size) * 10 / k, k)
            for k in range(1, 9)
            for t in range(1, k + 1)
        ]
        assert min(found)[0] == pytest.approx(value, rel=1e-9)


def expected(frequencies, p, q, n=10**9):
    """Shares from the counts that are expected of n people."""
    f = np.asarray(frequencies)
    return one_symbol(n * (q + (p - q) * f), p, q)


def halves(first, second, epsilon):
    """n x variance of a cell, if everyone answers both questions at half of epsilon and reports are multiplied."""

    def square(size, is_there):
        k, e = best_k(epsilon / 2, size), math.exp(epsilon / 2)
        p = k * e / (k * e + size - k)
        q = (p * (k - 1) + (1 - p) * k) / (size - 1)
        seen = p if is_there else q
        return (seen * (1 - q) ** 2 + (1 - seen) * q**2) / (p - q) ** 2

    cell = 1 / (first * second)
    weights = {(1, 1): cell, (1, 0): 1 / first - cell, (0, 1): 1 / second - cell}
    weights[0, 0] = 1 - sum(weights.values())
    return sum(w * square(first, i) * square(second, j) for (i, j), w in weights.items()) - cell**2


def test_refusals_ratings_and_tables():
    for epsilon, row in REFERENCE["refusal"].items():
        e = float(epsilon)
        assert number_variance(e, refusal=False) == pytest.approx(row["no refusal possible"], rel=2e-3)
        for refused in (0.01, 0.05, 0.2, 0.5):
            found = number_variance(e, refusal=True, refused=refused)
            assert found == pytest.approx(row[f"refused {refused}"], rel=1e-6)
        for refused in (0.05, 0.2):
            shares = expected([(1 - refused) / 2] * 2 + [refused], *ideal_laws(e, (3,), 1)[0])
            ratios = shares.ratios(np.array([[-1.0, 1, 0]]), np.array([0.0, 0, 1]))
            three = float(ratios.errors[0]) ** 2 * shares.n
            assert three == pytest.approx(row[f"three symbols, refused {refused}"], rel=1e-6)
    for key, row in REFERENCE["likert"].items():
        points, epsilon = int(key.split("/")[0]), float(key.split("/")[1])
        shares = expected(np.full(points, 1 / points), *ideal_laws(epsilon, (points,), 1)[0])
        ratios = shares.ratios(np.linspace(-1, 1, points)[None], np.zeros(points))
        found = float(ratios.errors[0]) ** 2 * shares.n
        assert found == pytest.approx(row["randomised response, decoded mean"], rel=1e-6)
        places = np.linspace(-1, 1, points)
        numeric = np.mean(dc.mechanism(row["numeric mechanism"], epsilon).variance(places)) + np.mean(places**2)
        assert numeric == pytest.approx(row["numeric"], rel=1e-6)
    for key, row in REFERENCE["shared_refusal"].items():
        k, epsilon = int(key.split("/")[0]), float(key.split("/")[1])
        shares = expected([*[0.95 / 2**k] * 2**k, 0.05], *ideal_laws(epsilon, (2**k + 1,), 1)[0])
        yes = [float(i & 1) for i in range(2**k)] + [0.0]
        ratios = shares.ratios(np.array([yes]), np.array([0.0] * 2**k + [1.0]))
        assert float(ratios.errors[0]) ** 2 * shares.n == pytest.approx(row["one for the block"], rel=1e-6)
        each = []
        for threshold in range(1, k + 1):
            p, q = ideal_laws(epsilon, (3,) * k, threshold)[0]
            shares = expected([0.475, 0.475, 0.05], p, q)
            each.append(float(shares.ratios(np.array([[0.0, 1, 0]]), np.array([0.0, 0, 1])).errors[0]) ** 2 * shares.n)
        assert min(each) == pytest.approx(row["one each"], rel=1e-6)
    for key, row in REFERENCE["cross"].items():
        sizes, epsilon = tuple(map(int, key.split("/")[0].split("x"))), float(key.split("/")[1])
        assert 2 * subset_total(sizes[0], epsilon) == pytest.approx(row["marginal, one question to half the people"])
        p, q = ideal_laws(epsilon, (math.prod(sizes),), 1)[0]
        joint = Joint((0, 1), sizes, np.full(sizes, 10**8 / math.prod(sizes)), 2, p, q)
        marginal = joint.shares(0)
        found = marginal.covariance[0, 0] * marginal.n
        assert found == pytest.approx(row["marginal from joint randomised response"], rel=1e-6)
        cells = math.prod(sizes)
        assert best_k(epsilon, cells) == row["joint k"]
        assert subset_total(cells, epsilon) == pytest.approx(row["joint oracle"], rel=1e-9)
        if row["joint k"] == 1:
            cell = joint.pair(0, 1)
            assert cell.covariance[0, 0] * cell.n == pytest.approx(row["joint oracle"], rel=1e-6)
        assert halves(*sizes, epsilon) == pytest.approx(row["halves of epsilon, product"], rel=1e-9)


# -- designs ---------------------------------------------------------------------------------------------------


def some(count, epsilon, margins=0.001, sizes=(2, 3, 4, 5), **options):
    questions = [
        dc.Choice(f"q{i}", list("abcdefgh")[: sizes[i % len(sizes)]], margin=0.02 + margins * i) for i in range(count)
    ]
    return dc.Questionnaire(questions, epsilon, **options)


def partitions(items):
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i, block in enumerate(rest):
            yield [*rest[:i], [items[0], *block], *rest[i + 1 :]]


@pytest.mark.parametrize("epsilon", [1.0, 2.5, 4.0, 6.0])
def test_the_blocks_are_the_best_of_all(epsilon):
    survey = some(6, epsilon, margins=0.004)
    costs = _Costs(survey.columns, [(i,) for i in range(6)], epsilon)

    def need(block):
        if len(block) == 1:
            return costs.alone[block[0]]
        cells = np.array([float(math.prod(survey.columns[i].symbols for i in block))])
        return max(float(costs.need(i, cells)[0]) for i in block)

    best = min(sum(need(block) for block in blocks) for blocks in partitions(list(range(6))))
    assert survey.people == math.ceil(best) or survey.people < best  # a lower threshold may need fewer still
    assert survey.people > 0.99 * best
    for block, columns in ((block, [survey.columns[i] for i in block]) for block in ([0, 1], [1, 2, 3])):
        laws = ideal_laws(epsilon, tuple(c.symbols for c in columns), len(columns))
        assert need(block) == pytest.approx(max(c.need(p, q) for c, (p, q) in zip(columns, laws, strict=True)))


def test_more_privacy_or_more_questions_need_more_people_and_blocks_never_do():
    people = [some(9, epsilon).people for epsilon in (0.5, 1, 1.5, 2, 3, 4, 5, 6, 8)]
    assert people == sorted(people, reverse=True)
    counted = [some(count, 3.0).people for count in range(1, 24)]
    assert counted[:17] == sorted(counted[:17])
    for count, epsilon in product((1, 5, 12, 17, 18, 25, 60), (0.5, 2.0, 4.0)):
        survey = some(count, epsilon)
        assert survey.people <= survey.people_one_each
    assert some(10, 4.0, sizes=(2,)).people < 0.45 * some(10, 4.0, sizes=(2,)).people_one_each


def test_yes_no_pays_from_the_crossover_on():
    for size, crossover in ((2, 1.3425), (3, 2.52), (5, 3.79)):
        for epsilon, pays in ((crossover - 0.02, False), (crossover + 0.02, True)):
            survey = dc.Questionnaire([dc.Choice(f"q{i}", list("abcde")[:size]) for i in range(2)], epsilon)
            evenly = subset_total(size, epsilon) * 2 > total(*ideal_laws(epsilon, (size,) * 2, 2)[0], size)
            assert evenly == pays
            assert (len(survey.blocks) == 1) == pays or size > 2  # margins are planned for shares of one half


def test_many_questions_are_divided_nearly_as_well_as_a_few():
    survey = some(16, 4.0)
    units = [(i,) for i in range(16)]
    costs = _Costs(survey.columns, units, 4.0)

    def people(blocks):
        found = 0.0
        for block in blocks:
            places = [unit[0] for unit in block]
            cells = np.array([float(math.prod(survey.columns[i].symbols for i in places))])
            alone_one = len(places) == 1
            found += costs.alone[places[0]] if alone_one else max(float(costs.need(i, cells)[0]) for i in places)
        return found

    exact, near, improved = (people(f(survey.columns, units, 4.0)) for f in (_best, _neighbours, _many))
    assert exact <= improved <= near
    assert improved < 1.03 * exact


def test_one_question_each():
    survey = some(6, 6.0, method="one-question")
    assert survey.people == survey.people_one_each
    assert all(len(block.questions) == 1 for block in survey.blocks)
    assert len(some(6, 6.0, method="one-question", tables=[("q0", "q1")]).blocks) == 5


def test_a_table_puts_its_questions_together():
    survey = some(6, 1.0, tables=[("q0", "q3")])
    assert ("q0", "q3") in [block.questions for block in survey.blocks]
    with pytest.raises(dc.DiscreetError, match="two choices or options"):
        dc.Questionnaire([dc.Choice("a"), dc.Number("b", 0, 1)], 1, tables=[("a", "b")])
    with pytest.raises(dc.DiscreetError, match="pairs of different"):
        dc.Questionnaire([dc.Choice("a"), dc.Choice("b")], 1, tables=[("a", "a")])


def test_the_certificate_of_a_block_is_its_enumerated_ratio():
    survey = dc.Questionnaire([dc.Choice("a"), dc.Choice("b", [1, 2, 3])], 4.0)
    (channel,) = survey.round([]).channels
    assert channel.key == "a + b"
    laws = [channel.mechanism.law(i) for i in range(6)]
    worst = max(max(column) / min(column) for column in zip(*laws, strict=True))
    assert worst == channel.mechanism.certificate.ratio
    assert 4.0 - 1e-9 < channel.mechanism.certificate.epsilon <= 4.0


def test_who_is_asked_what_does_not_depend_on_answers():
    survey = dc.Questionnaire(
        [dc.Choice("a"), dc.Choice("b", when="a = 'yes'"), dc.Number("c", 0, 1)], 1.0, refusal=True
    )
    document = json.dumps(write_round(survey.round([])))
    asked = read_round(json.loads(document))
    assert [c.key for c in asked.channels] == ["a", "b", "c"]
    for channel in asked.channels:  # every answer gives a report of the same length, with the same number of words
        reports = {
            len(
                channel.mechanism.pack(
                    channel.mechanism.privatize(channel.encoder.encode_total([survey.row(answers)]).inputs)
                )
            )
            for answers in ({"a": "yes", "b": None, "c": 0.5}, {"a": None}, {"a": "no"})
        }
        assert len(reports) == 1


# -- answers ---------------------------------------------------------------------------------------------------

ANSWERS = [
    ("yes", 1, 20, [], ["cat"]),
    ("no", 3, 50, ["cough"], []),
    ("no", 3, 75, ["cough", "rash"], ["dog"]),
    (None, 2, None, None, None),
    ("yes", None, 30, ["fever", "cough", "rash"], ["cat"]),
    ("no", 1, 41, ["rash"], ["fish"]),
    ("no", 2, 22, [], []),
    ("yes", 3, 64, ["fever"], ["dog"]),
    ("no", 3, None, ["cough"], []),
    ("no", 1, 29, [], ["cat"]),
]
PEOPLE = [dict(zip(("smokes", "sleep", "age", "symptoms", "pets"), row, strict=True)) for row in ANSWERS]


def health(epsilon=4.0, **options):
    return dc.Questionnaire(
        [
            dc.Choice("smokes"),
            dc.Choice("sleep", [1, 2, 3], when="smokes = 'no'"),
            dc.Number("age", 0, 100),
            dc.Ticks("symptoms", ["cough", "fever", "rash"], together=2),
            dc.Ticks("pets", ["cat", "dog", "fish", "bird", "snail", "horse"], most=1, together="set"),
        ],
        epsilon,
        refusal=True,
        **options,
    )


def exact_history(survey, rows, n=10**10):
    """The tallies that are expected of n people, rounded: estimates from them are the truth."""
    (asked,) = [survey.round([])]
    encoded = survey.read_rows(rows)
    tallies = {}
    for channel in asked.channels:
        inputs = channel.encoder.encode(encoded).inputs
        mechanism = channel.mechanism
        if mechanism.numeric:
            means = np.mean([np.array(mechanism.operator() @ spread_of(mechanism, x)) for x in inputs], axis=0)
        elif mechanism.has_operator:
            means = np.array(mechanism.operator() @ (np.bincount(inputs, minlength=mechanism.size) / len(inputs)))
        tallies[channel.key] = Tally(mechanism.id, n, np.rint(n * means).astype(np.int64))
    return [Answered(asked, tallies)]


def spread_of(mechanism, x):
    knots = np.asarray(mechanism.inputs)
    mass = np.zeros(len(knots))
    inside = np.flatnonzero(np.abs(knots) <= 1)
    if abs(x) > 1:
        mass[np.argmax(np.abs(knots))] = 1
        return mass
    left = int(np.clip(np.searchsorted(knots[inside], x, side="right") - 1, 0, len(inside) - 2))
    share = (x - knots[inside][left]) / (knots[inside][left + 1] - knots[inside][left])
    mass[inside[left]], mass[inside[left + 1]] = 1 - share, share
    return mass


def test_expected_counts_give_the_truth():
    survey = health(tables=[("smokes", "symptoms/cough")])
    answer = survey.estimate(exact_history(survey, PEOPLE))
    close = {"abs": 2e-4}
    assert answer["smokes"].raw == pytest.approx([3 / 9, 6 / 9], **close)
    assert answer["smokes"].refused.value == pytest.approx(0.1, **close)
    assert answer["smokes"].concerned is None
    assert answer["sleep"].concerned.value == pytest.approx(0.6, **close)
    assert answer["sleep"].refused.value == pytest.approx(0.0, **close)
    assert answer["sleep"].raw == pytest.approx([2 / 6, 1 / 6, 3 / 6], **close)
    assert answer["sleep"].mean.value == pytest.approx(13 / 6, **close)
    assert answer["age"].value == pytest.approx(np.mean([20, 50, 75, 30, 41, 22, 64, 29]), abs=0.02)
    assert answer["age"].refused.value == pytest.approx(0.2, **close)
    assert answer["symptoms"].raw == pytest.approx([4 / 9, 2 / 9, 3 / 9], **close)
    assert answer["symptoms"].mean.value == pytest.approx(1.0, **close)
    assert answer["symptoms"].refused.value == pytest.approx(0.1, **close)
    assert answer["symptoms/fever"].value == pytest.approx(2 / 9, **close)
    assert answer["pets"].raw == pytest.approx([3 / 9, 2 / 9, 1 / 9, 0, 0, 0], **close)
    assert answer["pets"].refused.value == pytest.approx(0.1, **close)
    table = answer.table("smokes", "symptoms/cough")
    assert table.raw == pytest.approx([1 / 9, 2 / 9, 3 / 9, 3 / 9], **close)
    assert table.table.shape == (2, 2)
    assert answer.table("symptoms/cough", "smokes").raw == pytest.approx([1 / 9, 3 / 9, 2 / 9, 3 / 9], **close)
    assert [row["smokes"] for row in table.rows()] == ["yes", "yes", "no", "no"]


def test_a_low_threshold_gives_the_truth_too():
    sizes, f = (2, 3, 2), np.arange(1.0, 13).reshape(2, 3, 2) / 78
    m = agreement(5.0, sizes, 2)
    counts = np.rint(1e12 * np.array(m.operator() @ f.reshape(-1))).astype(np.int64)
    joint = Joint.read(m, Tally(m.id, int(counts.sum()), counts), (0, 1, 2), sizes)
    assert joint.shares(1).f == pytest.approx(f.sum(axis=(0, 2)), abs=1e-9)
    assert joint.pair(0, 2).f == pytest.approx(f.sum(axis=1).reshape(-1), abs=1e-9)
    assert joint.pair(2, 0).f == pytest.approx(f.sum(axis=1).T.reshape(-1), abs=1e-9)
    runs = np.array([
        Joint.read(m, Tally(m.id, 4000, c), (0, 1, 2), sizes).pair(0, 2).f
        for c in generator(1).multinomial(4000, np.array(m.operator() @ f.reshape(-1)), size=2000)
    ])  # fmt: skip
    stated = joint.pair(0, 2).covariance * joint.n / 4000
    assert np.cov(runs.T) == pytest.approx(stated, abs=0.12 * stated.diagonal().max())


def truths(rows):
    survey = health()
    answer = survey.estimate(exact_history(survey, rows))
    return {(row["question"], row["label"]): row["value"] for row in answer.rows()}


def test_intervals_hold_the_truth_as_often_as_they_say():
    survey, wanted = health(2.0), truths(PEOPLE)
    runs, inside, together = 150, [], 0
    encoded = survey.read_rows(PEOPLE)
    for seed in range(runs):
        answer = dc.simulate(survey, encoded, seed=seed, people=20_000)
        found = {(row["question"], row["label"]): row for row in answer.rows()}
        inside.append([row["low"] - 1e-3 <= wanted[key] <= row["high"] + 1e-3 for key, row in found.items()])
        wide = answer.simultaneous()
        held = [row["low"] - 1e-3 <= wanted[row["question"], row["label"]] <= row["high"] + 1e-3 for row in wide.rows()]
        together += all(held)
    each = np.mean(inside, axis=0)
    assert np.mean(inside) > 0.935
    assert each.min() > 0.86
    assert together / runs > 0.9


def test_everybody_refuses_or_nobody():
    survey = health(2.0)
    silent = [dict.fromkeys(PEOPLE[0])] * 5000
    answer = dc.simulate(survey, silent, seed=1)
    assert answer["smokes"].intervals.tolist() == [[0, 1], [0, 1]]
    assert answer["age"].interval == (0, 100)
    assert answer["smokes"].refused.interval[1] == 1
    assert any("too few" in line for line in answer["smokes"].assumed)
    willing = [PEOPLE[1]] * 5000
    answer = dc.simulate(survey, willing, seed=1)
    for name in ("smokes", "sleep", "age", "symptoms", "pets"):
        assert answer[name].refused.interval[0] == 0


def test_an_answer_has_one_face():
    survey = health(3.0, level=0.9)
    answer = dc.simulate(survey, PEOPLE * 500, seed=3)
    assert set(answer) == {"smokes", "sleep", "age", "symptoms", "pets"}
    assert len(answer.value) == len(answer.interval) == 2 + 3 + 1 + 3 + 6
    wide = answer.simultaneous()
    assert wide.family == 15
    for row, wider in zip(answer.rows(), wide.rows(), strict=True):
        assert row["value"] == wider["value"]
        assert wider["low"] <= row["low"]
        assert wider["high"] >= row["high"]
    assert answer.at(0.5)["smokes"].intervals[0, 1] < answer["smokes"].intervals[0, 1]
    watched = survey.watch(exact_history(survey, PEOPLE, 10_000), people=20_000)
    assert watched.interval_kind == "watched"
    json.dumps(answer.to_dict())
    assert "smokes: no" in answer._repr_html_()
    assert "prefer not to say" in answer["smokes"]._repr_html_()
    with pytest.raises(dc.DiscreetError, match="name must be one of"):
        answer["colour"]
    with pytest.raises(dc.DiscreetError, match="not asked of the same people"):
        answer.table("smokes", "symptoms/fever")


@pytest.mark.needs("pandas")
def test_answers_and_rows_as_frames():
    import pandas

    survey = health(3.0)
    by_frame = dc.simulate(survey, pandas.DataFrame(PEOPLE * 100), seed=3)
    by_rows = dc.simulate(survey, PEOPLE * 100, seed=3)
    by_columns = dc.simulate(survey, {name: [row[name] for row in PEOPLE * 100] for name in PEOPLE[0]}, seed=3)
    assert by_frame.rows() == by_rows.rows() == by_columns.rows()
    frame = by_frame.to_frame()
    assert list(frame.columns[:5]) == ["question", "label", "value", "low", "high"]
    assert by_frame["smokes"].to_frame().loc["yes", "frequency"] == by_frame["smokes"].frequencies[0]


def test_a_block_without_reports_leaves_the_others_their_answers():
    survey = health(2.0)
    (answered,) = exact_history(survey, PEOPLE)
    tallies = dict(answered.tallies)
    key = next(key for key in tallies if key == "age")
    tallies[key] = answered.round.channel(key).mechanism.tally([])
    answer = survey.estimate([Answered(answered.round, tallies)])
    assert "age" not in answer
    with pytest.raises(dc.DiscreetError, match=r"'age' has no answer: .* needs at least 2 reports"):
        answer["age"]


def test_plans_and_rounds_are_read_again():
    survey = health(4.0, tables=[("smokes", "symptoms/cough")])
    again = read_plan(json.loads(json.dumps(survey.to_dict())))
    assert again.blocks == survey.blocks
    asked = read_round(json.loads(json.dumps(write_round(survey.round([])))))
    history = exact_history(survey, PEOPLE)
    reread = again.estimate([Answered(asked, history[0].tallies)])
    assert reread.rows() == survey.estimate(history).rows()
    auto = dc.Questionnaire([dc.Ticks("t", list("abcdef"))], 3.0)
    assert auto.to_dict()["questions"][0]["together"] == 3


def test_ticks_are_asked_in_the_cheapest_way():
    few = dc.Questionnaire([dc.Ticks("t", [str(i) for i in range(30)], most=2)], 1.0)
    any_set = dc.Questionnaire([dc.Ticks("t", [str(i) for i in range(30)])], 1.0)
    assert few.blocks[0].mechanism == "padded-subset"
    assert few.people < 0.6 * any_set.people
    half = dc.Questionnaire([dc.Ticks("t", [str(i) for i in range(10)], most=9)], 4.0)
    assert half.blocks[0].mechanism == "randomized-response"
    rows = [{"t": ["1", "5"]}, {"t": []}] * 5000
    answer = dc.simulate(few, rows, seed=1)
    held = {row["label"]: (row["low"], row["high"]) for row in answer["t"].rows()}
    assert held["1"][0] < 0.5 < held["1"][1]
    assert held["2"][0] == 0


# -- reading ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"smokes": "HIV", "age": 1}, "row 1: the answer to 'smokes' must be one of its 2 options"),
        ({"smokes": "yes", "age": "HIV"}, "row 1: the answer to 'age' must be a finite number"),
        ({"smokes": "yes", "age": None}, "row 1 has no answer to 'age'; allow it with refusal=True"),
        ({"smokes": None, "age": 4}, "row 1 has no answer to 'smokes'"),
        ({"smokes": "yes", "age": 4, "t": ["HIV"]}, "row 1: the answer to 't' must be a list of its options"),
        ({"smokes": "yes", "age": 4, "t": "a"}, "row 1: the answer to 't' must be a list of its options"),
        ({"smokes": ["HIV"], "age": 4}, "row 1: the answer to 'smokes'"),
    ],
)
def test_wrong_answers_are_named_without_their_value(row, words):
    survey = dc.Questionnaire([dc.Choice("smokes"), dc.Number("age", 0, 9), dc.Ticks("t", ["a", "b"])], 1.0)
    with pytest.raises(dc.DomainError) as error:
        survey.read_rows([{"smokes": "no", "age": 3, "t": []}, row])
    assert words in str(error.value)
    assert "HIV" not in str(error.value)


def test_rows_become_symbols_and_numbers():
    survey = health()
    assert survey.row(PEOPLE[2]) == [1, 2, 75.0, 1, 1, 2]
    assert survey.row(PEOPLE[3]) == [2, 4, None, 4, 2, 64]  # sleep does not apply to who does not say whether
    assert survey.row({"smokes": True, "age": 3}) == [0, 4, 3.0, 4, 2, 64]
    assert survey.row({"smokes": "no", "sleep": "prefer not to say", "age": 3, "symptoms": [], "pets": []})[1] == 3
    rows = survey.read_rows(PEOPLE)
    assert (survey.read_rows(rows) == rows)[~np.isnan(rows)].all()
    with pytest.raises(dc.DomainError, match="rows must have 6 numbers"):
        survey.read_rows(rows[:, :3])
    with pytest.raises(dc.DomainError, match="row 0 must be a dict"):
        survey.read_rows([7])


@pytest.mark.parametrize(
    ("text", "answers", "holds"),
    [
        ("a = 'x'", {"a": "x"}, True),
        ("{a b} != 'x' or c > 2", {"a b": "x", "c": 3}, True),
        ("a = 'x' and c > 2", {"a": "x", "c": 2}, False),
        ("(a = 'x' or a = 'y') and c <= 2", {"a": "y", "c": 2}, True),
        ("{a} = true", {"a": "yes"}, True),
        ("a < 3", {"a": None}, False),
        ("a < 3", {}, False),
        ("a = 3", {"a": "3"}, True),
    ],
)
def test_conditions(text, answers, holds):
    assert read_condition(text).holds(answers) is holds


@pytest.mark.parametrize(
    "text", ["", "a", "a =", "a = b", "a contains 'x'", "a = 'x' and", "(a = 1", "__import__('os')", "a = 1 b"]
)
def test_other_conditions_are_refused(text):
    with pytest.raises(dc.DiscreetError, match="when must compare answers"):
        dc.Choice("q", when=text)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: dc.Questionnaire([], 1), "at least one"),
        (lambda: dc.Questionnaire([dc.Choice("a"), dc.Choice("a")], 1), "'a' is there twice"),
        (lambda: dc.Questionnaire([dc.Choice("a", when="b = 1")], 1), "question of this survey, not 'b'"),
        (lambda: dc.Questionnaire([dc.Choice("a", when="a = 1")], 1), "about other questions"),
        (lambda: dc.Questionnaire([dc.Choice("a", margin=2)], 1), "share below 1"),
        (lambda: dc.Questionnaire([dc.Choice("a")], 1, refusal=1), "refusal must be True or False"),
        (lambda: dc.Questionnaire([dc.Choice("a")], 1, margin=3), "has no option 'margin'"),
        (lambda: dc.Choice("a", ["x", "prefer not to say"]), "must not contain 'prefer not to say'"),
        (lambda: dc.Choice("a", ["x"]), "at least 2"),
        (lambda: dc.Choice(""), "name of a question"),
        (lambda: dc.Number("a", 3, 1), "low must be below high"),
        (lambda: dc.Number("a", 0, 1, margin=-1), "margin of 'a'"),
        (lambda: dc.Ticks("a", ["x", "y"], 3), "most of 'a'"),
        (lambda: dc.Ticks("a", ["x", "y"], together="set"), "needs most"),
    ],
)
def test_wrong_questions_are_named(build, words):
    with pytest.raises(dc.DiscreetError, match=words):
        build()


def test_one_column_by_itself_needs_what_its_mechanism_says():
    survey = dc.Questionnaire([dc.Choice("a", list("abcdefgh")), dc.Number("x", -1, 1, margin=0.02)], 1.0)
    z = 1.959963984540054
    source = survey.round([]).channels[0].mechanism
    seen = (source.p + source.q) / 2
    need = seen * (1 - seen) / (source.p - source.q) ** 2 * (z / 0.02) ** 2
    assert alone(survey.columns[0], 1.0) == pytest.approx(need, rel=1e-6)
    assert survey.people_alone["x"] == pytest.approx(number_variance(1.0, refusal=False) * (z / 0.02) ** 2)
