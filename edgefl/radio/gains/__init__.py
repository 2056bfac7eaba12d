"""Gains of paths: path loss and shadowing, fading slot by slot, and how both go on in time.

`large_scale.py` and `small_scale.py` are where to begin.
"""
