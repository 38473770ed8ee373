"""The tables of a collector. Nothing in them identifies a person: no address, no time finer than a day.

`migrations` creates them. `reports` is the log of each round (`log`): a row holds the ids that were stored together, in
their own order rather than that of arrival, and their packed reports, from which the tallies can be rebuilt.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", LargeBinary(16), primary_key=True),
    Column("title", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("opens", Date),
    Column("closes", Date),
    Column("minimum", BigInteger, nullable=False),
    Column("participants", BigInteger),
    Column("admission", String(16), nullable=False),
    Column("public_results", Boolean, nullable=False),
    Column("finished", Boolean, nullable=False),
    Column("secret", LargeBinary(32), nullable=False),
    Column("created", Date, nullable=False),
    Column("consent", Text, nullable=False),
    Column("contact", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("language", String(8), nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("zone", String(64), nullable=False),
    Column("reopened", Boolean, nullable=False),
    Column("origins", Text, nullable=False),
)

rounds = Table(
    "rounds",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("campaign", LargeBinary(16), nullable=False),
    Column("number", Integer, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("closed_on", Date),
    Column("document", Text, nullable=False),
    Column("target", BigInteger),
    UniqueConstraint("campaign", "number"),
)

reports = Table(
    "reports",
    metadata,
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("ids", LargeBinary, nullable=False),
    Column("packed", LargeBinary, nullable=False),
)

tallies = Table(
    "tallies",
    metadata,
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("channel", SmallInteger, primary_key=True, autoincrement=False),
    Column("worker", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

published = Table(
    "published",
    metadata,
    Column("campaign", LargeBinary(16), primary_key=True),
    Column("n", BigInteger, nullable=False),
    Column("tallies", LargeBinary, nullable=False),
)

arrivals = Table(
    "arrivals",
    metadata,
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("day", Date, primary_key=True),
    Column("worker", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
)

handed = Table(
    "handed",
    metadata,
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("channel", SmallInteger, primary_key=True, autoincrement=False),
    Column("worker", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
)

tickets = Table(
    "tickets",
    metadata,
    Column("campaign", LargeBinary(16), primary_key=True),
    Column("id", LargeBinary(16), primary_key=True),
    Column("round", Integer),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    Column("created", Date, nullable=False),
    Column("role", String(8), nullable=False),
    Column("expires", Date),
    Column("campaign", LargeBinary(16)),
    Column("account", String(16)),
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", String(8), nullable=False),
    Column("invited", Text, nullable=False, unique=True),
    Column("subject", Text, unique=True),
    Column("created", Date, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", String(20), nullable=False),
    Column("who", Text, nullable=False),
    Column("token", String(16), nullable=False),
    Column("action", String(40), nullable=False),
    Column("campaign", LargeBinary(16)),
    Column("detail", Text, nullable=False),
)
