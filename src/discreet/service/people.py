"""The endpoints for administrators themselves: who I am, everybody's tokens, and the log of what was done."""

from typing import Annotated, Any

from fastapi import FastAPI, Path, Query

from discreet.errors import DiscreetError
from discreet.service.access import Editor, Identifier, Owner, SignedIn
from discreet.service.bodies import NewLink, NewToken
from discreet.service.openapi import responses
from discreet.service.runtime import Service

Json = dict[str, Any]
Name = Annotated[str, Path(max_length=200, description="The token's id, or a name that no other token has.")]


def for_owners(app: FastAPI, service: Service) -> None:
    """Add what manages administrators."""
    store, settings = service.store, service.settings
    guarded: dict[str, Any] = {"tags": ["administrators"]}

    @app.get("/api/me", responses=responses(401), **guarded)
    def me(who: SignedIn) -> Json:
        """Return the name and the role of whoever asks."""
        return {"name": who.name, "role": who.role, "campaign": None if who.campaign is None else who.campaign.hex()}

    @app.get("/api/tokens", responses=responses(401, 403), **guarded)
    def tokens(who: Owner) -> Json:
        """List the tokens: name, role, when they were made and when they expire, and the campaign they are bound to."""
        return {"tokens": [shown(row) for row in store.tokens()]}

    @app.post("/api/tokens", status_code=201, responses=responses(401, 403), **guarded)
    def new_token(new: NewToken, who: Owner) -> Json:
        """Make a token for an administrator; it cannot be shown again."""
        made = store.new_token(new.name, settings.today(), role=new.role, expires=new.expires)
        store.note(who, "made a token", None, f"{new.name}, {new.role}")
        return {"token": made}

    @app.post("/api/tokens/{name}/rotate", responses=responses(401, 403, 404, 409), **guarded)
    def rotate_token(name: Name, who: Owner) -> Json:
        """Replace a token at once: the old one stops working, the new one is shown once."""
        old, made = store.rotate_token(_clean(name), settings.today())
        store.note(who, "rotated a token", None, f"{old['name']}, {old['role']}")
        return {"token": made}

    @app.delete("/api/tokens/{name}", responses=responses(401, 403, 404, 409), **guarded)
    def drop_token(name: Name, who: Owner) -> Json:
        """Delete a token by its id or its name."""
        row = store.drop_token(_clean(name))
        store.note(who, "deleted a token", None, f"{row['name']}, {row['role']}")
        return {"deleted": row["id"]}

    @app.post("/api/campaigns/{identifier}/links", status_code=201, responses=responses(401, 403, 404), **guarded)
    def new_link(identifier: Identifier, new: NewLink, who: Editor) -> Json:
        """Make a link that opens the results of one campaign and nothing else; it cannot be shown again."""
        key = bytes.fromhex(identifier)
        service.campaigns.find(key)
        made = store.new_token(new.name, settings.today(), role="viewer", expires=new.expires, campaign=key)
        store.note(who, "made a results link", key, new.name)
        return {"link": f"/campaigns/{identifier}#token={made}"}

    @app.get("/api/audit", responses=responses(401, 403), **guarded)
    def audit(
        who: Owner,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
        before: Annotated[int | None, Query(ge=1, le=1 << 31)] = None,
    ) -> Json:
        """Return what administrators did, the newest first."""
        return {"entries": store.audit(limit, before)}


def shown(row: Json) -> Json:
    """Return a token's row, JSON-ready."""
    campaign = row["campaign"]
    return {
        **row,
        "created": row["created"].isoformat(),
        "expires": None if row["expires"] is None else row["expires"].isoformat(),
        "campaign": None if campaign is None else bytes(campaign).hex(),
    }


def _clean(name: str) -> str:
    if any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in name):
        raise DiscreetError("name must not contain control characters")
    return name
