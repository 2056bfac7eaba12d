"""Algorithms as programs of other papers run them, where these differ from the algorithm's own paper."""
