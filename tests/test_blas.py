import threading

from discreet import blas


def counts():
    return [get() for get, _ in blas._libraries()]


def test_one_thread_inside_and_as_before_outside():
    before = counts()
    with blas.single_thread():
        assert all(count == 1 for count in counts())
        with blas.single_thread():
            pass
        assert all(count == 1 for count in counts())
    assert counts() == before


def test_overlapping_contexts_restore():
    before = counts()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with blas.single_thread():
            entered.set()
            leave.wait(5)

    with blas.single_thread():
        worker = threading.Thread(target=other)
        worker.start()
        assert entered.wait(5)
    assert all(count == 1 for count in counts())
    leave.set()
    worker.join()
    assert counts() == before
