"""Accounts: administrators who sign in through a provider. Only who was invited has one; signing in makes none.

Somebody is invited by an e-mail address, which the provider must have verified, or by the subject under which the
provider knows them. The first time they sign in their subject is noted, and from then on it alone counts: an address
may be given to somebody else. Whoever signs in gets a token for today and tomorrow.
"""

import datetime
import secrets
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from discreet.errors import DiscreetError
from discreet.service import schema
from discreet.service.errors import Conflict, Forbidden, Missing
from discreet.service.tokens import ROLES, Administrator, Tokens
from discreet.text import listed

LASTS = datetime.timedelta(days=1)
"""How long after the day of signing in a token works."""


@dataclass(frozen=True)
class Identity:
    """Whom a provider vouches for.

    Attributes
    ----------
    subject : str
        The name under which the provider knows them, which never changes.
    email : str or None
        Their address, if the provider has verified it.
    """

    subject: str
    email: str | None = None


class Accounts(Tokens):
    """The part of a store that knows who may sign in."""

    def new_account(self, name: str, invited: str, today: datetime.date, *, role: str = "viewer") -> str:
        """Let somebody sign in: by a verified e-mail address (with an @), or by the provider's subject."""
        if role not in ROLES:
            raise DiscreetError(f"role must be {listed(ROLES)}, not {role!r}")
        if not invited.strip():
            raise DiscreetError("invited must be an e-mail address or a subject of the provider, not blank")
        identifier = secrets.token_hex(4)
        values = {"id": identifier, "name": name, "role": role, "invited": _plain(invited), "created": today}
        try:
            with self.write() as connection:
                connection.execute(sa.insert(schema.accounts).values(**values))
        except IntegrityError:
            raise Conflict("this person was invited before; delete the account to invite them anew") from None
        return identifier

    def accounts(self) -> list[dict[str, Any]]:
        """Return everybody who may sign in, in the order of the names."""
        columns = schema.accounts.c
        with self.read() as connection:
            rows = connection.execute(sa.select(schema.accounts).order_by(columns.name, columns.id))
            return [dict(row) for row in rows.mappings()]

    def drop_account(self, identifier: str) -> dict[str, Any]:
        """Delete an account, and the tokens that it has: whoever is signed in no longer is."""
        with self.write() as connection:
            query = sa.select(schema.accounts).where(schema.accounts.c.id == identifier)
            row = connection.execute(query).mappings().one_or_none() if identifier.isalnum() else None
            if row is None:
                raise Missing("there is no such account")
            connection.execute(sa.delete(schema.tokens).where(schema.tokens.c.account == identifier))
            connection.execute(sa.delete(schema.accounts).where(schema.accounts.c.id == identifier))
        return dict(row)

    def sign_in(self, who: Identity, today: datetime.date) -> tuple[Administrator, str]:
        """Return who signs in, and a token for them; refuse those who were not invited."""
        columns, tokens = schema.accounts.c, schema.tokens
        with self.write() as connection:
            query = sa.select(schema.accounts)
            row = connection.execute(query.where(columns.subject == who.subject)).mappings().one_or_none()
            if row is None:
                # An invitation with an @ is an address, and only a verified one fits it: subjects may be chosen freely.
                subject = "" if "@" in who.subject else who.subject
                names = [_plain(name) for name in (subject, who.email) if name]
                invited = query.where(columns.subject.is_(None), columns.invited.in_(names))
                row = connection.execute(invited.order_by(columns.id)).mappings().first()
                if row is None:
                    raise Forbidden("you are not invited to this collector; ask an owner to invite you")
                known = sa.update(schema.accounts).where(columns.id == row["id"]).values(subject=who.subject)
                connection.execute(known)
            connection.execute(sa.delete(tokens).where(tokens.c.account == row["id"], tokens.c.expires < today))
        made = self.new_token(row["name"], today, role=row["role"], expires=today + LASTS, account=row["id"])
        return Administrator(made.split("-")[1], row["name"], row["role"]), made

    def sign_out(self, who: Administrator) -> None:
        """Delete the token that somebody got by signing in; others stay until they are deleted."""
        columns = schema.tokens.c
        with self.write() as connection:
            connection.execute(sa.delete(schema.tokens).where(columns.id == who.token, columns.account.is_not(None)))


def _plain(name: str) -> str:
    """Return an address in small letters, as which it is compared; a subject as it is."""
    return name.strip().lower() if "@" in name else name.strip()
