"""Administrators: their tokens and roles, and the log of what they did.

A token belongs to a named administrator and has a role: an *owner* may do everything, an *editor* everything but delete
campaigns and manage administrators, a *viewer* may look. A token may expire, and it may be bound to one campaign: then
it opens the results of that campaign and nothing else, so its link can be given to readers.
"""

import datetime
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from discreet.errors import DiscreetError
from discreet.service import schema
from discreet.service.database import Database
from discreet.service.errors import Conflict, Missing
from discreet.text import listed

ROLES = ("viewer", "editor", "owner")
"""From least to most; each may do what those before it may."""


@dataclass(frozen=True)
class Administrator:
    """Who sent a request.

    Attributes
    ----------
    token : str
        The first part of the token, which is no secret.
    name, role : str
        As given when the token was made.
    campaign : bytes or None
        The only campaign that the token opens; None for all.
    """

    token: str
    name: str
    role: str
    campaign: bytes | None = None

    def may(self, role: str) -> bool:
        """Whether this administrator may do what a role may, in every campaign.

        Examples
        --------
        >>> ann = Administrator("1234abcd", "Ann", "editor")
        >>> ann.may("viewer"), ann.may("editor"), ann.may("owner")
        (True, True, False)
        """
        return self.campaign is None and ROLES.index(self.role) >= ROLES.index(role)

    def may_see(self, campaign: bytes) -> bool:
        """Whether this administrator may see the results of a campaign."""
        return self.campaign in (None, campaign)


class Tokens(Database):
    """The part of a store that knows administrators."""

    def new_token(
        self,
        name: str,
        today: datetime.date,
        *,
        role: str = "owner",
        expires: datetime.date | None = None,
        campaign: bytes | None = None,
        account: str | None = None,
    ) -> str:
        """Make a bearer token for administration; only its hash is stored, so it cannot be shown again.

        A token holds 256 random bits, so a fast hash of it is safe. One that a person got by signing in belongs to
        their ``account``.
        """
        if role not in ROLES:
            raise DiscreetError(f"role must be {listed(ROLES)}, not {role!r}")
        if expires is not None and expires < today:
            raise DiscreetError(f"expires must not be before today, {today}, but is {expires}")
        identifier, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        values = {"id": identifier, "name": name, "hash": _hash(secret), "created": today}
        with self.write() as connection:
            bound = {"campaign": campaign, "account": account}
            connection.execute(sa.insert(schema.tokens).values(**values, role=role, expires=expires, **bound))
        return f"dct-{identifier}-{secret}"

    def administrator(self, token: str, today: datetime.date) -> Administrator | None:
        """Return whose bearer token this is; None if it is unknown or expired. Compared in constant time."""
        kind, _, rest = token.partition("-")
        identifier, _, secret = rest.partition("-")
        if kind != "dct" or not identifier.isalnum() or len(identifier) > 16:
            return None
        with self.read() as connection:
            query = sa.select(schema.tokens).where(schema.tokens.c.id == identifier)
            row = connection.execute(query).mappings().one_or_none()
        is_known = hmac.compare_digest(bytes(32) if row is None else bytes(row["hash"]), _hash(secret))
        if row is None or not is_known or (row["expires"] is not None and row["expires"] < today):
            return None
        campaign = None if row["campaign"] is None else bytes(row["campaign"])
        return Administrator(identifier, row["name"], row["role"], campaign)

    def tokens(self) -> list[dict[str, Any]]:
        """Return all tokens that were made by hand, without their hashes, in the order of the names."""
        columns = [column for column in schema.tokens.c if column.name not in ("hash", "account")]
        query = sa.select(*columns).where(schema.tokens.c.account.is_(None))
        with self.read() as connection:
            rows = connection.execute(query.order_by(schema.tokens.c.name, schema.tokens.c.id))
            return [dict(row) for row in rows.mappings()]

    def token_named(self, name: str) -> dict[str, Any]:
        """Return the token with an id, or with a name that no other has."""
        found = [row for row in self.tokens() if name in (row["id"], row["name"])]
        if not found:
            raise Missing("there is no such token")
        if len(found) > 1:
            raise Conflict(
                f"{len(found)} tokens have this name; use one of the ids {listed(row['id'] for row in found)}"
            )
        return found[0]

    def drop_token(self, name: str) -> dict[str, Any]:
        """Delete a token by id or name, unless nobody could administer the collector afterwards."""
        row = self.token_named(name)
        if not any(_administers(other) for other in self.tokens() if other["id"] != row["id"]):
            raise Conflict("this is the last owner's token that does not expire; make another one first")
        with self.write() as connection:
            connection.execute(sa.delete(schema.tokens).where(schema.tokens.c.id == row["id"]))
        return row

    def rotate_token(self, name: str, today: datetime.date) -> tuple[dict[str, Any], str]:
        """Replace a token: return the old one's row and a new token with its name, role and remaining time."""
        row = self.token_named(name)
        lasts = None if row["expires"] is None else max(row["expires"] - row["created"], datetime.timedelta())
        expires = None if lasts is None else today + lasts
        made = self.new_token(row["name"], today, role=row["role"], expires=expires, campaign=row["campaign"])
        with self.write() as connection:
            connection.execute(sa.delete(schema.tokens).where(schema.tokens.c.id == row["id"]))
        return row, made

    # -- the log ------------------------------------------------------------------------------------------

    def note(self, who: Administrator, action: str, campaign: bytes | None = None, detail: str = "") -> None:
        """Write into the log what an administrator did."""
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        values = {"at": now, "who": who.name, "token": who.token, "action": action, "campaign": campaign}
        with self.write() as connection:
            connection.execute(sa.insert(schema.audit).values(**values, detail=detail))

    def audit(self, most: int = 200, before: int | None = None) -> list[dict[str, Any]]:
        """Return the newest entries of the log, or those before an entry, the newest first."""
        columns = schema.audit.c
        query = sa.select(schema.audit).order_by(columns.id.desc()).limit(most)
        with self.read() as connection:
            rows = connection.execute(query if before is None else query.where(columns.id < before)).mappings()
            return [
                dict(row) | {"campaign": None if row["campaign"] is None else bytes(row["campaign"]).hex()}
                for row in rows
            ]


def _administers(row: dict[str, Any]) -> bool:
    """Whether a token lets somebody administer the collector for good."""
    return row["role"] == "owner" and row["campaign"] is None and row["expires"] is None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(b"discreet token" + secret.encode()).digest()
