"""`PYTHONPATH=docs python -m site_tools [FOLDER]`: draw the pictures of the documentation into docs/images."""

import sys
from pathlib import Path

from site_tools import pictures, trust, watching

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    drawn = {"how": pictures.PICTURES, "trust": trust.PICTURES, "watched": watching.PICTURES}
    for start, found in drawn.items():
        for name in found:
            print(pictures.draw(name, folder, start, found))
