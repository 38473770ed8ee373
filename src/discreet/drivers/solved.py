"""Tables that were solved for, kept in files so that the next process need not solve for them again.

The folder is $XDG_CACHE_HOME/discreet, or ~/.cache/discreet. A file that is missing, corrupt or unsound is ignored and
written anew (`discreet.optimize.memory`), and a folder that cannot be written is not an error.
"""

import contextlib
import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder where solved tables are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


class SolvedTables:
    """The store of `discreet.optimize.memory`, as files in `cache_folder()`."""

    def read(self, name: str) -> str | None:
        """Return the text kept under a name, or None."""
        with contextlib.suppress(OSError, ValueError):
            return (cache_folder() / f"{name}.json").read_text(encoding="utf-8")
        return None

    def write(self, name: str, text: str) -> None:
        """Keep a text: written beside and then renamed, so that nobody ever reads half of a file."""
        with contextlib.suppress(OSError):
            cache_folder().mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=cache_folder(), suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(temporary, cache_folder() / f"{name}.json")
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
