"""mkdocs hook: generate pages while the site is built.

The mechanisms' pages come from the registry, the command line's from its help; contributing, security and changelog
from the files beside README.md.
"""

import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from site_tools.commands import command_page  # noqa: E402 - found by the line above
from site_tools.notebooks import names, page, title_of  # noqa: E402
from site_tools.pages import mechanism_pages, navigation  # noqa: E402 - found by the line above

BESIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}


def beside(name):
    """Return a file of the root as a page, with its links changed to pages."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    for file, target in BESIDE.items():
        text = text.replace(f"]({file}", f"]({target}")
    return text


PAGES = {f"mechanisms/{name}": text for name, text in mechanism_pages().items()}
PAGES["commands.md"] = command_page()
PAGES |= {target: beside(name) for name, target in BESIDE.items()}
PAGES |= {f"notebooks/{name}.md": page(name) for name in names()}


def on_config(config):
    """List the mechanisms and the notebooks in the navigation."""
    for section in config.nav:
        if isinstance(section, dict) and "Mechanisms" in section:
            section["Mechanisms"] = navigation()
        if isinstance(section, dict) and "Notebooks" in section:
            section["Notebooks"] = [{title_of(name): f"notebooks/{name}.md"} for name in names()]
    return config


def on_files(files, config):
    """Add the pages."""
    for path, text in PAGES.items():
        files.append(File.generated(config, path, content=text))
    return files
