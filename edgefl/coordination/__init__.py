"""Coordination of devices: policies (who waits for whom), selections (who takes part), the server's view of them."""
