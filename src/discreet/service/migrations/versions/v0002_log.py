"""A log of reports in rows of many (`discreet.service.log`); before, every report had a row, by its random id."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_MOST = 4096
_OLD, _NEW = "one_report_each", "reports"


def _log() -> sa.Table:
    return op.create_table(
        _NEW,
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ids", sa.LargeBinary, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )


def _set_aside(connection: sa.Connection) -> None:
    op.rename_table(_NEW, _OLD)
    if connection.dialect.name == "postgresql":  # its name is wanted for the new table
        op.execute(f"ALTER INDEX {_NEW}_pkey RENAME TO {_OLD}_pkey")


def upgrade() -> None:
    """Copy all reports into rows of many."""
    connection = op.get_bind()
    _set_aside(connection)
    new = _log()
    if connection.dialect.name == "postgresql":  # ids and reports are random: compressing them is in vain
        for column in ("ids", "packed"):
            op.execute(f"ALTER TABLE {_NEW} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    old = sa.table(_OLD, sa.column("round"), sa.column("id"), sa.column("report"))
    for identifier in connection.execute(sa.select(old.c.round).distinct()).scalars().all():
        query = sa.select(old.c.id, old.c.report).where(old.c.round == identifier).order_by(old.c.id).limit(_MOST)
        last, number = b"", 0
        while found := connection.execute(query.where(old.c.id > last)).all():
            last, number = bytes(found[-1][0]), number + 1
            ids, packed = (b"".join(bytes(row[i]) for row in found) for i in (0, 1))
            connection.execute(sa.insert(new).values(round=identifier, number=number, ids=ids, packed=packed))
    op.drop_table(_OLD)


def downgrade() -> None:
    """Copy all reports into rows of their own."""
    connection = op.get_bind()
    _set_aside(connection)
    new = op.create_table(
        _NEW,
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.LargeBinary(16), primary_key=True),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    old = sa.table(_OLD, sa.column("round"), sa.column("number"), sa.column("ids"), sa.column("packed"))
    for identifier, number in connection.execute(sa.select(old.c.round, old.c.number)).all():
        row = sa.select(old.c.ids, old.c.packed).where(old.c.round == identifier, old.c.number == number)
        ids, packed = (bytes(one) for one in connection.execute(row).one())
        width = 16 * len(packed) // len(ids)
        rows = [
            {"round": identifier, "id": ids[16 * i : 16 * i + 16], "report": packed[width * i : width * i + width]}
            for i in range(len(ids) // 16)
        ]
        connection.execute(sa.insert(new), rows)
    op.drop_table(_OLD)
