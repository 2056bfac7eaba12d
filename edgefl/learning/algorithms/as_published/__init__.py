"""Algorithms as published programs run them, where these differ from the paper of the algorithm."""
