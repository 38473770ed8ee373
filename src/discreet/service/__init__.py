"""The collector: campaigns, uploads, live results. `create_app(store, settings)` returns an ASGI application.

`store` keeps campaigns, reports and tallies (SQLite or PostgreSQL), `writer` commits many uploads at once, `campaigns`
runs a plan's rounds, `results` computes answers, `api` and `pages` serve them, and `served` knows the hash of every
file that the pages load. docs/service.md lists the endpoints and the meaning of each refusal.

Names are imported when they are first used: `served` and `verify` work without the extra ``service``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.service.app import create_app
    from discreet.service.settings import Settings
    from discreet.service.store import Store

__all__ = ["Settings", "Store", "create_app"]

_HOMES = {"create_app": "app", "Settings": "settings", "Store": "store"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
