"""`PYTHONPATH=docs python -m site_tools [FOLDER]`: draw the pictures of the documentation into docs/images."""

import sys
from pathlib import Path

from site_tools import pictures, trust

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    for start, drawn in (("how", pictures.PICTURES), ("trust", trust.PICTURES)):
        for name in drawn:
            print(pictures.draw(name, folder, start, drawn))
