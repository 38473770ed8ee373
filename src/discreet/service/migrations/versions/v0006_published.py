"""The tallies that are shown, renewed in steps of the campaign's minimum (`discreet.service.published`)."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "published",
        sa.Column("campaign", sa.LargeBinary(16), primary_key=True),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("tallies", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Drop it again."""
    op.drop_table("published")
