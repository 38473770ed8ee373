"""Roles, expiry and one campaign for tokens; a log of administrators; words, language and archive of campaigns."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TEXTS = ("consent", "contact", "unit", "language")


def upgrade() -> None:
    """Add the columns; every token so far is an owner's, and no campaign is archived."""
    for name in _TEXTS:
        kind = sa.String(8) if name == "language" else sa.Text()
        op.add_column("campaigns", sa.Column(name, kind, nullable=False, server_default=""))
    op.add_column("campaigns", sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("tokens", sa.Column("role", sa.String(8), nullable=False, server_default="owner"))
    op.add_column("tokens", sa.Column("expires", sa.Date))
    op.add_column("tokens", sa.Column("campaign", sa.LargeBinary(16)))
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.String(20), nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("token", sa.String(16), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("campaign", sa.LargeBinary(16)),
        sa.Column("detail", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop them again."""
    op.drop_table("audit")
    for name in ("role", "expires", "campaign"):
        op.drop_column("tokens", name)
    for name in (*_TEXTS, "archived"):
        op.drop_column("campaigns", name)
