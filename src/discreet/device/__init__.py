"""The device: verify a round, charge the ledger, privatise, keep, send."""
