"""The N-output mechanism and its hybrids: the study of its paper."""
