"""The endpoints for signing in through a provider, and for who may."""

from typing import Any

from fastapi import FastAPI

from discreet.service.access import Owner, SignedIn
from discreet.service.bodies import NewAccount, SignIn
from discreet.service.errors import Missing
from discreet.service.oidc import SCOPE, Provider
from discreet.service.openapi import responses
from discreet.service.people import Name
from discreet.service.runtime import Service

Json = dict[str, Any]


def for_signing_in(app: FastAPI, service: Service) -> None:
    """Add what signs administrators in through a provider; without one in the settings it is not there."""
    store, settings, provider = service.store, service.settings, service.provider
    guarded: dict[str, Any] = {"tags": ["administrators"]}

    def named() -> Provider:
        if provider is None:
            raise Missing("nobody signs in through a provider here: the settings name none")
        return provider

    @app.get("/api/signin", responses=responses(404, 503), **guarded)
    def where() -> Json:
        """Return where a tab signs in: the provider's page, and what to send there."""
        found = named()
        about = {"client_id": found.client_id, "redirect_uri": found.redirect_uri, "scope": SCOPE}
        return {"authorization_endpoint": found.about()["authorization_endpoint"]} | about

    @app.post("/api/signin", responses=responses(401, 403, 404, 503), **guarded)
    def sign_in(given: SignIn) -> Json:
        """Exchange the provider's code for a token; it works today and tomorrow."""
        who, token = store.sign_in(named().identity(given.code, given.verifier, given.nonce), settings.today())
        store.note(who, "signed in")
        return {"token": token, "name": who.name, "role": who.role}

    @app.post("/api/signout", responses=responses(401), **guarded)
    def sign_out(who: SignedIn) -> Json:
        """End a token that somebody got by signing in; one that was made by hand stays."""
        store.sign_out(who)
        return {"signed_out": who.name}

    @app.get("/api/accounts", responses=responses(401, 403), **guarded)
    def accounts(who: Owner) -> Json:
        """List who may sign in: name, role, by what they were invited, and whether they have signed in."""
        return {"accounts": [shown(row) for row in store.accounts()]}

    @app.post("/api/accounts", status_code=201, responses=responses(401, 403, 409), **guarded)
    def new_account(new: NewAccount, who: Owner) -> Json:
        """Let somebody sign in, by an e-mail address that the provider has verified or by its subject."""
        made = store.new_account(new.name, new.invited, settings.today(), role=new.role)
        store.note(who, "invited", None, f"{new.name}, {new.role}")
        return {"id": made}

    @app.delete("/api/accounts/{name}", responses=responses(401, 403, 404), **guarded)
    def drop_account(name: Name, who: Owner) -> Json:
        """Delete an account by its id; whoever is signed in with it no longer is."""
        row = store.drop_account(name)
        store.note(who, "deleted an account", None, f"{row['name']}, {row['role']}")
        return {"deleted": row["id"]}


def shown(row: Json) -> Json:
    """Return an account's row, JSON-ready."""
    return {
        **{name: row[name] for name in ("id", "name", "role", "invited")},
        "created": row["created"].isoformat(),
        "has_signed_in": row["subject"] is not None,
    }
