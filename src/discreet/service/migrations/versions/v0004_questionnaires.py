"""Ids that were handed out, by channel, for the dropout alarm; the sites that may embed a campaign."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; no campaign may be embedded so far."""
    op.create_table(
        "handed",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("channel", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("worker", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("n", sa.BigInteger, nullable=False),
    )
    op.add_column("campaigns", sa.Column("origins", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """Drop them again."""
    op.drop_column("campaigns", "origins")
    op.drop_table("handed")
