"""The collector: campaigns, uploads, live results. `create_app(store, settings)` returns an ASGI application.

`store` keeps campaigns, reports and tallies (SQLite or PostgreSQL), `writer` commits many uploads at once, `campaigns`
runs a plan's rounds, `results` computes answers, `api` and `pages` serve them. docs/service.md lists the endpoints and
the meaning of each refusal.
"""

from discreet.service.app import create_app
from discreet.service.settings import Settings
from discreet.service.store import Store

__all__ = ["Settings", "Store", "create_app"]
