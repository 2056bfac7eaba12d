"""The budget of a link: its share of the band, and its signal-to-noise ratio beside all others on it.

`link_budget.py` is where to begin.
"""
