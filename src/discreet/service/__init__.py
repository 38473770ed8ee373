"""The collector: campaigns, uploads, live results. `create_app(store, settings)` is an ASGI application.

`store` keeps campaigns, reports and tallies (SQLite or PostgreSQL), `writer` commits many uploads at once, `campaigns`
drives a plan's rounds, `app` speaks HTTP. docs/service.md lists the endpoints and what each refusal means.
"""

from discreet.service.app import create_app
from discreet.service.settings import Settings
from discreet.service.store import Store

__all__ = ["Settings", "Store", "create_app"]
