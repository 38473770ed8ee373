"""Updates: what leaves a client, what a server makes of it, and what a device refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.checks import SIGNIFICANCE, chi_square
from discreet.device.ledger import Ledger
from discreet.errors import DiscreetError, DomainError, PrivacyError, WireError
from discreet.federated import PrivateUpdate, UpdateClient, Updates
from discreet.federated.updates import small_inputs
from discreet.mechanisms.registry import entries
from discreet.privacy.ledger import BudgetError, rational

MEAN = [name for name, entry in entries().items() if entry.question == "mean" and not entry.needs]


@pytest.mark.parametrize("method", [*MEAN, pytest.param("auto", marks=pytest.mark.needs("scipy"))])
def test_the_estimate_is_unbiased_and_its_standard_error_is_right(method):
    design = Updates(6, 2.0, 0.5, coordinates=2, method=method)
    truth = np.array([0.5, -0.5, 0.05, 0.0, 0.2, -0.1])
    clients = 40_000
    updates = np.broadcast_to(truth, (clients, 6))
    estimate = design.estimate(design.tally_all(*design.privatize_all(updates, dc.Entropy.seeded(3))))
    assert estimate.n == clients
    exact = np.sqrt((3 * (0.25 * design.mechanism.variance(truth / 0.5) + truth**2) - truth**2) / clients)
    assert np.abs((estimate.values - truth) / exact).max() < 5
    assert estimate.standard_error == pytest.approx(math.sqrt(np.mean(exact**2 + truth**2 / clients)), rel=0.02)


def test_an_estimate_that_forgot_some_coordinates_would_be_noticed():
    design = Updates(22, 5.0, 0.3, method="piecewise-sub")
    truth = np.full(22, 0.2)
    tally = design.tally_all(*design.privatize_all(np.broadcast_to(truth, (20_000, 22)), dc.Entropy.seeded(5)))
    estimate = design.estimate(tally)
    error = estimate.standard_error / math.sqrt(22)
    assert abs(estimate.values.mean() - 0.2) < 5 * error
    assert abs(estimate.values.mean() * 20 / 22 - 0.2) > 5 * error  # the released code counts 20 of 22


def test_clipped_values_count_as_the_end_of_the_range():
    design = Updates(1, 5.0, 0.3, method="piecewise-sub")
    far, end = (design.privatize_all(np.full((100, 1), value), dc.Entropy.seeded(1))[1] for value in (1e300, 0.3))
    assert np.array_equal(far, end)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_set_of_coordinates_is_equally_likely(k):
    design = Updates(5, 1.0, 1.0, coordinates=k, method="duchi")
    drawn, _ = design.privatize_all(np.zeros((20_000, 5)), dc.Entropy.seeded(k))
    assert (np.diff(drawn, axis=1) > 0).all()
    codes = (1 << drawn).sum(axis=1)
    sets = [code for code in range(32) if code.bit_count() == k]
    counts = np.array([(codes == code).sum() for code in sets])
    assert counts.sum() == 20_000
    even = np.full(len(sets), 1 / len(sets))
    assert chi_square(counts, even) > SIGNIFICANCE
    lame = even * np.where(np.arange(len(sets)) == 0, 0.8, 1.0)
    assert chi_square(counts, lame / lame.sum()) < SIGNIFICANCE


@given(st.floats(0.01, 20), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_k_answers_together_keep_epsilon(epsilon, k):
    design = Updates(9, epsilon, 0.3, coordinates=k, method="duchi")
    assert design.mechanism.certificate.holds
    assert k * Fraction(design.mechanism.epsilon) <= rational(epsilon)  # what the ledger charges
    assert k * design.mechanism.certificate.epsilon <= epsilon * (1 + 1e-12)


@pytest.mark.needs("scipy")
def test_the_default_has_less_variance_near_zero_than_any_mechanism_of_the_papers():
    inputs = np.array([0.0, 0.03, 0.1])
    for epsilon in (1.0, 2.5, 5.0):
        tuned = small_inputs(epsilon).variance(inputs).mean()
        others = {name: dc.mechanism(name, epsilon).variance(inputs).mean() for name in MEAN}
        assert tuned < 0.95 * min(others.values()), others
    assert Updates(3, 5.0, 0.3).mechanism == small_inputs(5.0)


def test_adding_tallies_is_tallying_everything():
    design = Updates(7, 3.0, 0.3, coordinates=2, method="n-output")
    sent = [design.privatize(np.full(7, 0.1)) for _ in range(30)]
    whole = design.tally(sent)
    assert design.tally(sent[:11]) + design.tally(sent[11:]) == whole == design.tally(sent[::-1])
    assert design.tally([]) + whole == whole
    assert whole.counts.sum() == 60
    assert whole != design.tally(sent[1:])
    with pytest.raises(DiscreetError, match="tallies of one mechanism"):
        whole + Updates(7, 3.0, 0.3, method="duchi").tally([])
    with pytest.raises(TypeError):
        whole + 1


def test_a_million_coordinates_cost_what_was_sent():
    design = Updates(1_000_000, 5.0, 0.1, coordinates=3, method="piecewise-sub")
    sent = design.privatize(np.zeros(1_000_000))
    assert sent.coordinates.shape == sent.reports.shape == (3,)
    tally = design.tally([sent])
    assert tally.keys.size == 3
    assert np.flatnonzero(design.estimate(tally).values).size <= 3


@pytest.mark.needs("scipy")
def test_the_default_is_better_near_zero_and_worse_at_the_ends():
    best, rival = small_inputs(5.0), dc.mechanism("piecewise-sub", epsilon=5)
    assert best.variance(0.0) < 0.6 * rival.variance(0.0)
    assert best.worst_case_variance > rival.worst_case_variance


@pytest.mark.needs("scipy")
def test_a_message_is_integers_only():
    sent = Updates(4, 1.0, 0.3, coordinates=2).privatize([0.1, 0.2, 0.3, 0.4])
    assert sent.coordinates.dtype.kind == "i"
    assert sent.reports.dtype.kind == "u"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dimension": 0}, "dimension must be"),
        ({"dimension": 2**41}, "dimension must be at most"),
        ({"coordinates": 0}, "coordinates must be"),
        ({"coordinates": 6}, "coordinates must be a whole number from 1 to 5, not 6"),
        ({"coordinates": True}, "coordinates must be"),
        ({"range": 0}, "range must be .* not 0"),
        ({"range": math.inf}, "range must be .* not inf"),
        ({"range": math.nan}, "range must be .* not nan"),
        ({"range": "wide"}, "range must be .* not 'wide'"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"method": dc.mechanism("randomized-response", 1, size=4)}, "for numbers"),
        ({"method": "unheard-of"}, "mechanism must be one of"),
        ({"method": 3}, "method must be .* not 3"),
    ],
)
def test_a_design_says_what_is_wrong(arguments, sentence):
    with pytest.raises(DiscreetError, match=sentence):
        Updates(**({"dimension": 5, "epsilon": 1.0, "range": 0.3} | arguments))


def test_k_answers_at_full_epsilon_are_refused():
    with pytest.raises(PrivacyError, match=r"epsilon 2\.5 at most, not 5: 2 answers share epsilon 5"):
        Updates(5, 5.0, 0.3, coordinates=2, method=dc.mechanism("duchi", 5))
    assert Updates(5, 5.0, 0.3, coordinates=2, method=dc.mechanism("duchi", 2.5)).mechanism.epsilon == 2.5


def test_a_crafted_model_learns_nothing_from_silence():
    """A model whose update is not finite iff a bit is set told that bit: 200 of 200 right at epsilon 0.5."""
    device = UpdateClient(Updates(3, 0.5, 0.3, coordinates=3, method="duchi"), Ledger(limit=1000))
    with np.errstate(all="raise"):
        for number, bad in enumerate([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324] * 5, 1):
            sent = device.answer(np.array([0.1, bad, 0.2]), number)
            assert sent.reports.shape == (3,)


def test_what_is_not_finite_counts_as_zero_or_an_end_of_the_range():
    design = Updates(2, 5.0, 0.3, coordinates=2, method="duchi")
    for bad, same in ((math.nan, 0.0), (math.inf, 0.3), (-math.inf, -0.3)):
        pair = [design.privatize_all(np.full((200, 2), x), dc.Entropy.seeded(1))[1] for x in (bad, same)]
        assert np.array_equal(*pair)


@pytest.mark.parametrize("bad", [[0.1], [[0.1, 0.2, 0.3]], ["a", "b", "c"], [None, None, None], [True, False, True]])
def test_other_shapes_and_types_are_refused(bad):
    with pytest.raises(DomainError):
        Updates(3, 5.0, 0.3, method="duchi").privatize(bad)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"mechanism": "f" * 64}, "must be of mechanism duchi, not of ffffffffffff"),
        ({"coordinates": np.array([0, 9])}, "coordinates must rise from 0 to 4"),
        ({"coordinates": np.array([-1, 2])}, "coordinates must rise"),
        ({"coordinates": np.array([2, 2])}, "coordinates must rise"),
        ({"coordinates": np.array([3, 1])}, "coordinates must rise"),
        ({"coordinates": np.array([1])}, "2 whole numbers"),
        ({"coordinates": np.array([1.0, 2.0])}, "float64"),
        ({"reports": np.array([0, 2])}, "report 1 must be between 0 and 1, not 2"),
        ({"reports": np.array([0, 1, 1])}, "one report for each of 2 coordinates, not 3"),
        ({"reports": np.array([0.5, 0.5])}, "float64"),
        ({"reports": np.array([], dtype=np.uint8)}, "one report for each of 2 coordinates, not 0"),
    ],
)
def test_a_server_refuses_what_no_client_could_have_sent(changed, sentence):
    design = Updates(5, 2.0, 0.3, coordinates=2, method="duchi")
    good = {"mechanism": design.mechanism.id, "coordinates": np.array([1, 4]), "reports": np.array([0, 1])}
    assert design.tally([PrivateUpdate(**good)]).n == 1
    with pytest.raises(DiscreetError, match=sentence):
        design.tally([PrivateUpdate(**(good | changed))])


def test_an_average_needs_somebody_of_the_same_design():
    design = Updates(5, 2.0, 0.3, method="duchi")
    with pytest.raises(DiscreetError, match="at least one client"):
        design.estimate(design.tally([]))
    with pytest.raises(DiscreetError, match="tally must be of mechanism"):
        design.estimate(Updates(5, 1.0, 0.3, method="duchi").tally([]))


@pytest.mark.needs("scipy")
def test_designs_travel_and_are_verified():
    design = Updates(22, 5.0, 0.3, coordinates=2)
    again = Updates.from_json(design.to_json())
    assert (again.dimension, again.epsilon, again.range, again.coordinates) == (22, 5.0, 0.3, 2)
    assert again.mechanism == design.mechanism
    text = design.to_json()
    for bad, kind in (
        (text.replace('"epsilon":"5.0"', '"epsilon":"3.0"', 1), PrivacyError),  # the mechanism spends more than that
        (text.replace('"kind":"updates"', '"kind":"update"'), WireError),
        (text.replace('"dimension":22', '"dimension":22,"weight":3'), WireError),
        (text.replace('"mechanism":[', '"mechanism":[{},'), WireError),
        ("[]", WireError),
        (design.mechanism.to_json(), WireError),
    ):
        assert bad != text
        with pytest.raises(kind):
            Updates.from_json(bad)


# -- the device -------------------------------------------------------------------------------------------


@pytest.mark.needs("scipy")
def test_fifty_rounds_at_five_are_two_hundred_and_fifty():
    device = UpdateClient(Updates(22, 5.0, 0.3), Ledger(limit=250), "phone", "gamma")
    for number in range(1, 51):
        assert isinstance(device.answer(np.zeros(22), number), PrivateUpdate)
    assert device.spent == 250
    assert not device.preview(51).is_allowed
    with pytest.raises(BudgetError, match="250 spent"):
        device.answer(np.zeros(22), 51)
    assert device.spent == 250


def test_the_same_round_again_is_charged_again():
    device = UpdateClient(Updates(3, 1.0, 0.3, method="duchi"), Ledger(limit=2))
    device.answer(np.zeros(3), 1)
    device.answer(np.zeros(3), 1)
    assert device.spent == 2
    with pytest.raises(BudgetError):
        device.answer(np.zeros(3), 1)


def test_what_fails_after_the_charge_stays_charged():
    device = UpdateClient(Updates(3, 1.0, 0.3, method="duchi"), Ledger(limit=2))
    with pytest.raises(DomainError):
        device.answer([0, 0], 1)
    assert device.spent == 1


def test_a_budget_outlives_the_process(tmp_path):
    design = Updates(3, 1.0, 0.3, method="duchi")
    UpdateClient(design, Ledger(tmp_path / "ledger", 1)).answer(np.zeros(3), 1)
    with pytest.raises(BudgetError):
        UpdateClient(design, Ledger(tmp_path / "ledger", 1)).answer(np.zeros(3), 2)


def test_a_device_needs_a_limit():
    with pytest.raises(DiscreetError, match="must have a limit"):
        UpdateClient(Updates(3, 1.0, 0.3, method="duchi"), Ledger())
