"""A collector inside this process, on loopback: for demos, tutorials and tests of one's own clients."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Iterator

from discreet.client import Collector
from discreet.errors import DiscreetError
from discreet.service.app import create_app
from discreet.service.settings import Settings
from discreet.service.store import Store


@contextlib.contextmanager
def running_collector(database: str | os.PathLike[str]) -> Iterator[Collector]:
    """Run a collector on a free port of 127.0.0.1 and yield a client of it with an administrator's token.

    Parameters
    ----------
    database : path
        SQLite file; made if it does not exist.
    """
    import uvicorn

    settings = Settings(requests_per_second=0.0)  # nobody else can reach it
    store = Store(os.fspath(database))
    config = uvicorn.Config(
        create_app(store, settings), host="127.0.0.1", port=0, log_level="warning", access_log=False, ws="none"
    )
    server, listening = uvicorn.Server(config), config.bind_socket()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise DiscreetError("the collector did not start; see the message above")
        time.sleep(0.01)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with Collector(url, store.new_token("local", settings.today())) as collector:
            yield collector
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
