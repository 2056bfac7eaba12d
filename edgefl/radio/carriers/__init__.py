"""Carriers: one file for each way in which a round's messages share the band.

`carrier.py` says what all of them do; the link (`radio/link.py`) opens them.
"""
