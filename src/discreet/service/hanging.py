"""Hang up on a database that does not respond.

A server's own time limits help as long as it runs. One that is stopped, or behind a network that swallows packets,
answers nothing at all, and its client would wait for ever. Here a thread closes the connection of a statement that
takes too long: the statement fails, and whoever waits is told to try again.
"""

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DisconnectionError


def hang_up_after(engine: Engine, seconds: float) -> None:
    """Limit every statement and commit of an engine, but for connections with the option ``discreet_patient``.

    A connection from the pool is tried before it is used, within the same limit.
    """
    limit = _Limit(seconds)

    @event.listens_for(engine, "checkout")
    def _try(connection: Any, _: Any, __: Any) -> None:
        limit.begin(connection)
        try:
            connection.execute("SELECT 1")
            connection.rollback()
        except Exception as error:
            raise DisconnectionError("the connection was lost") from error
        finally:
            limit.end(connection)

    @event.listens_for(engine, "before_cursor_execute")
    def _before(connection: Connection, *_: Any) -> None:
        if not connection.get_execution_options().get("discreet_patient"):
            limit.begin(connection.connection.dbapi_connection)

    @event.listens_for(engine, "after_cursor_execute")
    def _after(connection: Connection, *_: Any) -> None:
        limit.end(connection.connection.dbapi_connection)

    @event.listens_for(engine, "commit")
    def _commit(connection: Connection) -> None:
        limit.begin(connection.connection.dbapi_connection)

    @event.listens_for(engine, "reset")
    def _reset(connection: Any, _: Any, __: Any) -> None:
        limit.end(connection)


class _Limit:
    """Which connections are waiting for an answer, and since when."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[int, tuple[float, Any]] = {}
        self._lock = threading.Lock()
        self._is_watched = False

    def begin(self, connection: Any) -> None:
        """Expect an answer from now on."""
        with self._lock:
            self._waiting[id(connection)] = (time.monotonic() + self._seconds, connection)
            if not self._is_watched:
                self._is_watched = True
                threading.Thread(target=self._watch, name="discreet-hanging", daemon=True).start()

    def end(self, connection: Any) -> None:
        """Stop expecting an answer."""
        with self._lock:
            self._waiting.pop(id(connection), None)

    def _watch(self) -> None:
        """Watch until nobody waits."""
        while True:
            time.sleep(min(0.5, self._seconds / 4))
            now = time.monotonic()
            with self._lock:
                if not self._waiting:
                    self._is_watched = False
                    return
                late = [key for key, (until, _) in self._waiting.items() if until < now]
                for key in late:
                    _hang_up(self._waiting.pop(key)[1])


def _hang_up(connection: Any) -> None:
    """Close the connection's socket for both sides; the thread that waits for it wakes up with an error."""
    with suppress(Exception), socket.socket(fileno=os.dup(connection.pgconn.socket)) as mine:
        mine.shutdown(socket.SHUT_RDWR)
