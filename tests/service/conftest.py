import os
import zlib
from collections.abc import Iterator

import pytest
from tests.service.postgres import HOW, Postgres, programs
from tests.service.running import Running, running

from discreet.privacy import entropy


@pytest.fixture(autouse=True)
def drawn_by_name(request, monkeypatch) -> None:
    """Let every draw of this process follow from the test's name.

    The ids that a collector issues decide which question each person answers. Drawn by the system they would differ
    from run to run, and an estimate with them, however the answers themselves are seeded.
    """
    drawn = entropy.Entropy.seeded(zlib.crc32(request.node.nodeid.encode()))
    drawn._reproducible = False  # devices refuse a seeded source; this one stands for the system's
    monkeypatch.setattr(entropy, "_SYSTEM", [drawn])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(HOW)
        pytest.skip(HOW)
    server = Postgres()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "collector.db")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def collector(database) -> Iterator[Running]:
    with running(database) as found:
        yield found
