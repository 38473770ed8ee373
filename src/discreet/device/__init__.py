"""The device: verify a round, charge the ledger, draw, send."""
