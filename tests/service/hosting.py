"""Another site for tests: the pages of examples/embedding, on another host name than the collector's."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples" / "embedding"


@contextmanager
def another_site(folder: Path) -> Iterator[str]:
    """Serve a copy of the examples, which must not be there yet; yield the site's origin."""
    shutil.copytree(EXAMPLES, folder)
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=20)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass
