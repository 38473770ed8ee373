"""All interleavings of three actors with crashes keep what the transaction promises; worse protocols do not."""

import pytest
from tests.device import model

ACTORS = {"one id for all": ("a", "a", "a"), "an id each": ("a", "b", "c"), "two share an id": ("a", "a", "b")}


@pytest.mark.parametrize("reports", ACTORS.values(), ids=ACTORS.keys())
@pytest.mark.parametrize("limit", [1, 3])
def test_no_interleaving_sends_more_than_it_charges(reports, limit):
    found = model.explore(model.TRANSACTION, reports, limit=limit, crashes=2)
    assert found.reason is None
    assert found.states > 5_000  # the search has really looked around


@pytest.mark.slow
def test_three_crashes_of_three_actors_change_nothing():
    found = model.explore(model.TRANSACTION, ("a", "b", "c"), limit=3, crashes=3)
    assert found.reason is None


@pytest.mark.parametrize(
    ("protocol", "limit", "reason"),
    [
        (model.WITHOUT_LOCK, 1, "more was charged than the limit"),
        (model.WITHOUT_LOCK, 3, "one round was answered twice"),
        (model.READ_BEFORE_LOCK, 1, "more was charged than the limit"),
        (model.READ_BEFORE_LOCK, 3, "one round was answered twice"),
        (model.VERSION_0_1, 1, "one report id is behind two draws"),
        (model.SENT_BEFORE_CHARGED, 1, "more was sent than charged"),
        (model.NOT_KEPT_AND_RETRIED, 1, "one report id is behind two draws"),
    ],
)
def test_the_search_finds_what_is_wrong_with_other_protocols(protocol, limit, reason):
    reports = ("a", "b", "c") if "limit" in reason or "twice" in reason else ("a", "a", "a")
    assert model.explore(protocol, reports, limit=limit).reason == reason
