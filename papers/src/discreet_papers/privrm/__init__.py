"""PrivRM: the mean of those inside a range: the study of its paper."""
