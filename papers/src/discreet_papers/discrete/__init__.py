"""The comparison of mechanisms for discrete distributions: the study of its paper."""
