from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.draws import generator
from discreet.mechanisms.shapes.rounded import Rounded
from discreet.plans.base import Channel
from discreet.plans.encoders import GroupValue

ORACLES = {
    "randomized-response": dc.mechanism("randomized-response", 1.0, size=6),
    "subset-selection": dc.mechanism("subset-selection", 1.0, size=6, k=2),
    "optimized-unary": dc.mechanism("optimized-unary", 1.0, size=6),
}


def rounded(name):
    return Rounded("rounded", 1.0, ORACLES[name])


@pytest.mark.parametrize("name", ORACLES)
def test_the_law_at_any_place_keeps_the_oracles_certificate(name):
    m, rng = rounded(name), np.random.default_rng(1)
    laws = []
    for z in [0.0, 5.0, 2.5, *(5 * rng.random(20))]:
        left = min(int(z), 4)
        share = Fraction(round((z - left) * 2**48), 2**48)
        laws.append([(1 - share) * a + share * b for a, b in zip(m.law(left), m.law(left + 1), strict=True)])
    columns = list(zip(*laws, strict=True))
    assert (
        max(max(column) / min(column) for column in columns) <= m.certificate.ratio == ORACLES[name].certificate.ratio
    )
    with pytest.raises(dc.PrivacyError):
        Rounded("too tight", 0.99, ORACLES[name])


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", ORACLES)
def test_one_by_one_and_all_together_give_the_same_reports(name):
    m, places = rounded(name), np.array([0.0, 0.3, 1.0, 2.75, 4.999, 5.0] * 50)
    many = m._empty(len(places))
    words = dc.Entropy.seeded(3).words(len(places) * m.words_per_report)
    m._many(m.check_inputs(places), words, many)
    each = m._empty(len(places))
    m._each(m.check_inputs(places), words, each)
    assert (many == each).all()
    assert (m.unpack(m.pack(many)) == many).all()


@pytest.mark.parametrize("name", ORACLES)
def test_places_are_decoded_without_bias_by_reports_and_by_draws(name):
    m, places, n = rounded(name), np.array([0.25, 3.5, 5.0]), 200_000
    truth = np.array([0.75, 0.25, 0, 0.5, 0.5, 1]) / 3
    reports = m.tally(m.privatize(np.repeat(places, n // 3), dc.Entropy.seeded(5)))
    drawn = m.draw_tally(places, [1, 1, 1], n, generator(6))
    for tally in (reports, drawn):
        found = (m.support_counts(tally) / tally.n - m.q) / (m.p - m.q)
        errors = np.sqrt(np.diag(m.frequency_covariance(truth, n)))
        assert (np.abs(found - truth) < 6 * errors).all()
        assert tally.n >= n - 3


def test_documents_are_read_again_and_wrong_parts_refused():
    m = rounded("subset-selection")
    again = dc.Mechanism.from_json(m.to_json())
    assert again == m
    assert isinstance(again, Rounded)
    assert again.certificate.ratio == m.certificate.ratio
    for wrong in ([], [ORACLES["subset-selection"].to_document()] * 2, [dc.mechanism("duchi", 1.0).to_document()]):
        with pytest.raises(dc.WireError):
            dc.Mechanism.from_document(m.to_document() | {"parts": wrong})
    for wrong in (m, dc.mechanism("projective-geometry", 1.0, size=6), dc.mechanism("square-wave", 1.0)):
        with pytest.raises(dc.DiscreetError, match="oracle must be"):
            Rounded("wrong", 1.0, wrong)


@pytest.mark.parametrize("wrong", [-0.1, 5.1, float("nan"), "2", True, None])
def test_places_outside_are_refused(wrong):
    m = rounded("subset-selection")
    with pytest.raises(dc.DomainError, match="between 0 and 5"):
        m.privatize(wrong) if isinstance(wrong, float) else m._check_one(wrong)
    with pytest.raises(dc.DomainError):
        m.check_inputs(np.array([1.0, wrong], dtype=float if isinstance(wrong, float) else object))


def test_an_encoder_of_groups_never_lies_between_two_groups():
    encoder = GroupValue(dc.Categories(["a", "b", "c"]), dc.Interval(0, 1), 2)
    numbers = [0.0, 1.0, 0.5, 1e300, -5.0, np.nextafter(1.0, 0)]
    for group, label in enumerate("abc"):
        places = encoder.encode([(label, x) for x in numbers]).inputs
        assert ((places >= 2 * group) & (places <= 2 * group + 1)).all()
    Channel("all", rounded("subset-selection"), encoder)
    with pytest.raises(dc.DiscreetError, match=r"gives 9 places; its mechanism rounded takes 6 places"):
        Channel("all", rounded("subset-selection"), GroupValue(encoder.groups, encoder.domain, 3))
    with pytest.raises(dc.DiscreetError, match="gives 6 places"):
        Channel("all", ORACLES["subset-selection"], encoder)
    with pytest.raises(dc.DomainError, match="levels"):
        GroupValue(encoder.groups, encoder.domain, 1)


@pytest.mark.needs("scipy")
def test_the_public_checks_accept_it():
    dc.checks.check_mechanism(rounded("randomized-response"))
