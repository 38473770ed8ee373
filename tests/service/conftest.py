import os
import zlib
from collections.abc import Iterator

import pytest
from tests.service.postgres import HOW, Postgres, programs
from tests.service.running import Running, running

from discreet.privacy import entropy


class _Drawn(entropy.Entropy):
    """A seeded source that stands for the system's: devices refuse one that can be reproduced."""

    reproducible = False


@pytest.fixture(autouse=True)
def drawn_by_name(request, monkeypatch) -> None:
    """Let every draw of this process follow from the test's name.

    The ids that a collector issues decide which question each person answers. Drawn by the system they would differ
    from run to run, and an estimate with them, however the answers themselves are seeded.
    """
    drawn = _Drawn.seeded(zlib.crc32(request.node.nodeid.encode()))
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
