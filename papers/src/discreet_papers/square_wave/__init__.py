"""Square Wave, a mechanism for distributions of numbers: the study of its paper."""
