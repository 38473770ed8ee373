"""Days of campaigns in a time zone of their own, reopened campaigns, and the day on which a round was closed."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; days were those of UTC so far."""
    op.add_column("campaigns", sa.Column("zone", sa.String(64), nullable=False, server_default="UTC"))
    op.add_column("campaigns", sa.Column("reopened", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("rounds", sa.Column("closed_on", sa.Date))


def downgrade() -> None:
    """Drop them again."""
    op.drop_column("rounds", "closed_on")
    op.drop_column("campaigns", "reopened")
    op.drop_column("campaigns", "zone")
