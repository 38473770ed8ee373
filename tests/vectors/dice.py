"""Reproducible choices, and the key of the vectors."""

import discreet as dc
from discreet.privacy.exact import TOTAL

KEY = bytes(range(32)).hex()
"""The key of which reports and entries are drawn."""


class Dice:
    """Reproducible choices, from the keystream itself."""

    def __init__(self, seed: int) -> None:
        self._entropy = dc.Entropy.seeded(seed)

    def below(self, n: int) -> int:
        """Return a whole number in 0..n-1."""
        return int.from_bytes(self._entropy.read(16), "little") % n

    def real(self) -> float:
        """Return a number in [-1, 1)."""
        return self.below(1 << 53) / (1 << 52) - 1.0

    def bytes(self, count: int) -> str:
        """Return random bytes, hexadecimal."""
        return self._entropy.read(count).hex() if count else ""

    def weights(self, count: int, spread: int) -> list[int]:
        """Return weights that sum to 2^48, none more than about ``spread`` times another."""
        raw = [1000 + self.below(1000 * spread) for _ in range(count)]
        weights = [TOTAL * w // sum(raw) for w in raw]
        weights[-1] += TOTAL - sum(weights)
        return weights
