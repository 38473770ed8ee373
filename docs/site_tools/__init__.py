"""Documentation that computes itself: a page for every registered mechanism, and the pictures of `how-it-works.md`.

`mkdocs build` asks `pages` for the mechanisms' pages through the hook in mkdocs.yml, so they can never be older than
the registry. `PYTHONPATH=docs python -m site_tools` draws the pictures again.
"""
