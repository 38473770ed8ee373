import json
import math
from statistics import NormalDist

import numpy as np
import pytest

import discreet as dc
from discreet.advice import SHAPES, Population, epsilon_needed, error_curve, knots_prior, rehearsal, second_round
from discreet.advice.candidates import ask
from discreet.estimation.functionals import Variance as VarianceOf
from discreet.mechanisms.numeric.privrm import METHODS as RANGES
from discreet.mechanisms.registry import entries
from discreet.metrics import wasserstein
from discreet.plans.base import Answered
from discreet.plans.distribution.plan import METHODS as DISTRIBUTIONS
from discreet.plans.encoders import SquaredDeviation
from discreet.plans.mean.decoding import sample_variance
from discreet.plans.range_mean.designs import Belief, predicted_variance
from discreet.plans.registry import read_plan

WAGE = dc.Interval(0, 100_000)


def test_means_are_ranked_by_worst_case_and_minimax_leads():
    for epsilon in (0.5, 1.0, 3.0):
        advice = dc.advise("mean", epsilon=epsilon, people=5000)
        assert advice.best.method == "minimax"
        errors = [option.error for option in advice]
        assert np.allclose(errors, sorted(errors), rtol=1e-5)
        names = {option.method for option in advice}
        assert {e.name for e in entries().values() if e.question == "mean" and not e.needs} <= names


def test_people_needed_are_those_that_give_the_error():
    advice = dc.advise("mean", epsilon=1, people=1000, domain=WAGE, error=500.0)
    for option in advice:
        again = dc.advise("mean", epsilon=1, people=option.people_needed, domain=WAGE)
        predicted = next(o.error for o in again if o.method == option.method)
        assert predicted <= 500.0
        assert predicted > 500.0 * 0.999


@pytest.mark.needs("scipy")
def test_a_prior_ranks_by_expected_variance_and_adds_the_adaptive_mechanism():
    prior = np.exp(-(np.linspace(-1, 1, 40) ** 2) * 30)
    advice = dc.advise("mean", epsilon=3, people=1000, prior=prior)
    assert advice.best.method == "adaptive-additive"
    assert advice.plan().round([]).channels[0].mechanism.name == "adaptive-additive"
    assert {"aaa", "np-aaa"} <= {option.method for option in advice if option.rounds == 2}
    assert math.isclose(sum(knots_prior(prior)), 1, abs_tol=1e-9)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("method", ["duchi", "piecewise-sub", "n-output", "minimax", "truncated-laplace"])
@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_predicted_errors_agree_with_simulation(method, epsilon):
    values = np.random.default_rng(1).beta(2, 5, 2000) * 100_000
    prior = np.histogram(values, bins=64, range=(0, 100_000))[0]
    option = next(o for o in dc.advise("mean", epsilon, 2000, domain=WAGE, prior=prior) if o.method == method)
    plan = dc.Mean(WAGE, epsilon, method=method)
    errors = [dc.simulate(plan, values, seed=s).value - values.mean() for s in range(400)]
    assert 0.88 < np.sqrt(np.mean(np.square(errors))) / option.error < 1.12


SETTINGS = {
    "skewed, epsilon 0.5": (lambda rng: rng.beta(2, 5, 1500), 0.5),
    "even, epsilon 1": (lambda rng: rng.random(1500), 1.0),
    "two ends, epsilon 2": (lambda rng: rng.integers(0, 2, 1500) * 0.98 + 0.01, 2.0),
    "narrow, epsilon 4": (lambda rng: rng.normal(0.4, 0.05, 1500).clip(0, 1), 4.0),
    "long tail, epsilon 1": (lambda rng: rng.exponential(0.1, 1500).clip(0, 1), 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_predicted_error_of_a_mean_is_within_a_tenth(setting):
    draw, epsilon = SETTINGS[setting]
    values = draw(np.random.default_rng(3)) * 100_000
    prior = np.histogram(values, bins=256, range=(0, 100_000))[0]
    advice = dc.advise("mean", epsilon, 1500, domain=WAGE, prior=prior)
    for option in advice:
        plan = advice.plan(option)
        repeats = 300 if option.rounds == 2 else 1500
        errors = [dc.simulate(plan, values, seed=s).value - values.mean() for s in range(repeats)]
        assert 0.9 < np.sqrt(np.mean(np.square(errors))) / option.error < 1.1, option.method


@pytest.mark.slow
@pytest.mark.parametrize(("size", "epsilon"), [(3, 0.5), (8, 1.0), (20, 2.0), (50, 1.0), (100, 3.0)])
def test_every_predicted_error_of_a_frequency_is_within_a_tenth(size, epsilon):
    rng = np.random.default_rng(4)
    domain = dc.Categories(range(size))
    values = rng.choice(size, 1500, p=rng.dirichlet(np.ones(size)))
    truth = np.bincount(values, minlength=size) / 1500
    for option in dc.advise("frequency", epsilon, 1500, domain=domain):
        plan = dc.Frequency(domain, epsilon, method=option.method, post="raw")
        errors = [dc.simulate(plan, values, seed=s).raw - truth for s in range(150)]
        sampling = (1 - 1 / size) / size / 1500
        noise = math.sqrt((option.margin / NormalDist().inv_cdf(0.975)) ** 2 - sampling)
        assert 0.9 < np.sqrt(np.mean(np.square(errors))) / noise < 1.1, option.method


SHOWN = {
    "few": (6, 1.0, 2000, 60),
    "some": (50, 1.0, 3000, 25),
    "many": (1119, 1.0, 10_000, 8),
    "one has nearly all": (40, 2.0, 5000, 60),
}


@pytest.mark.parametrize("case", SHOWN)
def test_the_predicted_error_is_that_of_the_frequencies_shown(case):
    size, epsilon, count, repeats = SHOWN[case]
    shares = 1 / np.arange(1, size + 1) ** 1.2
    if case == "one has nearly all":
        shares[0] = 20 * shares.sum()
    shares /= shares.sum()
    domain = dc.Categories(range(size))
    advice = dc.advise("frequency", epsilon, count, domain=domain, prior=shares)
    runs = [dc.simulate(advice.plan(), np.arange(size), people=count, weights=shares, seed=s) for s in range(repeats)]
    actual = np.sqrt(np.mean([np.square(run.frequencies - shares) for run in runs]))
    assert 0.85 < actual / advice.best.error < 1.15
    raw = np.sqrt(np.mean([np.square(run.raw - shares) for run in runs]))
    assert case in ("few",) or raw > 1.3 * advice.best.error  # it is not the error of the raw estimates


def test_what_is_expected_of_frequencies_can_be_a_sample_too():
    domain = dc.Categories(["a", "b", "c", "d"])
    by_sample = dc.advise("frequency", 1, 1000, domain=domain, sample=["a"] * 90 + ["b"] * 10)
    by_prior = dc.advise("frequency", 1, 1000, domain=domain, prior=[9, 1, 0, 0])
    assert by_sample.best.error == by_prior.best.error
    assert by_sample.basis != dc.advise("frequency", 1, 1000, domain=domain).basis
    with pytest.raises(dc.DiscreetError, match="prior must be 4 non-negative weights"):
        dc.advise("frequency", 1, 1000, domain=domain, prior=[1, 2])
    with pytest.raises(dc.DiscreetError, match="shape is for numbers"):
        dc.advise("frequency", 1, 1000, domain=domain, shape="bell")


# -- distributions, variances, range means -------------------------------------------------------------------------

NUMBER = dc.Interval(0, 100)
ASKED = {
    "distribution": {"bins": 32},
    "variance": {"bins": 32},
    "range-mean": {"low": 20, "high": 50},
}
PLACES = {
    "skewed, epsilon 1": ("skewed", 1.0, 4000),
    "bell, epsilon 2": ("bell", 2.0, 2000),
    "two peaks, epsilon 0.7": ("two-peaks", 0.7, 10_000),
    "heaped, epsilon 3": ("heaped", 3.0, 3000),
    "even, epsilon 1.5": ("even", 1.5, 5000),
}


def simulated_error(question, people, plan, users, repeats):
    """The error by full simulation: everybody drawn, every report privatised, of other seeds than the rehearsals'."""
    truth = people.variance if question == "variance" else people.within(20, 50)[1]
    # Of a variance only the histogram: its interval would take longer than all the rest.
    read = (getattr(plan, "distribution", None) if question == "variance" else None) or plan
    scores = []
    for seed in range(repeats):
        answer = dc.simulate(read, people.draw(users, 10_000 + seed), seed=20_000 + seed)
        if question == "distribution":
            scores.append(100 * wasserstein(people.histogram(answer.bins), answer.probabilities))
        elif read is not plan:
            scores.append(100**2 * VarianceOf()(answer.probabilities) - truth)
        else:
            scores.append(answer.value - truth)
    return np.mean(scores) if question == "distribution" else math.sqrt(np.mean(np.square(scores)))


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("question", ASKED)
def test_every_predicted_error_is_within_a_tenth(question, place):
    shape, epsilon, users = PLACES[place]
    people = Population.of(shape, NUMBER)
    advice = dc.advise(
        question, epsilon, users, repeats=60 if question == "distribution" else 200, domain=NUMBER, shape=shape,
        **ASKED[question],
    )  # fmt: skip
    for option in advice:
        repeats = 60 if question == "distribution" or "distribution/" in option.method else 200
        simulated = simulated_error(question, people, advice.plan(option), users, repeats)
        doubt = math.hypot(option.precision, 0.75 / math.sqrt(repeats))  # of both: neither is the truth
        assert abs(math.log(simulated / option.error)) < 0.1 + 2 * doubt, (option, simulated)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(
    ("question", "method", "repeats"),
    [
        ("distribution", "square-wave-ems", 40),
        ("variance", "two-round duchi", 300),
        ("range-mean", "outside-symbol/duchi", 200),
        ("range-mean", "direct", 50),
    ],
)
def test_predicted_errors_of_other_questions_agree_with_simulation(question, method, repeats):
    about = ASKED[question] | {"domain": NUMBER, "shape": "skewed"}
    advice = dc.advise(question, 2.0, 2000, methods=[method], repeats=40, **about)
    people = Population.of("skewed", NUMBER)
    simulated = simulated_error(question, people, advice.plan(), 2000, repeats)
    assert 0.85 < simulated / advice.best.error < 1.15


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("question", ASKED)
def test_every_method_of_a_plan_is_ranked_and_can_be_built(question):
    advice = dc.advise(question, 1.0, 500, domain=NUMBER, repeats=1, **(ASKED[question] | {"shape": "bell"}))
    errors = [option.error for option in advice if not option.biased]
    assert np.allclose(errors, sorted(errors), rtol=1e-5)
    assert [option.method for option in advice if option.biased] == (["direct/piecewise"] * (question == "range-mean"))
    assert not any(option.biased for option in advice.options[: len(errors)])
    names = {option.method for option in advice}
    if question == "distribution":
        assert names == set(DISTRIBUTIONS)
    elif question == "variance":
        assert {f"distribution {name}" for name in DISTRIBUTIONS} <= names
        assert {f"two-round {e.name}" for e in entries().values() if e.question == "mean" and not e.needs} <= names
    else:
        assert {name.split("/")[0] for name in names} >= {*RANGES, "auto", "direct", "distribution"}
    for option in advice:
        plan = read_plan(json.loads(json.dumps(advice.plan(option).to_dict())))
        first = plan.round([])
        assert plan.question == question
        assert option.rounds == (1 if first.share >= 1 else 2)
        assert option.report_bytes >= max(channel.mechanism.report_bytes for channel in first.channels) or (
            option.rounds == 2
        )
        assert option.influence > 1


@pytest.mark.needs("scipy")
def test_a_prior_decides_which_method_leads():
    narrow = np.zeros(64)
    narrow[40] = 1.0
    about = {"domain": NUMBER, "low": 20, "high": 80, "methods": ["outside-symbol", "auto"]}
    known = dc.advise("range-mean", 3.0, 5000, prior=narrow, **about)
    assert known.best.method == "auto for the prior"
    assert known.best.error < 0.9 * known.options[1].error


def test_several_means():
    advice = dc.advise("means", 1.0, 10_000, domain=[dc.Interval(0, 1), dc.Interval(0, 100)])
    alone = dc.advise("mean", 1.0, 10_000, domain=dc.Interval(0, 100))
    assert advice.best.method == alone.best.method
    assert advice.best.error == pytest.approx(alone.best.error * math.sqrt(2))
    rows = np.column_stack([np.full(2000, 0.5), np.full(2000, 50.0)])
    option = next(
        o for o in dc.advise("means", 1.0, 2000, domain=advice_domains(), prior=[0, 1, 0]) if o.method == "duchi"
    )
    plan = dc.Means(advice_domains(), 1.0, method="duchi", names=["a", "b"])
    errors = [dc.simulate(plan, rows, seed=s)["b"].value - 50 for s in range(300)]
    assert 0.88 < math.sqrt(np.mean(np.square(errors))) / option.error < 1.12


def advice_domains():
    return [dc.Interval(0, 1), dc.Interval(0, 100)]


def test_populations():
    people = Population.sample([1.0, 1.0, 99.0, 200.0], NUMBER)
    assert people.histogram(2).tolist() == [0.5, 0.5]
    assert people.within(0, 50)[0] == 0.5
    assert people.within(40, 60) == (0.0, 50.0)
    for shape in SHAPES:
        people = Population.of(shape, NUMBER)
        values = people.draw(200_000, 1)
        assert abs(values.mean() - people.mean) < 0.3
        assert values.var() == pytest.approx(people.variance, rel=0.02)
        assert people.histogram(64).sum() == pytest.approx(1)
        assert people.points()[1].sum() == pytest.approx(1)


@pytest.mark.needs("scipy")
def test_people_needed_for_a_distribution_give_that_error():
    about = {"domain": NUMBER, "bins": 32, "shape": "skewed", "methods": ["square-wave-em"]}
    advice = dc.advise("distribution", 2.0, 1000, error=1.0, repeats=20, **about)
    again = dc.advise("distribution", 2.0, advice.best.people_needed, repeats=20, **about)
    assert 0.75 < again.best.error < 1.3
    smoothed = about | {"methods": ["square-wave-ems"]}  # its smoothing stays, however many people there are
    assert dc.advise("distribution", 2.0, 100_000, error=0.01, repeats=4, **smoothed).best.people_needed is None


def test_the_epsilon_needed_for_a_range_mean_is_on_the_curve():
    about = {"domain": dc.Interval(0, 500_000), "low": 50_000, "high": 100_000}
    advice = dc.advise("range-mean", 1.0, 10_000, methods=["outside-symbol/duchi", "direct"], **about)
    assert advice.best.method == "outside-symbol/duchi"
    wanted = 0.9 * advice.best.error
    needed = epsilon_needed("range-mean", wanted, 10_000, advice=advice, **about)
    assert 1.0 < needed < 1.5
    at = dc.advise("range-mean", needed, 10_000, methods=[advice.best.method], **about).best.error
    assert 0.85 * wanted < at < 1.05 * wanted


@pytest.mark.needs("scipy")
def test_a_curve_falls_with_epsilon_and_people():
    about = {"domain": NUMBER, "bins": 16, "shape": "skewed"}
    advice = dc.advise("distribution", 1.0, 500, methods=["square-wave-ems"], repeats=2, **about)
    told = []
    rows = error_curve("distribution", [0.5, 4.0], [300, 30_000], advice=advice, progress=told.append, **about)
    assert rows[0][0] > rows[0][1]
    assert rows[0][1] > rows[1][1]
    assert told[-1] == 1.0
    needed = epsilon_needed("distribution", rows[1][1] * 2, 30_000, advice=advice, **about)
    assert 0.1 < needed < 4.0


def test_the_epsilon_needed_is_the_least_that_reaches_the_error():
    for question, options, error in (("mean", {"domain": WAGE}, 700.0), ("frequency", {"size": 20}, 0.02)):
        epsilon = epsilon_needed(question, error, 5000, **options)
        assert dc.advise(question, epsilon, 5000, **options).best.error <= error
        assert dc.advise(question, epsilon - 0.1, 5000, **options).best.error > error
    assert epsilon_needed("frequency", 1e-6, 100, size=20) is None


def test_frequencies():
    advice = dc.advise("frequency", epsilon=1, people=1000, domain=dc.Categories(list("abcdefgh")))
    assert advice.best.method == "subset-selection"
    assert json.loads(json.dumps(advice.to_dict()))["options"][0]["bits"] > 0
    assert "people" in str(advice)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.advise("colour", epsilon=1), "question must be .* not 'colour'"),
        (lambda: dc.advise("mean", epsilon=0), "epsilon must be"),
        (lambda: dc.advise("mean", epsilon=1, people=0), "people must be .* not 0"),
        (lambda: dc.advise("mean", epsilon=1, error=-1), "error must be .* not -1"),
        (lambda: dc.advise("mean", epsilon=1, domain=dc.Categories(["a", "b"])), "Interval"),
        (lambda: dc.advise("mean", epsilon=1, prior=[-1, 2]), "prior"),
        (lambda: dc.advise("frequency", epsilon=1), "size"),
        (lambda: dc.advise("frequency", epsilon=1, size=1), "size must be .* not 1"),
        (lambda: dc.advise("means", epsilon=1, domain=[]), "at least one Interval"),
        (lambda: dc.advise("distribution", epsilon=1, shape="round"), "shape must be .* not 'round'"),
        (lambda: dc.advise("distribution", epsilon=1, shape="bell", prior=[1]), "one of them"),
        (lambda: dc.advise("distribution", epsilon=1, bins=1), "bins must be .* not 1"),
        (lambda: dc.advise("distribution", epsilon=1, methods=["magic"]), "methods must be among"),
        (lambda: dc.advise("distribution", epsilon=1, level=2), "level must be .* not 2"),
        (lambda: dc.advise("range-mean", epsilon=1), "low=… and high=…"),
        (lambda: dc.advise("range-mean", epsilon=1, low=0.5, high=0.5), "low must be below high"),
        (lambda: dc.advise("range-mean", epsilon=1, low=0.5, high=1, prior=[1, 0, 0]), "nobody is expected"),
        (lambda: dc.advise("variance", epsilon=1, sample=[1.0, float("nan")]), "value 1 must be a finite number"),
    ],
)
def test_bad_questions_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()


# -- a second round ------------------------------------------------------------------------------------------------


@pytest.mark.needs("scipy")
def test_a_second_round_says_what_it_would_gain():
    none = dc.advise("mean", 0.1, 1000).second_round
    assert not none.pays
    assert str(none) == "A second round would save fewer than 2 % of the people here: one round is enough."
    gain = dc.advise("mean", 2.0, 10_000, domain=WAGE).second_round
    assert 0.85 < gain.error_ratio < 0.96
    assert gain.people_saved == pytest.approx(1 - gain.error_ratio**2)
    assert f"save about {100 * gain.people_saved:.0f} % of the people" in str(gain)
    assert "allow it with rounds=2" in str(gain)
    assert gain == second_round("mean", 2.0, 10_000)  # the domain's units do not matter
    narrow = np.zeros(64)
    narrow[30:34] = 1
    assert second_round("mean", 4.0, 10_000, prior=narrow).people_saved > 1.5 * second_round("mean", 4.0).people_saved
    several = second_round("means", 2.0, 30_000, domain=[NUMBER] * 3)
    assert several.error_ratio == pytest.approx(gain.error_ratio, abs=0.02)
    assert dc.advise("frequency", 1.0, size=4).second_round is None
    assert not second_round("range-mean", 2.0, domain=NUMBER, low=20, high=50).pays


@pytest.mark.needs("scipy")
def test_what_a_second_round_gains_is_what_it_gains():
    """The variances of both plans' own reports, for people spread as assumed: exact but for the pilots drawn."""
    people, epsilon, n = Population.of("skewed", dc.Interval(-1, 1)), 2.0, 4000
    values, weights = people.points(1)
    one = dc.mechanism("minimax", epsilon).expected_variance(people.masses) + people.variance
    rounds = dc.Mean(people.domain, epsilon, rounds=2).expecting(n)
    asked = rounds.round([])
    first = asked.channels[0].mechanism
    pilot = round(asked.share * n)
    rng = np.random.default_rng(8)
    widths = []
    for _ in range(6):
        tally = first.draw_tally(values, weights, pilot, rng)
        second = rounds.round([Answered(asked, {"pilot": tally})]).channels[0].mechanism
        parts = ((pilot, first), (n - pilot, second))
        precision = sum(k / (m.expected_variance(people.masses) + people.variance) for k, m in parts)
        widths.append(precision**-0.5 / math.sqrt(one / n))
    assert second_round("mean", epsilon, n).error_ratio == pytest.approx(np.mean(widths), rel=0.02)


@pytest.mark.needs("scipy")
def test_rounds_limit_what_is_advised():
    assert {option.rounds for option in dc.advise("mean", 2.0, 1000, rounds=1, shape="bell")} == {1}
    two = dc.advise("mean", 2.0, 10_000, rounds=2)
    assert two.best.method == two.plan().method == "aaa"
    assert "skewed" in two.basis
    assert dc.advise("means", 2.0, 10_000, domain=advice_domains(), rounds=2).best.method == "aaa"
    with pytest.raises(dc.DiscreetError, match="rounds must be a whole number from 1 on, not 0"):
        dc.advise("mean", 2.0, rounds=0)


# -- what is predicted is what happens -----------------------------------------------------------------------------


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("method", ["outside-symbol/duchi", "privrm-star/duchi", "outside-symbol/hybrid"])
def test_a_range_that_ends_at_a_heap_is_predicted_by_its_own_people(method):
    """The exact error of those in the sample: a heap at the range's end is inside, the one beyond it is not."""
    sample = np.repeat([0.0, 20.0, 40.0, 40.01, 90.0], [300, 100, 350, 150, 100])
    predicted = dc.advise("range-mean", 2.0, 200_000, domain=NUMBER, low=10, high=40, sample=sample, methods=[method])
    belief = Belief.within(sample, np.full(sample.size, 1 / sample.size), 10, 40, (10, 40), clip=True)
    assert belief.share == pytest.approx(0.45)
    source = predicted.plan().round([]).channels[0].mechanism
    between = (belief.square - belief.mean**2) / belief.share
    exact = 15 * math.sqrt((predicted_variance(source, belief) + between) / 200_000)
    assert predicted.best.error == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize(("epsilon", "people"), [(1.0, 2000), (4.0, 20_000)])
def test_the_error_of_a_variance_in_two_rounds_is_predicted(epsilon, people):
    """Tallies of both rounds from their exact distribution, 400 collections of a heaped sample."""
    values, shares = np.array([0.0, 20.0, 40.0, 41.0, 90.0]), np.array([0.3, 0.1, 0.35, 0.15, 0.1])
    sample = np.repeat(values, (1000 * shares).astype(int))
    predicted = dc.advise(
        "variance", epsilon, people, domain=NUMBER, sample=sample, methods=["two-round minimax"]
    ).best.error
    source, rng, half = dc.mechanism("minimax", epsilon), np.random.default_rng(1), people // 2
    centre = shares @ values
    errors = []
    for _ in range(400):
        first = source.draw_tally(NUMBER.encode(values).inputs, shares, half, rng)
        mean = float(first.counts @ source.values) / half
        squares = SquaredDeviation(NUMBER, NUMBER.decode(min(max(mean, -1.0), 1.0)))
        second = source.draw_tally(squares.encode(values).inputs, shares, half, rng)
        found = squares.decode(float(second.counts @ source.values) / half)
        errors.append(max(found - 2500 * sample_variance(source, first), 0.0) - shares @ (values - centre) ** 2)
    assert 0.88 < math.sqrt(np.mean(np.square(errors))) / predicted < 1.12


@pytest.mark.parametrize(("error", "bins"), [(0.02, 64), (0.0025, 128), (0.0012, None), (0.0, None)])
def test_rehearsals_have_buckets_that_are_small_beside_the_error(error, bins):
    asked = ask("distribution", 1.0, domain=dc.Interval(0, 50), bins=256)
    candidates = rehearsal.distribution_candidates(asked)
    tried = []

    class Fake:
        def __init__(self, arguments):
            tried.append(arguments["bins"])
            self.error = 50 * error

        def again(self):
            pass

    assert rehearsal._coarse(asked, candidates, Fake) == bins
    assert tried == [64, 128][: len(tried)]
    kept = {c.method: rehearsal._with(c.arguments, 64)["bins"] for c in candidates}
    assert kept["auto"] == kept["square-wave-em"] == 64
    assert kept["square-wave-ems"] == kept["hh"] == 256  # their error depends on the number


@pytest.mark.needs("scipy")
def test_methods_that_read_the_same_reports_have_the_same_margin_and_others_their_own():
    names = ["hh", "hh-admm", "square-wave-em", "square-wave-ems", "hybrid-np-em"]
    advice = dc.advise("distribution", 1.0, 3000, domain=dc.Interval(0, 50), bins=32, methods=names, repeats=1)
    margins = {option.method: option.margin for option in advice.options}
    assert margins["square-wave-em"] == margins["square-wave-ems"]
    assert margins["hh"] == margins["hh-admm"]  # the same tallies, around the same unbiased mean
    assert len(set(margins.values())) == 3
