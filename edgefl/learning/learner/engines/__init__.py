"""Engines, which compute the local steps of one client at a time, or of a cohort together.

`engine.py` has their base; `serial.py` is the oracle.
"""
