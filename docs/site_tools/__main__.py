"""`PYTHONPATH=docs python -m site_tools [FOLDER]`: draw the five pictures into docs/images."""

import sys
from pathlib import Path

from site_tools.pictures import PICTURES, draw

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    for name in PICTURES:
        print(draw(name, folder))
