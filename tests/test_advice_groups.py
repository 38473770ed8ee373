import pytest

import discreet as dc
from discreet.advice import people_to_compare
from discreet.plans.groups.design import best_design


def test_advice_says_what_a_secret_label_costs():
    secret = dc.advise("groups", groups=51, epsilon=1, error=0.1, private=True)
    public = dc.advise("groups", groups=51, epsilon=1, error=0.1, methods=["duchi"])
    assert secret.best.people_needed == pytest.approx(best_design(1.0, 51).cost * 51**2 / 0.01, rel=1e-3)
    assert 51 / 2 < secret.best.people_needed / public.best.people_needed < 2 * 51 * 1.3
    assert secret.best.method == "subset-selection"
    assert [option.method for option in secret][1] == "randomized-response"
    assert secret.options[1].error / secret.best.error == pytest.approx(9.75**0.5, rel=0.01)
    assert "secret labels" in str(secret)
    plan = secret.plan()
    assert plan.private
    assert plan.by.size == 51
    assert (plan.design.levels, plan.design.k) == (2, 27)
    assert not public.plan().private
    assert public.plan().plan.method == "duchi"


def test_the_predicted_error_of_public_groups_is_what_a_simulation_shows():
    advice = dc.advise("groups", groups=4, epsilon=1, people=4000, methods=["duchi"], domain=dc.Interval(0, 100))
    rows = [(i % 4, 25.0) for i in range(4000)]
    answer = dc.simulate(advice.plan(), rows, seed=1)
    found = answer[0].details["standard_error"]
    assert found == pytest.approx(advice.best.error, rel=0.1)


@pytest.mark.needs("scipy")
def test_people_to_compare_are_those_of_the_note():
    found = [people_to_compare(epsilon, 0.1) for epsilon in (0.5, 1, 2, 4)]
    assert found == pytest.approx([25_526, 6_662, 1_754, 594], rel=0.002)
    assert people_to_compare(1, 5_000, domain=dc.Interval(0, 100_000)) == found[1]
    assert people_to_compare(1, 0.1, comparisons=10) > found[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dc.advise("groups", 1), "groups needs groups="),
        (lambda: dc.advise("groups", 1, groups=1), "groups must be"),
        (lambda: people_to_compare(1, 0), "difference must be"),
        (lambda: people_to_compare(1, 0.1, power=80), "power must be"),
    ],
)
def test_what_cannot_be_advised_is_refused(call, message):
    with pytest.raises(dc.DiscreetError, match=message):
        call()
