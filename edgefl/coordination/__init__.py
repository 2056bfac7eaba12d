"""Coordination of devices: policies (when a round ends), selections (which devices take part), the server's view."""
