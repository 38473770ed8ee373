"""AAA: an adaptive mechanism for means: the study of its paper."""
