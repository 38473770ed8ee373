"""Run the application with uvicorn, in this process or in several workers."""

import json
import os
from dataclasses import fields
from typing import Any

from fastapi import FastAPI

from discreet.errors import DiscreetError
from discreet.service.app import create_app
from discreet.service.settings import Settings
from discreet.service.store import Store
from discreet.text import listed

_DATABASE, _SETTINGS = "DISCREET_DATABASE", "DISCREET_SETTINGS"


def app_from_environment() -> FastAPI:
    """Return the application that DISCREET_DATABASE and DISCREET_SETTINGS (JSON) describe, for any ASGI server."""
    database = os.environ.get(_DATABASE)
    if not database:
        raise DiscreetError(f"{_DATABASE} must be set to a file or a postgresql:// address")
    given = json.loads(os.environ.get(_SETTINGS, "{}"))
    known = {field.name for field in fields(Settings)} - {"today"}
    unknown = sorted(set(given) - known)
    if unknown:
        raise DiscreetError(f"{_SETTINGS} may contain {listed(sorted(known))}, not {unknown[0]!r}")
    return create_app(Store(database), Settings(**given))


def serve(database: str, host: str, port: int, workers: int, settings: dict[str, Any]) -> None:
    """Serve until interrupted. Nothing about clients is logged; leave TLS to a proxy."""
    import uvicorn

    os.environ[_DATABASE], os.environ[_SETTINGS] = database, json.dumps(settings)
    uvicorn.run(
        "discreet.service.serving:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        ws="none",
    )
