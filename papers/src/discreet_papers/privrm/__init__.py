"""The study of one paper."""
