import os
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.service import browsing
from tests.service.hosting import another_site
from tests.service.judging import Judge, axe_source
from tests.service.postgres import HOW, Postgres, programs
from tests.service.running import Drawn, Running, running

from discreet.privacy import entropy


@pytest.fixture(autouse=True)
def drawn_by_name(request, monkeypatch) -> None:
    """Let every draw of this process follow from the test's name.

    The ids that a collector issues decide which question each person answers. Drawn by the system they would differ
    from run to run, and an estimate with them, however the answers themselves are seeded.
    """
    drawn = Drawn.seeded(zlib.crc32(request.node.nodeid.encode()))
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


@pytest.fixture
def site(tmp_path) -> Iterator[Running]:
    """A collector on SQLite, which is enough where a browser looks at it."""
    with running(str(tmp_path / "collector.db")) as found:
        yield found


@pytest.fixture
def browser(tmp_path) -> Iterator[Any]:
    if browsing.is_missing():
        if os.environ.get("CI") == "true":
            pytest.fail(browsing.HOW)
        pytest.skip(browsing.HOW)
    with browsing.chromium(tmp_path) as found:
        yield found


@pytest.fixture
def host(tmp_path) -> Iterator[str]:
    """Another site, whose pages a test may add to below `tmp_path / "site"`."""
    with another_site(tmp_path / "site") as found:
        yield found


@pytest.fixture(scope="session")
def axe(tmp_path_factory) -> str:
    return axe_source(tmp_path_factory.mktemp("axe"))


@pytest.fixture
def judge(browser, axe) -> Judge:
    return Judge(browser, axe)
