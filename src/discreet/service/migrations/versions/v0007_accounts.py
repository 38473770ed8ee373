"""People who sign in through a provider, and the tokens that they get for a day."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; every token so far was made by hand."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("invited", sa.Text, nullable=False, unique=True),
        sa.Column("subject", sa.Text, unique=True),
        sa.Column("created", sa.Date, nullable=False),
    )
    op.add_column("tokens", sa.Column("account", sa.String(16)))


def downgrade() -> None:
    """Drop them again."""
    op.drop_column("tokens", "account")
    op.drop_table("accounts")
