"""mkdocs hook: the pages of the mechanisms, written by the registry while the site is built."""

from mkdocs.structure.files import File

from discreet.docs.pages import mechanism_pages, navigation

PAGES = {f"mechanisms/{name}": text for name, text in mechanism_pages().items()}


def on_config(config):
    """List the pages in the navigation."""
    for section in config.nav:
        if isinstance(section, dict) and "Mechanisms" in section:
            section["Mechanisms"] = navigation()
    return config


def on_files(files, config):
    """Add the pages."""
    for path, text in PAGES.items():
        files.append(File.generated(config, path, content=text))
    return files
