import os
from collections.abc import Iterator

import pytest
from tests.service.postgres import HOW, Postgres, programs
from tests.service.running import Running, running


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
