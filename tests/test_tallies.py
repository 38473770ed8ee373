import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc

M = dc.mechanism("randomized-response", epsilon=1, size=7)
REPORTS = st.lists(st.integers(0, 6), max_size=50)


@given(REPORTS, REPORTS, REPORTS)
def test_merging_is_exact_associative_and_order_free(a, b, c):
    x, y, z = (M.tally(np.array(r, dtype=np.uint8)) for r in (a, b, c))
    whole = M.tally(np.array(a + b + c, dtype=np.uint8))
    assert (x + y) + z == x + (y + z) == z + y + x == dc.Tally.merge([y, z, x]) == whole
    assert dc.Tally.from_bytes(whole.to_bytes()) == whole


def test_tallies_of_different_mechanisms_do_not_mix():
    other = dc.mechanism("randomized-response", epsilon=1.1, size=7)
    with pytest.raises(dc.DiscreetError, match="must be of the same mechanism"):
        M.tally([1]) + other.tally([1])
    with pytest.raises(dc.DiscreetError, match="tally must be of"):
        M.support_counts(other.tally([1]))
    with pytest.raises(TypeError):
        M.tally([1]) + 3
    with pytest.raises(dc.DiscreetError, match="empty"):
        dc.Tally.merge([])


@pytest.mark.parametrize("n", [0, 1, 4095, 4096, 100_001])
def test_counting_equals_bincount(n):
    reports = np.random.default_rng(n).integers(0, 7, n).astype(np.uint8)
    assert M.tally(reports).counts.tolist() == np.bincount(reports, minlength=7).tolist()


@pytest.mark.parametrize(("size", "n"), [(5, 100), (64, 300), (65, 1000), (200, 4001)])
def test_counting_bits_equals_unpacking(size, n):
    m = dc.mechanism("optimized-unary", epsilon=1, size=size)
    reports = m.privatize(np.arange(n) % size, dc.Entropy.seeded(1))
    bits = np.unpackbits(reports.view(np.uint8), axis=1, bitorder="little")[:, :size]
    assert m.tally(reports).counts.tolist() == bits.sum(axis=0).tolist()


@pytest.mark.parametrize("cut", [0, 3, 51, 52, 60, -1])
def test_truncated_tallies_are_refused(cut):
    data = M.tally([1, 2, 3]).to_bytes()
    with pytest.raises(dc.WireError):
        dc.Tally.from_bytes(data[:cut])
    with pytest.raises(dc.WireError):
        dc.Tally.from_bytes(data + b"\0")
    with pytest.raises(dc.WireError, match="must start with"):
        dc.Tally.from_bytes(b"xxxx" + data[4:])


def test_impossible_counts_are_refused():
    data = bytearray(M.tally([1, 2, 3]).to_bytes())
    data[-8:] = (4).to_bytes(8, "little")
    with pytest.raises(dc.WireError, match="between 0 and 3"):
        dc.Tally.from_bytes(bytes(data))


@given(st.binary(max_size=120))
def test_any_bytes_give_a_tally_or_a_wire_error(data):
    try:
        tally = dc.Tally.from_bytes(data)
    except dc.WireError:
        return
    assert tally.to_bytes() == data
