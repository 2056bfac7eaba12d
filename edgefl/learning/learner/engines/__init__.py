"""Engines, which compute the local steps of one client at a time (`serial.py`, the oracle), or of a cohort together."""
