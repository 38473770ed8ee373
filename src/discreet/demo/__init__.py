"""The demo: the main job from end to end, on vendored data."""
