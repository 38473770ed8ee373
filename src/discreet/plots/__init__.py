"""Plots of answers with their intervals, of exact variances and of channels. Needs the extra ``plots`` (matplotlib).

Every function returns a `matplotlib.figure.Figure`; it opens no window and changes no global setting. The functions
draw whatever has the attributes they read (see the protocols beside them), so this package imports neither mechanisms
nor plans. Most people call `Answer.plot()` instead.
"""

from discreet.plots.answers import distribution, error_curves, estimates, frequencies
from discreet.plots.channels import channel, variance_curves, worst_case_variance
from discreet.plots.groups import cross_table, differences, groups
from discreet.plots.multiples import bars, histograms
from discreet.plots.style import save, to_svg

__all__ = [
    "bars",
    "channel",
    "cross_table",
    "differences",
    "distribution",
    "error_curves",
    "estimates",
    "frequencies",
    "groups",
    "histograms",
    "save",
    "to_svg",
    "variance_curves",
    "worst_case_variance",
]
