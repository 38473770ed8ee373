import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.secret_groups import Cells
from discreet.estimation.tables import independence
from discreet.plans.base import Answered
from discreet.plans.groups.design import best_design, cost, rounded_law, subset_law
from discreet.plans.registry import read_plan

REFERENCE = json.loads((Path(__file__).parent.parent / "groups_reference.json").read_text())
WAGE = dc.Interval(0, 100)
STATES = dc.Categories(["Ohio", "Utah", "Iowa", "Maine", "Texas"])
MEAN = dc.Mean(WAGE, epsilon=1, method="duchi")


def keys(section):
    return [key for key in REFERENCE[section] if key != "_"]


def law_of(mean):
    return np.array([(1 - mean) / 2, (1 + mean) / 2])


def parsed(name):
    words = name.split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


# -- the closed form -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", keys("cost_two_levels"))
def test_costs_are_the_reference(name):
    known, at = REFERENCE["cost_two_levels"][name], parsed(name)
    groups = int(at["G"])
    for k, wanted in ((known["k"], known["cost"]), (1, known["randomized_response"])):
        found = float(cost(at["eps"], groups, law_of(at["mu"]), k, 1 / groups)[0])
        assert math.isclose(found, wanted, rel_tol=1e-7)


@pytest.mark.parametrize("name", keys("cost_unequal_shares"))
def test_costs_of_unequal_groups_are_the_reference(name):
    at = parsed(name)
    size = 2 * int(at["G"])
    # The reference takes the k of least mean variance.
    k = dc.mechanism("subset-selection", at["eps"], size=size).k
    found = float(cost(at["eps"], int(at["G"]), law_of(at["mu"]), k, at["pi"])[0])
    assert math.isclose(found, REFERENCE["cost_unequal_shares"][name], rel_tol=1e-7)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("name", keys("levels"))
def test_knots_and_subset_are_chosen_as_in_the_reference(name):
    from scipy.stats import beta

    known, at = REFERENCE["levels"][name], parsed(name)
    mean, groups = at["mu"], int(at["G"])
    edges = np.linspace(0, 1, 402)
    weights = np.diff(beta.cdf(edges, (1 + mean) / 2 * 3, (1 - mean) / 2 * 3))
    law = rounded_law(edges[1:] + edges[:-1] - 1, weights, known["K"])
    assert math.isclose(float(cost(at["eps"], groups, law, known["k"], 1 / groups)[0]), known["cost"], rel_tol=1e-6)
    if mean == 0.5:
        chosen = best_design(at["eps"], groups)
        assert (chosen.levels, chosen.k) == (known["K"], known["k"])


@pytest.mark.parametrize(("groups", "levels", "k"), [(2, 2, 1), (3, 2, 2), (3, 3, 3), (4, 2, 3), (2, 4, 2), (2, 5, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_closed_form_is_that_of_the_listed_reports(groups, levels, k, epsilon):
    size = groups * levels
    member = np.array([[v in chosen for v in range(size)] for chosen in itertools.combinations(range(size), k)])
    weights = np.where(member.T, math.exp(epsilon), 1.0)
    channel = weights / weights.sum(axis=1, keepdims=True)
    p, q, _, _ = (float(part[0]) for part in subset_law(epsilon, size, k))
    decode = (member - q) / (p - q)
    assert np.allclose(channel @ decode, np.eye(size))
    law, knots = np.random.default_rng(1).dirichlet(np.ones(levels)), np.linspace(-1, 1, levels)
    for share in (0.1, 1 / groups, 0.6):
        psi = decode[:, :levels] @ (knots - law @ knots)
        people = np.concatenate([share * law, np.full(size - levels, (1 - share) / (size - levels))])
        exact = (people @ channel) @ psi**2
        assert math.isclose(float(cost(epsilon, groups, law, k, share)[0]), exact, rel_tol=1e-12)


@pytest.mark.parametrize("groups", [2, 5, 51])
def test_the_published_bernoulli_group_mean_is_randomised_response_over_the_cells(groups):
    e = math.exp(1.0)
    first = e / (2 * e / (e + 1))  # the group is asked at what the bit leaves
    kept, moved = first / (first + groups - 1), 1 / (first + groups - 1)
    published = np.full((2 * groups, 2 * groups), moved / 2)
    for g in range(groups):
        for end in (0, 1):
            published[2 * g + end, 2 * g : 2 * g + 2] = kept / (e + 1)
            published[2 * g + end, 2 * g + end] = kept * e / (e + 1)
    response = dc.mechanism("randomized-response", 1.0, size=2 * groups).matrix()
    assert np.abs(published - response).max() < 1e-12


def test_no_fixed_design_is_cheaper():
    for groups, epsilon, mean in itertools.product(
        (2, 3, 5, 10, 20, 51, 250), (0.25, 0.5, 1, 2, 3, 4, 6), (0.25, 0.5, 0.8)
    ):
        law, share = law_of(mean), 1 / groups
        size = 2 * groups
        chosen = cost(epsilon, groups, law, np.arange(1, size // 2 + 1), share).min()
        assert chosen <= cost(epsilon, groups, law, 1, share)[0] * (1 + 1e-12)  # the published method
        # Half of epsilon for the group by the best subset, half for the number by a perfect bit.
        half = math.exp(epsilon / 2)
        p, q, _, _ = subset_law(epsilon / 2, groups, np.arange(1, max(2, groups // 2 + 1)))
        inside = (p * (1 - q) ** 2 + (1 - p) * q**2) / (p - q) ** 2
        split = (share * inside + (1 - share) * q * (1 - q) / (p - q) ** 2).min()
        assert chosen < split * (((half + 1) / (half - 1)) ** 2 - mean**2)


# -- decoding --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", keys("decoded"))
def test_decoded_means_are_the_reference(name):
    known, at = REFERENCE["decoded"][name], parsed(name)
    groups = int(at["G"])
    p, q, own, other = (float(part[0]) for part in subset_law(at["eps"], 2 * groups, known["k"]))
    cells = Cells.of(np.array(known["counts"]), int(at["n"]), p, q, (own, other), groups)
    difference, error = cells.difference(0, 1)
    found = [cells.sizes[0], cells.means[0], cells.errors[0], *cells.fieller(0, 0.95), difference, error]
    wanted = [known["share"], known["mean"], known["se"], *known["fieller"], *known["difference_0_1"]]
    assert np.abs(np.array(found) - wanted).max() < 2e-8


def draw(plan, shares, means, people, runs, seed):
    """Yield decoded cells of runs, drawn from the exact law of the tally; numbers lie at the ends of the domain."""
    oracle, groups = plan._mechanism, plan.by.size
    rng, levels = np.random.default_rng(seed), plan.design.levels
    law = np.zeros((groups, levels))
    law[:, 0], law[:, -1] = shares * (1 - means) / 2, shares * (1 + means) / 2
    for _ in range(runs):
        tally = oracle.draw_tally(np.arange(groups * levels, dtype=float), law.ravel(), people, rng)
        yield Cells.of(oracle.support_counts(tally), people, oracle.p, oracle.q, oracle.pair_law, groups)


@pytest.mark.parametrize(("people", "epsilon"), [(4000, 1.0), (20_000, 1.0), (1500, 3.0)])
def test_intervals_of_means_cover_weak_groups_too(people, epsilon):
    plan = dc.Groups(dc.Mean(WAGE, epsilon), by=STATES, private=True)
    shares, means = np.array([0.05, 0.1, 0.2, 0.3, 0.35]), np.array([-0.9, 0.4, 0.0, 0.7, -0.3])
    covered, gaps, weak = [], [], []
    for cells in draw(plan, shares, means, people, 500, 1):
        ends = np.array([cells.fieller(group, 0.95) for group in range(5)])
        covered.append((ends[:, 0] <= means) & (means <= ends[:, 1]))
        gap, error = cells.difference(3, 4)
        gaps.append(abs(gap - 1.0) < 1.96 * error)
        weak.append(cells.sizes[0] < 4 * cells.size_errors[0])
    assert np.mean(covered) >= 0.94
    assert np.mean(np.array(covered)[:, 0]) >= 0.94  # the weakest
    if people >= 20_000:
        assert 0.92 <= np.mean(gaps) <= 0.98
    assert np.mean(weak) > 0.5 or people > 4000 or epsilon > 1


def test_the_level_of_the_test_that_secret_groups_differ():
    plan = dc.Groups(dc.Mean(WAGE, 1.0), by=STATES, private=True)
    shares, means = np.array([0.1, 0.15, 0.2, 0.25, 0.3]), np.full(5, 0.4)
    covariance = plan._mechanism.frequency_covariance
    rejected = [
        independence(cells.frequencies, cells.n, covariance).p_value < 0.05
        for cells in draw(plan, shares, means, 20_000, 2000, 3)
    ]
    assert 0.03 <= np.mean(rejected) <= 0.07


def test_a_group_of_nobody_may_have_any_mean():
    plan = dc.Groups(MEAN, by=STATES, private=True)
    shares = np.array([0.5, 0.5, 0.0, 0.0, 0.0])
    wide = [np.ptp(cells.fieller(2, 0.95)) for cells in draw(plan, shares, np.zeros(5), 20_000, 40, 5)]
    assert np.median(wide) == 2.0


def test_partial_pooling_is_closer_where_groups_are_weak():
    labels = dc.Categories(range(20))
    plan = dc.Groups(MEAN, by=labels, private=True)
    means = np.random.default_rng(1).normal(0.2, 0.1, 20)
    raw, near = [], []
    for cells in draw(plan, np.full(20, 0.05), means, 30_000, 10, 2):
        raw.append(np.square(cells.means - means).mean())
        near.append(np.square(cells.pooled(0.95)[0] - means).mean())
    assert np.mean(near) < 0.5 * np.mean(raw)


# -- the plan --------------------------------------------------------------------------------------------------


def people(n=40_000, seed=1):
    rng = np.random.default_rng(seed)
    codes = rng.choice(5, n, p=[0.1, 0.15, 0.2, 0.25, 0.3])
    values = np.clip(rng.normal(np.array([20, 35, 50, 70, 85])[codes], 10), 0, 100)
    return [(STATES.labels[code], value) for code, value in zip(codes.tolist(), values.tolist(), strict=True)]


def test_secret_groups_have_sizes_means_and_differences():
    plan = dc.Groups(dc.Mean(WAGE, epsilon=3), by=STATES, private=True)
    answer = dc.simulate(plan, people(), seed=1)
    truth = {label: np.mean([v for one, v in people() if one == label]) for label in STATES.labels}
    for label in STATES.labels:
        assert abs(answer[label].value - truth[label]) < 4
    assert abs(answer.sizes["Texas"]["frequency"] - 0.3) < 0.03
    assert answer.differ().p_value < 1e-9
    assert answer.n == 40_000 == answer.compare().n
    gap = answer.compare("Ohio", "Texas")
    assert gap.value == pytest.approx(answer["Ohio"].value - answer["Texas"].value)
    assert gap.margin != pytest.approx(np.hypot(answer["Ohio"].margin, answer["Texas"].margin), rel=1e-9)
    assert dc.compare(answer["Ohio"], answer["Texas"]).interval == gap.interval
    assert abs(answer.overall.value - 58) < 6
    assert answer.rows()[0]["share"] == pytest.approx(0.1, abs=0.03)
    assert json.loads(json.dumps(answer.to_dict()))["differ"]["degrees"] == 4 * (plan.design.levels - 1)
    assert any("times as many people as a public label" in sentence for sentence in answer.assumed)
    assert not answer.details["overall_says_more"]
    wide = answer.simultaneous()
    assert wide["Ohio"].margin > answer["Ohio"].margin
    assert set(answer.pooled) == set(STATES.labels)
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()


def test_too_few_people_are_told_so():
    answer = dc.simulate(dc.Groups(MEAN, by=STATES, private=True), people(300), seed=1)
    weak = [one for one in answer.groups.values() if not one.details["enough"]]
    assert weak
    assert all("too few people in the group" in one.assumed[-1] for one in weak)
    assert answer.details["overall_says_more"]
    assert "one overall mean says more" in answer.assumed[-1]
    with pytest.raises(dc.DiscreetError, match="at least 2 reports, not 1"):
        dc.simulate(dc.Groups(MEAN, by=STATES, private=True), people(1), seed=1)


def test_a_secret_label_costs_about_as_many_times_more_people_as_there_are_groups():
    for groups in (5, 20, 51):
        needed = dc.Groups(dc.Mean(WAGE, 1.0), by=dc.Categories(range(groups)), private=True).people_for(5.0)
        assert 0.5 * groups < needed["secret"] / needed["public"] < 2.5 * groups


def test_what_secret_groups_cannot_be_asked():
    with pytest.raises(dc.DiscreetError, match="must be a Mean"):
        dc.Groups(dc.Frequency(dc.Categories(["x", "y"]), 1), by=STATES, private=True)
    with pytest.raises(dc.DiscreetError, match="private=False has no option 'levels'"):
        dc.Groups(MEAN, by=STATES, levels=3)
    with pytest.raises(dc.DiscreetError, match="levels must be"):
        dc.Groups(MEAN, by=STATES, private=True, levels=1)
    with pytest.raises(dc.DiscreetError, match="private must be"):
        dc.Groups(MEAN, STATES, 1)
    with pytest.raises(dc.DiscreetError, match="the range of secret groups must be known"):
        dc.Groups(dc.Mean(WAGE, 1.0, range="learn"), by=STATES, private=True)


def test_tallies_of_secret_groups_add_up():
    plan = dc.Groups(MEAN, by=STATES, private=True)
    asked = plan.round([])
    channel = asked.channels[0]
    rows = people(4000)
    mechanism, halves = channel.mechanism, (channel.encoder.encode(half).inputs for half in (rows[:1500], rows[1500:]))
    parts = [mechanism.tally(mechanism.privatize(half, dc.Entropy.seeded(1))) for half in halves]
    together = plan.estimate([Answered(asked, {"all": parts[0] + parts[1]})])
    assert together.n == 4000
    assert np.allclose(
        together.joint.cells.frequencies * 4000,
        sum(plan.estimate([Answered(asked, {"all": part})]).joint.cells.frequencies * part.n for part in parts),
    )


@pytest.mark.needs("pyarrow")
def test_secret_groups_in_frames_leave_no_label_behind():
    import pandas as pd

    rows = people(20_000)
    frame = pd.DataFrame({"state": [label for label, _ in rows], "wage": [value for _, value in rows]})
    frame.loc[:9, "state"] = None
    frame.loc[10:19, "wage"] = None
    plan = dc.Groups(dc.Mean(WAGE, epsilon=3), by=STATES, private=True, name="state")
    reports = dc.privatize_frame(frame, {"wage": plan}, entropy=dc.Entropy.seeded(1))
    assert list(reports.columns) == ["wage"]
    answer = dc.estimate_frame(reports)["wage"]
    assert answer.n == 19_980
    assert abs(answer["Texas"].value - 85) < 6
    with pytest.raises(dc.DomainError, match="not one of the 5 categories"):
        dc.privatize_frame(frame.assign(state="Atlantis"), {"wage": plan})
    with pytest.raises(dc.DomainError, match="missing"):
        dc.privatize_frame(frame, {"wage": plan}, missing="error")


def test_secret_groups_of_any_size_are_simulated_from_their_law():
    plan = dc.Groups(dc.Mean(WAGE, epsilon=1), by=STATES, private=True)
    answer = dc.simulate(plan, [("Ohio", 20.0), ("Utah", 70.0)], seed=1, people=10**9)
    assert abs(answer["Utah"].value - 70) < 0.5
    assert abs(answer["Ohio"].details["share"] - 0.5) < 0.001
