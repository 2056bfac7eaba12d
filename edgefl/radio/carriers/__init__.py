"""Carriers, one file for each way that a round's messages share the band.

`carrier.py` has their protocol; the link (`radio/link.py`) opens them.
"""
