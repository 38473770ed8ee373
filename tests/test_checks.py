"""Every registered mechanism passes the battery; every negative control is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.checks import CheckFailed, check_mechanism
from discreet.checks.paths import ROWS
from discreet.extras import has
from discreet.mechanisms.registry import entries
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.unary import Unary, unary
from discreet.mechanisms.shapes.window import NumericWindow
from discreet.operators import Dense
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL

pytestmark = pytest.mark.needs("scipy")

SMALL = {"size": 5, "sizes": [2, 3], "options": 4, "most": 2}


def build(name, epsilon):
    entry = entries()[name]
    options = {need: SMALL[need] for need in entry.needs if need in SMALL}
    if "prior" in entry.needs:
        options["prior"] = [0.1, 0.2, 0.4, 0.2, 0.1]
    return entry.build(epsilon, **options)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", sorted(entries()))
def test_every_registered_mechanism_passes(name, epsilon):
    mechanism = build(name, epsilon)
    report = check_mechanism(mechanism, draws=60_000)
    assert report.epsilon_exact <= epsilon
    assert report.epsilon_exact > epsilon - 1e-6
    assert name in str(report)
    assert report.compared >= 10_000  # all of them unless the plain sampler is slow
    assert report.compared <= ROWS


@pytest.mark.parametrize(
    ("name", "size"), [("optimized-unary", 100), ("subset-selection", 100), ("local-hashing", 30), ("basic-rappor", 70)]
)
def test_the_audit_has_power_where_the_alphabet_cannot_be_listed(name, size):
    mechanism = dc.mechanism(name, epsilon=1.0, size=size)
    assert mechanism.alphabet > 1 << 16
    assert 0.85 < check_mechanism(mechanism, draws=60_000).audit.epsilon <= 1.0
    reports = mechanism.privatize(np.arange(50) % size, dc.Entropy.seeded(1))
    for value in (0, size - 1):
        quick = mechanism.supports(reports, value)
        counted = [mechanism.support_counts(mechanism.tally(reports[i : i + 1]))[value] > 0 for i in range(50)]
        assert quick.tolist() == counted


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("name", sorted(entries()))
def test_the_audit_has_power_at_a_million_reports(name, epsilon):
    report = check_mechanism(build(name, epsilon), draws=1_000_000)
    assert report.audit.epsilon <= epsilon
    if 0.5 <= epsilon <= 4:
        assert report.audit.epsilon >= 0.95 * epsilon


class FloatWave(NumericWindow):
    """The papers' Square Wave: a uniform float in the window, whose low bits tell the input."""

    kind = "float-wave"

    def privatize(self, x, entropy=None):
        cells = super().privatize(x, entropy)
        return cells + np.random.default_rng(1).random(np.shape(cells))


class LastBitBare(Unary):
    """A unary encoding that forgets to randomise its last bit."""

    kind = "last-bit-bare"

    def _one(self, value, words):
        lanes = super()._one(value, words)
        return self._bare(np.array([value]), lanes[None, :])[0]

    def _finish(self, value, drawn):
        return self._bare(np.array([value]), super()._finish(value, drawn)[None, :])[0]

    def _many(self, values, words, out):
        super()._many(values, words, out)
        self._bare(values, out)

    def _bare(self, values, out):
        last = np.uint64(1 << (self.size - 1))
        out[:, 0] = np.where(values == self.size - 1, out[:, 0] | last, out[:, 0] & ~last)
        return out


class WindowAlwaysInside(NumericWindow):
    """Density used as probability: never reports outside the window."""

    kind = "always-inside"

    def _one(self, value, words):
        return super()._one(value, [words[0], words[1] % (self._thresholds[-1] << 16)])

    def _many(self, values, words, out):
        words = words.copy()
        words[1::2] %= np.uint64(self._thresholds[-1] << 16)
        super()._many(values, words, out)


class TailByCoin(NumericWindow):
    """Outside the window, left or right by a fair coin whatever the lengths of the two tails."""

    kind = "tail-by-coin"

    def _one(self, value, words):
        cell = super()._one(value, words)
        position = round((value + 1) * (self.positions - 1) / 2)
        left, right = position, self.positions - 1 - position
        if position <= cell < position + self.width or not left or not right:
            return cell
        coin, spot = words[0] & 1, (words[0] >> 1) & 0x7FFF
        return spot % left if coin else position + self.width + spot % right

    def _many(self, values, words, out):
        for i, value in enumerate(values.tolist()):
            out[i] = self._one(value, words[2 * i : 2 * i + 2].tolist())


class DifferentPaths(Table):
    """The batch path disagrees with the single path."""

    kind = "different-paths"

    def _many(self, values, words, out):
        super()._many(values[::-1].copy(), words, out)


class HungryForOnes(Table):
    """Draws more words for some inputs: its time tells the input."""

    kind = "hungry"

    def privatize(self, x, entropy=None):
        if np.ndim(x) == 0 and x > 0.5 and entropy is not None:
            entropy.words(2)
        return super().privatize(x, entropy)


class Shifted(Table):
    """States values that its reports do not have on average."""

    kind = "shifted"

    @property
    def values(self):
        return np.array(self._values) * 4


class CompiledLeak(Table):
    """The compiled path sends the plain sign once in 1024 reports."""

    kind = "compiled-leak"

    def _many(self, values, words, out):
        super()._many(values, words, out)
        leaks = words[1::2] & np.uint64(1023) == 0
        out[leaks] = values[leaks] > 0


class PlainLeak(Table):
    """The plain path sends the plain sign once in 4096 reports."""

    kind = "plain-leak"

    def _one(self, value, words):
        return int(value > 0) if words[1] & 4095 == 0 else super()._one(value, words)


class PlainLeakOfBits(Unary):
    """The plain path of a slow oracle sends nothing but the category once in 4096 reports."""

    kind = "plain-leak-of-bits"

    def _one(self, value, words):
        lanes = super()._one(value, words)
        if words[0] & 4095 == 0:
            lanes[:] = 0
            lanes[int(value) // 64] = 1 << int(value) % 64
        return lanes


class OffByOne(Table):
    """The compiled path compares with <= where < is right: one word in 2^48 differs."""

    kind = "off-by-one"

    def _many(self, values, words, out):
        words = words.copy()
        at_threshold = words[1::2] >> np.uint64(16) == np.uint64(self.weights[0][0])
        words[1::2][at_threshold] -= np.uint64(1 << 16)
        super()._many(values, words, out)


class EndOfRange(Table):
    """The plain path fails for the largest word only."""

    kind = "end-of-range"

    def _one(self, value, words):
        return 0 if words[1] == 2**64 - 1 else super()._one(value, words)


class LyingBits(Unary):
    """A law that cannot be listed, with a certificate whose epsilon is 0.02 too small."""

    kind = "lying-bits"

    def _certify(self):
        true = super()._certify()
        return Certificate(true.ratio * Fraction(math.exp(-0.02)), self.epsilon, 0.0, self.alphabet)


class TooLarge(Table):
    """Decodes to values that are a few per cent too large, and says that they are right."""

    kind = "too-large"

    @property
    def values(self):
        return np.array(self._values) * 1.05


class TooLargeWave(NumericWindow):
    """The same for a window."""

    kind = "too-large-wave"

    @property
    def values(self):
        return super().values * 1.07


class Mirrored(Table):
    """Its operator over buckets takes the last bucket for the first."""

    kind = "mirrored"

    def operator(self, bins=None):
        return mirrored(super().operator(bins), bins)


def mirrored(operator, bins):
    return operator if bins is None else Dense((operator @ np.eye(operator.shape[1]))[:, ::-1])


class MirroredWave(NumericWindow):
    """The same for a window."""

    kind = "mirrored-wave"

    def operator(self, bins=None):
        return mirrored(super().operator(bins), bins)


class BigEndian(NumericWindow):
    """Packs and unpacks in the other order of bytes: consistent, and read wrongly by everybody else."""

    kind = "big-endian"

    def pack(self, reports):
        return turned(super().pack(reports), self.report_bytes)

    def unpack(self, data):
        return super().unpack(turned(data, self.report_bytes))


class BigEndianBits(Unary):
    """The same for a bit vector."""

    kind = "big-endian-bits"

    def pack(self, reports):
        return turned(super().pack(reports), self.report_bytes)

    def unpack(self, data):
        return super().unpack(turned(data, self.report_bytes))


def turned(data, width):
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, width)[:, ::-1].tobytes()


def wide_wave():
    return dc.mechanism("square-wave", epsilon=1.0, positions=1024)


def as_unary(cls, actual, claim=1.0, size=100):
    m = unary("optimized-unary", actual, size, 0.5)
    return cls(m.name, claim, m.size, m.hit, m.ones, m.digits)


def square_wave():
    return dc.mechanism("square-wave", epsilon=1.0, positions=64)


def as_class(cls, m):
    return cls(m.name, m.epsilon, m.positions, m.profile, m.low)


def as_table(cls):
    m = dc.mechanism("duchi", epsilon=1.0)
    return cls(m.name, m.epsilon, m.knots, m.weights, m._values)


def last_bit_bare():
    m = unary("optimized-unary", 1.0, 5, 0.5)
    return LastBitBare(m.name, m.epsilon, m.size, m.hit, m.ones, m.digits)


CONTROLS = {
    "float square wave": (lambda: as_class(FloatWave, square_wave()), "unsigned integer"),
    "last bit bare": (last_bit_bare, "do not follow the law"),
    "density as probability": (lambda: as_class(WindowAlwaysInside, square_wave()), "do not follow the law"),
    "tail by coin": (lambda: as_class(TailByCoin, square_wave()), "do not follow the law|6 sigma|biased"),
    "paths differ": (lambda: as_table(DifferentPaths), "different reports"),
    "hungry": (lambda: as_table(HungryForOnes), "fixed"),
    "shifted": (lambda: as_table(Shifted), "biased"),
    "plain, 1 in 4096": (lambda: as_table(PlainLeak), "different reports"),
    "plain bits, 1 in 4096": (lambda: as_unary(PlainLeakOfBits, 1.0), "different reports"),
    "compiled, 1 in 1024": (lambda: as_table(CompiledLeak), "different reports"),
    "compiled, off by one": (lambda: as_table(OffByOne), "different reports"),
    "plain, largest word": (lambda: as_table(EndOfRange), "different reports"),
    "certificate 2 % too small": (lambda: as_unary(LyingBits, 1.02), "audit proves"),
    "values 5 % too large": (lambda: as_table(TooLarge), "biased"),
    "values of a window 7 % too large": (lambda: as_class(TooLargeWave, square_wave()), "bias"),
    "mirrored operator": (lambda: as_table(Mirrored), "not its law"),
    "mirrored operator of a window": (lambda: as_class(MirroredWave, square_wave()), "not its law"),
    "big-endian": (lambda: as_class(BigEndian, wide_wave()), "documented layout"),
    "big-endian bits": (lambda: as_unary(BigEndianBits, 1.0), "documented layout"),
}
COMPILED = ("plain, 1 in 4096", "plain bits", "compiled", "plain, largest", "certificate")
"""Controls that only a compiled sampler can show: of two paths one is wrong, or many reports are needed."""


@pytest.mark.parametrize("name", CONTROLS)
def test_every_negative_control_is_refused(name):
    make, why = CONTROLS[name]
    if name.startswith(COMPILED) and not has("numba"):
        pytest.skip("there is no compiled path")
    with pytest.raises(CheckFailed, match=why):
        check_mechanism(make(), draws=20_000)


def test_a_wrong_certificate_is_refused():
    class Boaster(Table):
        kind = "boaster"

        def law(self, index):
            law = super().law(index)
            return law[::-1] if index == 0 else law

    low = TOTAL // 3
    m = Boaster("boaster", 0.7, (-1, 1), ((TOTAL - low, low), (low, TOTAL - low)), (-3.0, 3.0))
    m.__dict__["certificate"] = type(m.certificate)(m.certificate.ratio / 2, 0.7, 0.0, 2)
    with pytest.raises(CheckFailed):
        check_mechanism(m, draws=5000)


def test_a_wide_window_passes():
    assert check_mechanism(wide_wave(), draws=20_000).compared > 10_000
