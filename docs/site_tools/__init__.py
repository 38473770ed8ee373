"""Generated documentation: a page for every registered mechanism, and the pictures of `how-it-works.md`.

`mkdocs build` asks `pages` for the mechanisms' pages through the hook in mkdocs.yml, so they are always up to date with
the registry. `PYTHONPATH=docs python -m site_tools` draws the pictures again.
"""
