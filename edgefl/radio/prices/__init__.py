"""Prices: how long a transfer takes, what it costs and whether it fails, by walking over its slots.

`pricing.py` is where to begin; `transmission.py` walks.
"""
