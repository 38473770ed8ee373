"""Bit vectors are counted many at a time: whatever their length and number, the counts are those of single bits."""

import numpy as np
import pytest

from discreet import compiling
from discreet.errors import DomainError
from discreet.mechanisms import mechanism


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.needs("numba"))])
@pytest.mark.parametrize("size", [2, 16, 64, 65, 100, 448, 1024, 1100])
def test_counts_are_those_of_single_bits(size: int, compiled: bool) -> None:
    source = mechanism("optimized-unary", 1.0, size=size)
    reports = np.random.default_rng(size).integers(0, 1 << 63, (5003, source.lanes), dtype=np.uint64)
    reports[:, -1] &= np.uint64(source._tail_mask)
    bits = np.unpackbits(reports.astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, :size]
    for n in (255, 256, 257, 2041, 5003):  # with and without a rest
        with compiling.using(compiled=compiled):
            assert source.tally(reports[:n]).counts.tolist() == bits[:n].sum(axis=0).tolist()


@pytest.mark.parametrize("size", [5, 63, 65, 1000])
def test_a_bit_beyond_the_last_category_is_refused(size: int) -> None:
    source = mechanism("optimized-unary", 1.0, size=size)
    reports = np.zeros((300, source.lanes), dtype=np.uint64)
    reports[17, -1] = np.uint64(1) << np.uint64((size - 1) % 64)
    assert source.tally(reports).counts[-1] == 1
    reports[17, -1] <<= np.uint64(1)
    with pytest.raises(DomainError, match=rf"must only have the bits 0\.\.{size - 1}"):
        source.tally(reports)
