"""The demo: real questions asked privately of data that ship with the package, each answer beside the truth.

`run` holds what every question uses, `means`, `shapes` and `collector` hold the questions, `story` puts them in order.
"""
