"""No two workers ever share a stream: not a single 128-bit block of keystream comes twice."""

import multiprocessing
import os

import numpy as np
import pytest

import discreet as dc
from discreet.privacy.entropy import Entropy, system_entropy

WORKERS = 64


def keystream(reports):
    """Return the blocks that a worker draws for so many reports of one word each, and its process."""
    return os.getpid(), system_entropy().read(8 * reports)


def repeated(streams):
    """Return how many blocks are there more than once.

    Sorting half a block is enough: halves that agree by chance are looked at whole (among 2^25, one in 30 000 runs).
    """
    blocks = np.frombuffer(b"".join(streams), dtype="<u8").reshape(-1, 2)
    halves = np.sort(blocks[:, 0])
    twice = np.unique(halves[1:][halves[1:] == halves[:-1]])
    suspects = blocks[np.isin(blocks[:, 0], twice)] if len(twice) else blocks[:0]
    return len(suspects) - len(np.unique(suspects, axis=0))


def drawn(reports):
    """Let 64 processes draw, a few at a time; before they start, this one has drawn from its own stream."""
    system_entropy().words(10)
    with multiprocessing.get_context("fork").Pool(8, maxtasksperchild=1) as pool:
        found = pool.map(keystream, [reports] * WORKERS, chunksize=1)
    assert len({process for process, _ in found}) == WORKERS
    return [stream for _, stream in found] + [system_entropy().read(8 * reports)]


def test_forked_workers():
    assert repeated(drawn(2000)) == 0


def test_the_check_sees_a_shared_stream():
    streams = [Entropy.seeded(1, stream=i).read(16_000) for i in range(4)]
    assert repeated(streams) == 0
    assert repeated([*streams, Entropy.seeded(1, stream=2).read(8000)]) == 500
    assert repeated([*streams, Entropy.seeded(1, stream=2).read(16_016)[16_000:] + streams[0][-16:]]) == 1


def test_a_reproducible_stream_does_not_survive_a_fork():
    entropy = Entropy.seeded(3)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            entropy.words(1)
        except dc.DiscreetError:
            os.write(writing, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 10) == b"refused"
    os.close(reading)
    os.close(writing)


@pytest.mark.slow
def test_a_million_reports_from_each_of_64_workers():
    assert repeated(drawn(1_000_000)) == 0
