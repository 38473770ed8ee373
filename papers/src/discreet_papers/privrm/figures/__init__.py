"""Figures 2, 3 and 5 to 8 of the PrivRM paper."""
