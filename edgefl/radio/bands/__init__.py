"""Bands, which are divided among transfers whenever one of them begins or ends.

`band.py` is where to begin; `fixed.py` and `recorded.py` are its other kinds.
"""
