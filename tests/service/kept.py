"""Which screenshots of the collector are kept for the documentation, and how small."""

from pathlib import Path
from typing import Any

import numpy as np

SHEETS = (
    *(f"{step}-{code}" for code in ("en", "de", "ar") for step in ("answer", "details", "sent", "answer-number")),
    *(f"{state}-{code}" for code in ("de", "ar") for state in ("block-1", "block-2", "kiosk", "refused", "raise")),
    *(f"{state}-{code}" for code in ("de", "ar") for state in ("waiting", "missing")),
    "framed", "signin", "forbidden", "nowhere", "empty", "campaigns", "distribution", "frequencies", "mean-finished",
    "means", "withheld", "alarm", "groups", "multiples", "table", "questionnaire", "results-link", "report", "new",
    "new-questionnaire", "edit", "people", "dialog-qr", "dialog-invite", "dialog-delete", "dialog-results",
)  # fmt: skip
"""Pages that are kept in all four looks side by side, at half their size."""
HIGHEST = 1000
"""Pixels of a page that a sheet shows."""
WHOLE = {
    "distribution-desktop": ("distribution-desktop-light", 1800),
    "dialog-qr-desktop": ("dialog-qr-desktop-light", 900),
    "answer-en-phone": ("answer-en-phone-light", 1800),
    "questionnaire-answer-phone": ("block-1-en-phone-light", 1800),
    "questionnaire-new-desktop": ("new-questionnaire-desktop-light", 1800),
    "questionnaire-results-desktop": ("questionnaire-desktop-light", 1800),
    "questionnaire-framed-phone": ("framed-phone-light", 1800),
}
"""Pictures that pages of the documentation show in full size: which one, and how much of it."""
LANGUAGES = ("answer-de-phone-light", "details-de-phone-light", "answer-ar-phone-light", "answer-ar-phone-dark")
COMMON, EDGES = 24, 48
"""How many colours a picture keeps: its most common ones as they are, and others that come near to the rest."""


def keep(folder: Path, images: Path) -> None:
    """Replace the collector's pictures in the documentation by those of a folder."""
    from PIL import Image

    def read(name: str, height: int) -> Any:
        found = Image.open(folder / f"collector-{name}.png").convert("RGB")
        return found.crop((0, 0, found.width, min(found.height, height)))

    def beside(shown: list[Any]) -> Any:
        gap = 20
        wide = Image.new(
            "RGB", (sum(one.width + gap for one in shown) - gap, max(one.height for one in shown)), "#8a8f94"
        )
        left = 0
        for one in shown:
            wide.paste(one, (left, 0))
            left += one.width + gap
        return wide

    def write(picture: Any, name: str) -> None:
        colours, places, counts = np.unique(
            np.asarray(picture).reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
        )
        common = colours[np.argsort(counts)[::-1][:COMMON]]  # grounds and fills
        edges = picture.quantize(EDGES, method=Image.Quantize.MAXCOVERAGE).getpalette()[: 3 * EDGES]
        palette = np.vstack([common, np.asarray(edges, dtype=np.uint8).reshape(-1, 3)])
        apart = ((colours[:, None].astype(np.int32) - palette.astype(np.int32)) ** 2).sum(axis=2)
        nearest = apart.argmin(axis=1).astype(np.uint8)[places.reshape(-1)]
        few = Image.frombytes("P", picture.size, nearest.tobytes())
        few.putpalette(palette.tobytes())
        few.save(images / f"collector-{name}.png", optimize=True)

    for old in images.glob("collector-*.png"):
        old.unlink()
    for name in SHEETS:
        screens = ("phone", "desktop")
        sheet = beside([read(f"{name}-{on}-{look}", HIGHEST) for on in screens for look in ("light", "dark")])
        half = sheet.resize((sheet.width // 2, sheet.height // 2), Image.Resampling.LANCZOS)
        write(half, name)
    for name, (source, height) in WHOLE.items():
        write(read(source, height), name)
    write(beside([read(name, 844) for name in LANGUAGES]), "languages")
