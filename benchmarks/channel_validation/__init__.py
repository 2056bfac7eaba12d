"""Curves of the manual of the radio beside their formulas, for `python benchmarks/validate_channel.py`.

Each topic is a module with `checks()`, numbers of the library beside numbers that were worked out another way, and
`figures()`, the same as drawings for docs/channel. Oracles are written apart from the library on purpose: in plain
Python, by quadrature or by simulation.
"""
