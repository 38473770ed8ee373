"""Estimation: from tallies to distributions, through nothing but ``A @ f`` and ``A.T @ g``.

Pure mathematics on arrays; knows neither mechanisms nor plans.
"""
