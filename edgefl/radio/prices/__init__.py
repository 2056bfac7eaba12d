"""Prices: duration, cost and failure of a transfer, by walking over its slots.

Begin with `pricing.py`; `transmission.py` walks.
"""
