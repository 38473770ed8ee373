"""A matplotlib figure that a notebook shows by itself, whether or not pyplot or a backend was set up before."""

import io
from typing import Any

from discreet.extras import require

_matplotlib: Any = require("matplotlib.figure", "plots", "Plotting")

SHOWN_DPI, DRAWN_DPI = 100, 200
"""Pixels per inch as a notebook shows a figure, and as it is drawn: sharp on screens with small pixels."""


class Figure(_matplotlib.Figure):  # type: ignore[misc, unused-ignore]
    """A figure of its own: nothing has to close it, and the last line of a notebook's cell shows it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=DRAWN_DPI)
        width, height = (round(side * SHOWN_DPI) for side in self.get_size_inches())
        return buffer.getvalue(), {"width": width, "height": height}
