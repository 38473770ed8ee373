"""Run the application with uvicorn, in this process or in several workers. This is the one way to run it in the open.

uvicorn's own defaults would log people's addresses, believe X-Forwarded-For from this machine, and accept endless
headers. Here requests are not logged, that header counts only as far as `behind_proxy` says, and `connections` has its
limits.
"""

import json
import logging
import os
import tempfile
from contextlib import suppress
from typing import Any

from fastapi import FastAPI

from discreet.errors import DiscreetError
from discreet.service.app import create_app
from discreet.service.configuration import Configuration, read_configuration
from discreet.service.store import Store

SAFELY: dict[str, Any] = {
    "http": "discreet.service.connections:GuardedProtocol",
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "timeout_keep_alive": 30,
    "ws": "none",
}
"""How uvicorn runs the application, whatever the configuration."""
_RESOLVED = "DISCREET_RESOLVED"
"""Where workers find the configuration that their parent has read."""


def app_from_environment() -> FastAPI:
    """Return the application that the environment describes; `discreet serve` starts its workers with it."""
    resolved = os.environ.get(_RESOLVED)
    if resolved:
        configuration = read_configuration(given=json.loads(resolved))
    elif os.environ.get("DISCREET_DATABASE") or os.environ.get("DISCREET_DATABASE_FILE"):
        configuration = read_configuration(environment=os.environ)
    else:
        raise DiscreetError("DISCREET_DATABASE must be set to a file or a postgresql:// address")
    return create_app(open_store(configuration), configuration.settings)


def open_store(configuration: Configuration) -> Store:
    """Open the database of a configuration, with its limits."""
    settings = configuration.settings
    return Store(
        configuration.database,
        lock_seconds=settings.lock_seconds,
        statement_seconds=settings.statement_seconds,
        pool_seconds=settings.pool_seconds,
        connect_seconds=settings.connect_seconds,
        pool_size=settings.pool_size,
    )


def serve(configuration: Configuration) -> None:
    """Serve until interrupted. Nothing about clients is logged; leave TLS to a proxy."""
    _open_more_files()
    with tempfile.TemporaryDirectory(prefix="discreet-metrics-") as folder:
        shared = {} if configuration.workers == 1 else {"metrics_folder": folder}
        os.environ[_RESOLVED] = json.dumps(configuration.to_dict() | shared)
        _run(configuration)


def _run(configuration: Configuration) -> None:
    import uvicorn

    uvicorn.run(
        "discreet.service.serving:app_from_environment",
        factory=True,
        host=configuration.host,
        port=configuration.port,
        workers=configuration.workers,
        log_config=log_config(configuration.log_format),
        timeout_graceful_shutdown=max(1, round(configuration.settings.shutdown_seconds)),
        **SAFELY,
    )


def _open_more_files() -> None:
    """Raise the number of files that this process and its workers may open to what the system allows."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard == resource.RLIM_INFINITY or soft < hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536) if hard > 0 else 65_536, hard))


class JsonLines(logging.Formatter):
    """One JSON object per line. Nothing of a request is logged, so nothing of a person can be."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        found: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False)


def log_config(form: str) -> dict[str, Any]:
    """Return the configuration of the logs: warnings and errors, on standard error."""
    formatter: dict[str, Any] = {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    if form == "json":
        formatter = {"()": "discreet.service.serving.JsonLines"}
    names = ("uvicorn", "uvicorn.error", "discreet.service")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": formatter},
        "handlers": {"lines": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "loggers": {name: {"handlers": ["lines"], "level": "WARNING", "propagate": False} for name in names},
    }
