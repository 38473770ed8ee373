import threading

from discreet.optimize import threads


def counts():
    return [get() for get, _ in threads._libraries()]


def test_one_thread_inside_and_as_before_outside():
    before = counts()
    with threads.single():
        assert all(count == 1 for count in counts())
        with threads.single():
            pass
        assert all(count == 1 for count in counts())
    assert counts() == before


def test_overlapping_contexts_restore():
    before = counts()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with threads.single():
            entered.set()
            leave.wait(5)

    with threads.single():
        worker = threading.Thread(target=other)
        worker.start()
        assert entered.wait(5)
    assert all(count == 1 for count in counts())
    leave.set()
    worker.join()
    assert counts() == before
