"""The first tables: campaigns, rounds, reports, tallies, arrivals, tickets, tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "campaigns",
        sa.Column("id", sa.LargeBinary(16), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("opens", sa.Date),
        sa.Column("closes", sa.Date),
        sa.Column("minimum", sa.BigInteger, nullable=False),
        sa.Column("participants", sa.BigInteger),
        sa.Column("admission", sa.String(16), nullable=False),
        sa.Column("public_results", sa.Boolean, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
        sa.Column("secret", sa.LargeBinary(32), nullable=False),
        sa.Column("created", sa.Date, nullable=False),
    )
    op.create_table(
        "rounds",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("campaign", sa.LargeBinary(16), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("target", sa.BigInteger),
        sa.UniqueConstraint("campaign", "number"),
    )
    op.create_table(
        "reports",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.LargeBinary(16), primary_key=True),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tallies",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("channel", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("worker", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "arrivals",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("worker", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("n", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tickets",
        sa.Column("campaign", sa.LargeBinary(16), primary_key=True),
        sa.Column("id", sa.LargeBinary(16), primary_key=True),
        sa.Column("round", sa.Integer),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("created", sa.Date, nullable=False),
    )


def downgrade() -> None:
    """Drop all tables."""
    for table in ("tokens", "tickets", "arrivals", "tallies", "reports", "rounds", "campaigns"):
        op.drop_table(table)
