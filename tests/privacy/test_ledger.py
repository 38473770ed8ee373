"""The law of composition: ratios multiply, claims add, and no answer is allowed by rounding."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.privacy.exact import exp_below, log_above
from discreet.privacy.ledger import Accounts, BudgetError, Loss, rational, shown, split, total

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "ledger.json").read_text())


@pytest.mark.parametrize("vector", VECTORS)
def test_the_same_answers_are_refused_as_in_javascript(vector):
    accounts = Accounts(limit=vector["limit"])
    for number, (ratio, allowed) in enumerate(zip(vector["ratios"], vector["allowed"], strict=True)):
        cost = Loss(Fraction(ratio))
        assert accounts.preview("me", f"q{number}", cost).is_allowed == allowed
        if allowed:
            accounts.charge("me", f"q{number}", cost)
        else:
            with pytest.raises(BudgetError):
                accounts.charge("me", f"q{number}", cost)
    assert repr(float(accounts.spent("me"))) == vector["epsilon"]


def test_ratios_are_compared_with_the_limit_from_below():
    ratio = exp_below(1.0)
    assert Loss(ratio).within(Fraction(1))
    assert not Loss(ratio * (1 + Fraction(1, 10**50))).within(Fraction(1))
    assert Loss(ratio, Fraction(1, 2)).within(Fraction(3, 2))
    assert not Loss(ratio, Fraction(1, 2) + Fraction(1, 10**40)).within(Fraction(3, 2))
    assert Loss(Fraction(10**3000)).within(Fraction(6908))
    assert not Loss(Fraction(10**3000)).within(Fraction(6907))
    assert not Loss(Fraction(2)).within(Fraction(0))
    assert Loss(Fraction(2)).within(Fraction(10**9))


@settings(deadline=None)
@given(st.lists(st.fractions(min_value=1, max_value=20), max_size=8), st.fractions(min_value=0, max_value=3))
def test_losses_add_in_any_order(ratios, epsilon):
    losses = [Loss(ratio) for ratio in ratios] + [Loss(epsilon=epsilon)]
    forward, backward = sum(losses, Loss()), sum(reversed(losses), Loss())
    assert forward == backward
    assert forward.total >= epsilon
    assert forward.within(forward.total + Fraction(1, 10**12))
    if forward.ratio > 1:
        assert not forward.within(forward.total - Fraction(log_above(forward.ratio)) / 1000)


def test_impossible_losses_are_refused():
    for arguments in ((Fraction(1, 2),), (Fraction(1), Fraction(-1))):
        with pytest.raises(DiscreetError, match="ratio from 1"):
            Loss(*arguments)
    with pytest.raises(DiscreetError, match="above 0"):
        Accounts().charge("a", "x", Loss())
    with pytest.raises(DiscreetError, match="not both"):
        Accounts().charge("a", "x", Loss(Fraction(2), Fraction(1)))


@settings(deadline=None)
@given(st.floats(1e-4, 20), st.integers(1, 1000))
def test_split_parts_never_exceed_the_whole(epsilon, parts):
    share = split(epsilon, parts)
    assert parts * Fraction(share) <= rational(epsilon)
    assert total(*[share] * parts) <= rational(epsilon)
    assert share >= epsilon / parts * (1 - 1e-15)


def test_shown_is_never_below():
    for text in ("1/3", "2/7", "1", "0.25", "10/3"):
        assert Fraction(shown(Fraction(text))) >= Fraction(text)
