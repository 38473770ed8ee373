"""Migrations of the collector's store: `Store` brings a database to the newest version when it opens it."""
