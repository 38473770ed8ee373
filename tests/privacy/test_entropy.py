import copy
import ctypes
import os
import pickle
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import discreet as dc
from discreet.checks import CheckFailed, check_entropy
from discreet.privacy import forks
from discreet.privacy.entropy import KEPT_WORDS, Entropy, room, system_entropy


def test_words_are_the_aes_ctr_keystream_of_the_key():
    key = bytes(range(32))
    keystream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(80))
    entropy = Entropy.from_key(key)
    words = np.concatenate([entropy.words(1), entropy.words(4), entropy.words(5)])
    assert words.tolist() == [int.from_bytes(keystream[i : i + 8], "little") for i in range(0, 80, 8)]


def test_aes_256_zero_key_known_answer():
    # AES-256 of the zero block under the zero key (FIPS 197 / NIST known-answer test).
    assert Entropy.from_key(bytes(32)).read(16).hex() == "dc95c078a2408989ad48a21492842087"


def test_fresh_entropies_differ_and_seeded_ones_repeat():
    assert not np.array_equal(Entropy().words(4), Entropy().words(4))
    assert np.array_equal(Entropy.seeded(5).words(9), Entropy.seeded(5).words(9))
    assert not np.array_equal(Entropy.seeded(5).words(9), Entropy.seeded(6).words(9))
    assert not np.array_equal(Entropy.seeded(5, stream=1).words(9), Entropy.seeded(5).words(9))
    assert Entropy.seeded(1).reproducible
    assert not Entropy().reproducible


def test_large_draws_continue_the_stream():
    one, two = Entropy.seeded(1), Entropy.seeded(1)
    whole = one.words(300_000)
    assert np.array_equal(whole, np.concatenate([two.words(200_000), two.words(100_000)]))


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_refuses_to_be_copied(copier):
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        copier(Entropy())


def test_fork_rekeys_the_child_and_stops_a_seeded_stream():
    check_entropy(Entropy)
    seeded = Entropy.seeded(3)
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            seeded.words(1)
            os.write(write, b"went on")
        except dc.DiscreetError:
            os.write(write, b"refused")
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"refused"
    assert len(seeded.words(1)) == 1  # the parent goes on


class SharedStream:
    """Negative control: an ordinary generator, duplicated by fork and pickle."""

    def __init__(self):
        self.generator = np.random.default_rng()

    def words(self, n):
        return self.generator.integers(0, 2**64, n, dtype=np.uint64)


class ForkOnly(SharedStream):
    """Negative control: cannot be copied, but does not re-key after a fork."""

    def __reduce_ex__(self, protocol):
        raise TypeError("no")

    __copy__ = __deepcopy__ = __reduce_ex__


class Stuck:
    def words(self, n):
        return np.arange(n, dtype=np.uint64)


class SameInEveryThread(Entropy):
    """Negative control: every thread has a stream of its own, but all with one key."""

    def __init__(self):
        super().__init__()
        self.key, self.streams = os.urandom(32), threading.local()

    def read(self, count):
        if not hasattr(self.streams, "mine"):
            self.streams.mine = Entropy.from_key(self.key)
        return self.streams.mine.read(count)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (SharedStream, "copy that would repeat"),
        (ForkOnly, "after a fork"),
        (Stuck, "repeats"),
        (SameInEveryThread, "threads draw the same"),
    ],
)
def test_a_source_that_repeats_is_refused(source, why):
    with pytest.raises(CheckFailed, match=why):
        check_entropy(source)


def memoised(secret, task, value, public="mechanism, report"):
    return Entropy.memoised(secret, task, value, public=public)


def test_memoised_answers_repeat_for_the_same_value_only():
    secret = b"0123456789abcdef"
    words = memoised(secret, "wage", 41_000).words(4)
    for same in (41_000.0, np.float64(41_000), np.int32(41_000)):
        assert np.array_equal(words, memoised(secret, "wage", same).words(4))
    others = [(secret, "wage", 41_001), (secret, "wages", 41_000), (b"another secret!!", "wage", 41_000)]
    others += [(secret, "wage", "41000"), (secret, "wage", 41_000, "mechanism, another report")]
    for other in others:
        assert not np.array_equal(words, memoised(*other).words(4))
    assert np.array_equal(memoised(secret, "t", 0.0).words(1), memoised(secret, "t", -0.0).words(1))
    assert np.array_equal(memoised(secret, "t", 1, b"\xff\x00").words(1), memoised(secret, "t", 1, "ff00").words(1))
    m = dc.mechanism("piecewise", epsilon=1)
    reports = {m.privatize(0.25, memoised(secret, "wage", 0.25, m.id)) for _ in range(20)}
    assert len(reports) == 1


def identified(bind, people=40, campaigns=12):
    """Return how many people a collector identifies who issues an id, and with it a hash function, per campaign.

    Each person holds one category and memoises their answers; the collector intersects the supports of all reports.
    """
    mechanism = dc.mechanism("local-hashing", epsilon=1.0, size=100)
    everything = np.arange(mechanism.size)
    found = 0
    for person in range(people):
        secret, value = person.to_bytes(32, "little"), (37 * person) % mechanism.size
        left = np.ones(mechanism.size, dtype=bool)
        for campaign in range(campaigns):
            issued = bytes([person, campaign]) * 8
            entropy = bind(secret, mechanism, issued, value)
            report = mechanism.privatize(value, entropy, public=mechanism.public_word(issued))
            seed, bucket = divmod(int(report), mechanism.family.buckets)
            left &= mechanism.family.bucket_all(mechanism.size, seed) == bucket
        found += np.array_equal(everything[left], [value])
    return found


def test_issued_ids_do_not_identify_a_memoised_value():
    # Bound to the question only, as in 0.1, the words were the same under every hash function that the collector chose.
    loose = identified(lambda secret, m, issued, value: Entropy.memoised(secret, "t", value, public=m.id))
    assert loose >= 12, "the attack must work where it can"
    assert identified(lambda s, m, issued, v: Entropy.memoised(s, "t", v, public=m.id + issued.hex())) == 0


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: Entropy.seeded(-1), "seed must be .* not -1"),
        (lambda: Entropy.seeded(1.5), "seed must be .* not 1.5"),
        (lambda: Entropy.from_key(b"short"), "exactly 32 bytes"),
        (lambda: memoised(b"short", "t", 1), "at least 16"),
        (lambda: memoised(bytes(16), "t", float("nan")), "finite number"),
        (lambda: memoised(bytes(16), "t", None), "text or a finite number"),
        (lambda: memoised(bytes(16), "t", 1, ""), "public must be"),
        (lambda: memoised(bytes(16), "t", 1, "a\0b"), "public must be"),
        (lambda: memoised(bytes(16), "t", 1, None), "public must be"),
    ],
)
def test_bad_arguments_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()


def test_the_system_stream_is_shared_within_a_process():
    assert system_entropy() is system_entropy()
    assert len(system_entropy().report_id()) == 16


def test_a_fork_by_c_code_is_seen_by_every_read():
    fork = ctypes.CDLL(None).fork  # runs none of Python's hooks
    fresh, seeded = Entropy(), Entropy.seeded(3)
    before = fresh.read(32)
    for source in (fresh, seeded):
        read, write = os.pipe()
        if fork() == 0:
            try:
                os.write(write, source.read(64))
            except dc.DiscreetError:
                os.write(write, b"refused")
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            said = pipe.read()
        if source is seeded:
            assert said == b"refused"
        else:
            assert len(said) == 64
            assert not np.intersect1d(np.frombuffer(said, "<u8"), np.frombuffer(before + fresh.read(64), "<u8")).size
    assert seeded.words(1) == Entropy.seeded(3).words(1)  # the parent goes on


class HookOnly:
    """Negative control: relies on Python's hook alone, as discreet 0.1 did."""

    def __init__(self):
        self._key()
        os.register_at_fork(after_in_child=self._key)

    def _key(self):
        self.generator = np.random.default_rng()

    def words(self, n):
        return self.generator.integers(0, 2**64, n, dtype=np.uint64)

    def __reduce_ex__(self, protocol):
        raise TypeError("no")

    __copy__ = __deepcopy__ = __reduce_ex__


def test_a_source_that_trusts_the_hook_is_refused():
    with pytest.raises(CheckFailed, match="after a fork by C code"):
        check_entropy(HookOnly)


def test_no_block_comes_twice_from_threads_forks_and_rooms():
    """Threads draw side by side; each forks twice, once unseen by Python, while the others draw on."""
    entropy, found, lock = Entropy(), [], threading.Lock()

    def keep(data):
        with lock:
            found.append(data)

    def work():
        for fork in (os.fork, ctypes.PyDLL(None).fork):
            keep(entropy.read(4096))
            with room(512) as lent:
                keep(entropy.fill(lent, 512).tobytes())
            read, write = os.pipe()
            if fork() == 0:
                try:
                    with room(64) as lent:
                        os.write(write, entropy.read(512) + entropy.fill(lent, 64).tobytes() + Entropy().read(512))
                finally:
                    os._exit(0)
            os.close(write)
            with os.fdopen(read, "rb") as pipe:
                keep(pipe.read())
            os.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()  # a fork while another thread holds a lock of the C library would hang in the child
    entropy_in_main = entropy.read(4096)
    data = b"".join([*found, entropy_in_main])
    assert len(data) == 3 * 2 * (4096 + 4096 + 3 * 512) + 4096
    blocks = np.frombuffer(data, dtype=np.uint64).reshape(-1, 2)
    assert len(np.unique(blocks, axis=0)) == len(blocks)


@pytest.mark.parametrize("mark", [forks._mark, forks.ProcessMark])
def test_a_mark_is_seen_to_be_another_process(mark):
    here = mark()
    assert here[0]
    for fork in (os.fork, ctypes.PyDLL(None).fork):
        child = fork()
        if child == 0:
            before = bool(here[0])
            here[0] = 1
            os._exit(0 if not before and here[0] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert here[0]


@pytest.mark.parametrize("counts", [[1, 1, 1], [5, 0, 2, 7], [2, 4], [131_073, 3]])
def test_a_divided_stream_is_the_same_stream(counts):
    whole, divided = Entropy.seeded(8), Entropy.seeded(8)
    assert np.array_equal(whole.words(3), divided.words(3))
    parts = divided.divide(counts)
    after = divided.words(5)  # the source goes on while its parts are not yet drawn
    drawn = [part.words(count) for part, count in zip(parts[::-1], counts[::-1], strict=True)][::-1]
    assert np.array_equal(np.concatenate([*drawn, after]), whole.words(sum(counts) + 5))
    with pytest.raises(dc.DiscreetError, match="used up"):
        parts[0].words(1)


def test_a_divided_part_stops_in_a_child_and_a_source_of_ones_own_is_divided_too():
    class Counting(Entropy):
        place = 0

        def read(self, count):
            self.place += count // 8
            return np.arange(self.place - count // 8, self.place, dtype="<u8").tobytes()

    parts = Counting().divide([2, 3])
    assert [parts[1].words(3).tolist(), parts[0].words(2).tolist()] == [[2, 3, 4], [0, 1]]
    with pytest.raises(dc.DiscreetError, match="used up"):
        parts[0].words(1)
    for source in (Counting().divide([4])[0], Entropy.seeded(1).divide([4])[0]):
        child = os.fork()
        if child == 0:
            try:
                source.words(1)
            except dc.DiscreetError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_room_is_lent_to_one_at_a_time_and_wiped():
    with room(10) as outer, room(10) as inner:
        assert outer is not inner
        Entropy.seeded(1).fill(outer, 10)
        assert outer.words[:10].all()
    assert not outer.words.any()
    with room(20) as again:
        assert again is outer
    with room(10) as kept, room(KEPT_WORDS + 1) as large:
        assert len(large.words) == KEPT_WORDS + 1
        assert np.array_equal(Entropy.seeded(3).fill(large, KEPT_WORDS + 1), Entropy.seeded(3).words(KEPT_WORDS + 1))
    assert kept is outer
