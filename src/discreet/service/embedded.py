"""A collector inside this process, for demos and notebooks: on loopback, with a temporary store."""

import asyncio
import tempfile
import threading
from pathlib import Path
from types import TracebackType

import uvicorn

from discreet.errors import DiscreetError
from discreet.service.app import create_app
from discreet.service.connections import GuardedProtocol
from discreet.service.settings import Settings
from discreet.service.store import Store

_PATIENCE = 30.0
"""How long to wait for the start and the end, in seconds."""


class Embedded:
    """A running collector that deletes everything it has stored when it closes.

    Parameters
    ----------
    port : int
        0 chooses a free one.

    Examples
    --------
    >>> with Embedded() as collector:
    ...     collector.url.startswith("http://127.0.0.1:"), len(collector.token) > 20
    (True, True)
    """

    def __init__(self, port: int = 0) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="discreet-")
        self._store = Store(str(Path(self._folder.name) / "collector.db"))
        settings = Settings(requests_per_second=0.0, tick_seconds=1.0)
        self._app = create_app(self._store, settings)
        config = uvicorn.Config(
            self._app, log_level="error", access_log=False, server_header=False, ws="none",
            http=GuardedProtocol, proxy_headers=False, host="127.0.0.1", port=port,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._socket = config.bind_socket()
        self.port = int(self._socket.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = self._store.new_token("this process", settings.today())
        self._thread = threading.Thread(target=self._run, name="discreet-collector", daemon=True)

    @property
    def sign_in(self) -> str:
        """The dashboard's address with the token after the #, which browsers do not send."""
        return f"{self.url}/#token={self.token}"

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def start(self) -> "Embedded":
        """Start to answer requests."""
        self._thread.start()
        waited = threading.Event()
        for _ in range(int(_PATIENCE / 0.01)):
            if self._server.started:
                return self
            if not self._thread.is_alive():
                break
            waited.wait(0.01)
        self.close()
        raise DiscreetError("the collector could not start on 127.0.0.1")

    def close(self) -> None:
        """Stop, and delete everything."""
        self._app.state.service.changes.stop()  # open pages must not keep it
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=_PATIENCE)
        self._socket.close()
        self._store.close()
        self._folder.cleanup()

    def __enter__(self) -> "Embedded":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
