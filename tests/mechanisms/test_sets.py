"""Agreement and padded subset: closed forms against enumeration, whole weights, the reference values."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.checks import CheckFailed, check_mechanism
from discreet.checks.exact import check_operator
from discreet.checks.statistics import check_sampler, check_tally_law
from discreet.mechanisms.categorical.agreement import agreement, best_threshold, ideal_laws
from discreet.mechanisms.categorical.padded_subset import ideal_law, padded_subset, ranked
from discreet.mechanisms.shapes.agreement import Agreement
from discreet.mechanisms.shapes.padded import PaddedSubset, deposit, deposit_all, floyd, floyd_all, floyd_law
from discreet.privacy.exact import TOTAL, exp_below

REFERENCE = json.loads((Path(__file__).parent / "sets_reference.json").read_text())
SIZES = [((2, 3), 1), ((2, 3), 2), ((3, 3, 2), 2), ((3, 4, 2), 3), ((2, 2, 2, 2), 3), ((3, 3, 3, 3), 3)]


def symbols(code, sizes):
    return np.unravel_index(code, sizes)


@pytest.mark.parametrize(("sizes", "threshold"), SIZES)
def test_the_law_of_an_agreement_is_its_definition(sizes, threshold):
    m = agreement(1.3, sizes, threshold)
    every = list(itertools.product(*map(range, sizes)))
    high, low = Fraction(m.hit, TOTAL * m.inside), Fraction(TOTAL - m.hit, TOTAL * m.outside)
    worst = Fraction(1)
    for code, x in enumerate(every):
        law = m.law(code)
        assert sum(law) == 1
        for y, probability in zip(every, law, strict=True):
            wanted = high if sum(a == b for a, b in zip(x, y, strict=True)) >= threshold else low
            assert abs(probability / wanted - 1) < 1e-15
        if code:
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(law, m.law(0), strict=True)))
    assert worst <= m.certificate.ratio <= exp_below(1.3)
    assert m.certificate.epsilon > 1.3 - 1e-11
    matrix = m.matrix()
    for j, (p, q) in enumerate(m.laws):
        for x, row in zip(every, matrix, strict=True):
            shares = row.reshape(sizes).sum(axis=tuple(i for i in range(len(sizes)) if i != j))
            expected = np.where(np.arange(sizes[j]) == x[j], float(p), float(q))
            assert np.abs(shares - expected).max() < 1e-14
            tally = np.arange(m.size)
            assert m.question_counts(tally, j).tolist() == [
                sum(c for c, y in enumerate(every) if y[j] == v) for v in range(sizes[j])
            ]
    assert np.abs(np.array(m.operator() @ np.eye(m.size)[3]) - matrix[3]).max() < 1e-15


def test_an_agreement_of_all_is_randomised_response_over_the_combinations():
    m, response = agreement(2.0, (2, 3)), dc.mechanism("randomized-response", 2.0, size=6)
    assert m.threshold == 2
    assert np.abs(m.matrix() - response.matrix()).max() < 1e-13
    assert best_threshold(6.0, (2,) * 12) < 12


def test_the_reference_laws_of_agreements():
    for key, laws in REFERENCE["agreement"].items():
        sizes, threshold, epsilon = key.split("/")
        sizes = tuple(map(int, sizes.strip("()").split(",")))
        for found in (
            ideal_laws(float(epsilon), sizes, int(threshold)),
            agreement(float(epsilon), sizes, int(threshold)).laws,
        ):
            assert np.abs(np.array(found, dtype=float) - laws).max() < 1e-12


def cube_variance(options, k, threshold, epsilon):
    """n x noise variance of the share of an option, if a public coin picks k of them."""
    p, q = ideal_laws(epsilon, (2,) * k, threshold)[0]
    return (options / k / (p - q) ** 2 - 1) / 4


def test_the_reference_variances_of_any_set():
    for key, row in REFERENCE["cube"].items():
        options, epsilon = int(key.split("/")[0]), float(key.split("/")[1])
        assert cube_variance(options, row["k"], row["t"], epsilon) == pytest.approx(row["n_variance"], rel=1e-9)
        assert cube_variance(options, 1, 1, epsilon) == pytest.approx(row["k=1"], rel=1e-9)
        together = min((cube_variance(options, k, k, epsilon), k) for k in range(1, min(options, 10) + 1))
        assert together == pytest.approx(tuple(row["k=t"]), rel=1e-9)
        if options <= 12:
            best = min(cube_variance(options, k, t, epsilon) for k in range(1, options + 1) for t in range(1, k + 1))
            assert best == pytest.approx(row["n_variance"], rel=1e-9)
    for key, least in REFERENCE["optimum"].items():  # no mechanism at all has less variance
        options, epsilon = int(key.split()[1].split("/")[0]), float(key.split("/")[1])
        best = min(cube_variance(options, k, t, epsilon) for k in range(1, options + 1) for t in range(1, k + 1))
        assert best + 0.25 == pytest.approx(least, rel=1e-6)


def test_the_reference_variances_of_at_most_m_ticks():
    for key, row in REFERENCE["sets"].items():
        options, most, epsilon = int(key.split("/")[0]), int(key.split("/")[1]), float(key.split("/")[2])
        variance, k, threshold = ranked(epsilon, options, most)[0]
        assert variance == pytest.approx(row["padded"], rel=1e-9)
        assert (k, threshold) == (row["k"], row["t"])
        assert ideal_law(epsilon, options, most, k, threshold) == pytest.approx(row["p_q"], rel=1e-9)
        m = padded_subset(epsilon, options, most)
        assert [m.p, m.q] == pytest.approx(row["p_q"], rel=1e-8)
        assert epsilon - 1e-9 < m.certificate.epsilon <= epsilon
        assert variance <= min(row["privset"], row["pad_and_sample_grr"], row["wheel"], row["unary"]) * (1 + 1e-9)
        share = most / options
        sampled = [v for v, k, t in ranked(epsilon, options, most) if (k, t) == (1, 1)]
        assert sampled == pytest.approx([row["pad_and_sample_grr"]], rel=1e-9)
        privset = min(v for v, _, t in ranked(epsilon, options, most) if t == 1)
        assert privset == pytest.approx(row["privset"], rel=1e-9)
        assert float(m.frequency_variance(share, 1)) == pytest.approx(
            (share * m.p * (1 - m.p) + (1 - share) * m.q * (1 - m.q)) / (m.p - m.q) ** 2
        )


def noise(p, q, share):
    """n x noise variance of an option's share, if people tick this share of the options."""
    return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2


def full_law(options, most, k, threshold, epsilon):
    """p and q if everyone ticks exactly ``most``, so that no dummies are needed."""
    rest, e = options - most, math.exp(epsilon)
    weights = {i: e if i >= threshold else 1.0 for i in range(max(0, k - rest), min(most, k) + 1)}
    total = sum(math.comb(most, i) * math.comb(rest, k - i) * w for i, w in weights.items())
    p = sum(math.comb(most - 1, i - 1) * math.comb(rest, k - i) * w for i, w in weights.items() if i) / total
    q = sum(math.comb(most, i) * math.comb(rest - 1, k - 1 - i) * w for i, w in weights.items() if k > i) / total
    return p, q


def independent_bits(options, most, epsilon, share):
    """The least variance of independent bits, epsilon shared by all bits that may differ between two sets."""
    both = min(most, options - most)
    found = []
    for p in np.linspace(0.02, 0.98, 481):
        low, high = 1e-9, p
        for _ in range(50):
            q = (low + high) / 2
            up, down = math.log(p / q), math.log((1 - q) / (1 - p))
            low, high = (q, high) if both * (up + down) + (most - both) * max(up, down) > epsilon else (low, q)
        found.append(noise(p, high, share))
    return min(found)


def test_the_reference_variances_of_other_ways_to_ask_for_sets():
    """What the padded subset is compared with; none of them is offered."""
    for key, row in REFERENCE["sets"].items():
        options, most, epsilon = int(key.split("/")[0]), int(key.split("/")[1]), float(key.split("/")[2])
        share, e = most / options, math.exp(epsilon)
        designs = [(k, t) for k in range(1, options) for t in range(1, min(most, k) + 1)]
        laws = [full_law(options, most, k, t, epsilon) for k, t in designs]
        assert min(noise(p, q, share) for p, q in laws if p > q + 1e-12) == pytest.approx(row["everyone_ticks_m"])
        places = np.linspace(1e-4, 1 / most - 1e-6, 20001)
        wheel = noise(places * e / (most * places * e + 1 - most * places), places, share).min()
        assert wheel == pytest.approx(row["wheel"], rel=1e-9)
        assert independent_bits(options, most, epsilon, share) == pytest.approx(row["unary"], rel=1e-9)
        one_of = options + most
        subsets = [(k * e / (k * e + one_of - k), k) for k in range(1, one_of)]
        found = []
        for p, k in subsets:  # one of the ticks, or a dummy, by subset selection
            q = (p * (k - 1) + (1 - p) * k) / (one_of - 1)
            found.append(noise(p / most + q * (1 - 1 / most), q, share))
        assert min(found) == pytest.approx(row["pad_and_sample_subset"], rel=1e-9)
        cube = min(
            cube_variance(options, k, t, epsilon) for k in range(1, min(options, 10) + 1) for t in range(1, k + 1)
        )
        assert cube >= row["cube"] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("options", "most", "k", "threshold"), [(5, 2, 3, 1), (6, 3, 4, 2), (3, 1, 2, 1), (3, 3, 4, 2)]
)
def test_the_law_of_a_padded_subset_is_its_definition(options, most, k, threshold):
    m = padded_subset(1.0, options, most, k=k, threshold=threshold)
    reports = sorted(sum(1 << v for v in chosen) for chosen in itertools.combinations(range(options + most), k))
    ways = {i: math.comb(most, i) * math.comb(options, k - i) for i in m.overlaps}
    columns = []
    for code in range(1 << options):
        if code.bit_count() > most:
            continue
        held = code | ((1 << most - code.bit_count()) - 1) << options
        law = m.law(code)
        columns.append(law)
        for report, probability in zip(reports, law, strict=True):
            i = (report & held).bit_count()
            assert abs(probability / Fraction(m.hits[i - m.overlaps[0]], TOTAL * ways[i]) - 1) < 1e-15
        supported = [sum(p for r, p in zip(reports, law, strict=True) if r >> v & 1) for v in range(options)]
        assert np.abs(np.array(supported, dtype=float) - m.support_of(code)).max() < 1e-14
    worst = max(max(column) / min(column) for column in zip(*columns, strict=True))
    assert 1.0 - 1e-9 < math.log(worst) <= m.certificate.epsilon
    high, low = (Fraction(m.hits[i - m.overlaps[0]], ways[i]) for i in (threshold, threshold - 1))
    assert 0 < math.log(exp_below(1.0)) - math.log(high / low) < 1e-9


def test_who_ticks_more_keeps_some_of_them_at_random():
    m = padded_subset(1.0, 4, 2)
    reports = sorted(sum(1 << v for v in chosen) for chosen in itertools.combinations(range(6), m.k))
    law = np.array([float(p) for p in m.law(0b1111)])
    pairs = [sum(1 << v for v in chosen) for chosen in itertools.combinations(range(4), 2)]
    average = np.mean([[float(p) for p in m.law(pair)] for pair in pairs], axis=0)
    assert np.abs(law - average).max() < 1e-14
    assert m.support_of(0b1111) == pytest.approx((m.p + m.q) / 2)
    seen = np.array([law @ [r >> v & 1 for r in reports] for v in range(4)])
    assert seen == pytest.approx(m.support_of(0b1111))
    found = m.law(0b0111)
    assert sum(found) == 1
    assert max(max(a / b, b / a) for a, b in zip(found, m.law(0), strict=True)) <= m.certificate.ratio


def test_one_tick_is_subset_selection_word_by_word():
    padded, subset = padded_subset(1.0, 9, 1), dc.mechanism("subset-selection", 1.0, size=10)
    assert (padded.k, padded.hits[-1]) == (subset.k, subset.hit)
    assert padded.certificate.ratio == subset.certificate.ratio
    words = dc.Entropy.seeded(1).words(500 * padded.words_per_report).reshape(500, -1).tolist()
    for i, row in enumerate(words):
        x = i % 10
        assert (padded._one(1 << x if x < 9 else 0, row) == subset._one(x, row[:-1])).all()


def test_floyd_and_deposit_of_many_are_those_of_one():
    entropy = dc.Entropy.seeded(2)
    words = entropy.words(300 * 8).reshape(300, 8)
    sizes = 8 + entropy.words(300).astype(np.int64) % 40
    counts = np.abs(entropy.words(300).astype(np.int64)) % 9
    one = [
        floyd(row, size, count)
        for row, size, count in zip(words.tolist(), np.abs(sizes).tolist(), counts.tolist(), strict=True)
    ]
    assert floyd_all(words, np.abs(sizes), counts).tolist() == one
    places = entropy.words(300) >> np.uint64(4)
    ranks = np.array(one, dtype=np.uint64)
    expected = [deposit(r, p) for r, p in zip(one, places.tolist(), strict=True)]
    assert deposit_all(ranks, places, 60).tolist() == expected
    law = floyd_law(5, 3)
    assert len(law) == 10
    assert sum(law.values()) == 1
    assert all(abs(p * 10 - 1) < 1e-17 for p in law.values())


@pytest.mark.slow
@pytest.mark.needs("scipy")
@pytest.mark.parametrize("options", [{"options": 30, "most": 3}, {"options": 24, "most": 8}])
def test_sets_of_many_options_pass_the_battery(options):
    report = check_mechanism(dc.mechanism("padded-subset", 1.0, **options), draws=40_000)
    assert report.audit.epsilon > 0.8


class Leaky(PaddedSubset):
    """Draws the overlap from twice as large a hit as its certificate says."""

    def _overlap(self, word):
        return super()._overlap(word // 2)

    def _each(self, values, words, out):
        super()._each(values, self._halved(words), out)

    def _many(self, values, words, out):
        super()._many(values, self._halved(words), out)

    def _halved(self, words):
        table = words.reshape(-1, self.words_per_report).copy()
        table[:, 0] //= np.uint64(2)
        return table.reshape(-1)


@pytest.mark.parametrize(("options", "most"), [(4, 2), (30, 3)])
def test_a_sampler_that_holds_too_much_is_refused(options, most):
    m = padded_subset(1.0, options, most)
    leaky = Leaky("leaky", 1.0, options, most, m.k, m.hits)
    check_sampler(m, dc.Entropy.seeded(1), 40_000)
    check_tally_law(m, dc.Entropy.seeded(2), 40_000)
    with pytest.raises(CheckFailed, match=r"do not follow the law|sigma off"):
        check_sampler(leaky, dc.Entropy.seeded(1), 40_000)


def test_an_operator_that_is_not_the_law_is_refused():
    class Wrong(Agreement):
        def _sum_near(self, f):
            return super()._sum_near(f)[::-1]

    m = agreement(1.0, (2, 3))
    with pytest.raises(CheckFailed, match="operator"):
        check_operator(Wrong("wrong", 1.0, m.sizes, m.threshold, m.hit))


@pytest.mark.parametrize("builder", [lambda: agreement(0.7, (4, 3), 1), lambda: padded_subset(0.7, 6, 2)])
def test_a_claim_below_the_certificate_is_refused(builder):
    m = builder()
    with pytest.raises(dc.PrivacyError):
        m.renamed("x", m.certificate.epsilon * 0.999999)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: agreement(1, [2, 1]), "sizes must be 1 to 16"),
        (lambda: agreement(1, "23"), "sizes must be 1 to 16"),
        (lambda: agreement(1, [2] * 17), "sizes must be 1 to 16"),
        (lambda: agreement(1, [2, 2], 3), "threshold must be"),
        (lambda: padded_subset(1, 49, 2), "options must be"),
        (lambda: padded_subset(1, 40, 25), "most must be"),
        (lambda: padded_subset(1, 5, 2, k=7), "k must be"),
        (lambda: padded_subset(1, 5, 2, k=1, threshold=2), "threshold must be"),
        (lambda: padded_subset(1, 5, 2, k=6, threshold=1), "too coarse"),
        (lambda: PaddedSubset("x", 1, 5, 2, 2, [TOTAL]), "hits must be 3"),
        (lambda: PaddedSubset("x", 1, 5, 2, 2, [TOTAL - 2, 1, 1]), "p must be larger"),
        (lambda: Agreement("x", 1, [2, 2], 1, 5), "hit must make"),
        (lambda: padded_subset(1, 20, 2).operator(), "too many to list"),
    ],
)
def test_wrong_options_are_named(call, words):
    with pytest.raises(dc.DiscreetError, match=words):
        call()
    with pytest.raises(dc.PrivacyError, match="at least 1"):
        PaddedSubset("x", 1, 5, 2, 2, [0, 0, TOTAL])


def test_reports_are_checked_and_packed():
    m = padded_subset(1.0, 30, 3)
    sets = np.array([0, 1, 7, (1 << 30) - 1])
    reports = m.privatize(np.tile(sets, 50), dc.Entropy.seeded(1))
    assert m.report_bytes == 5
    assert (m.unpack(m.pack(reports)) == reports).all()
    assert m.support_counts(m.tally(reports)).shape == (30,)
    with pytest.raises(dc.DomainError, match="exactly"):
        m.check_reports(reports | np.uint64(0b11111))
    with pytest.raises(dc.DomainError, match="between 0 and"):
        m.privatize(1 << 30)
