"""Square Wave: distributions of numbers: the study of its paper."""
