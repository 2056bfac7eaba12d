"""The budget of a link: its share of the band and its signal-to-noise ratio. Begin with `link_budget.py`."""
