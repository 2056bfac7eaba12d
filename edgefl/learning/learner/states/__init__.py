"""States: what devices keep between rounds, and what is saved of it; `client_states.py` is where to begin."""
