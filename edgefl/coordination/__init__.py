"""Coordination of devices: policies (for whom a round waits), selections (who takes part), the server's view."""
