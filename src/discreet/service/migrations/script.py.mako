"""${message}."""

from alembic import op
import sqlalchemy as sa

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the store from the version before to this one."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Bring the store back."""
    ${downgrades if downgrades else "pass"}
