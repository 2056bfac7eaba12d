"""Engines: how the local steps of clients are computed, one client at a time or a cohort at once.

`engine.py` says what an engine is; `serial.py` is the oracle.
"""
