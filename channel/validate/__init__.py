"""Every curve of the documentation against its formula: `python -m channel.validate`.

Each topic is a module with `checks()`, numbers of the library beside numbers that were worked out another way, and
`figures()`, the same as drawings for docs/channel. Oracles are written apart from the library on purpose: in plain
Python, by quadrature or by simulation.
"""
