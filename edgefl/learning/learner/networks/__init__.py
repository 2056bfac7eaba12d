"""Networks: a module as a function of flat vectors, and back; `network.py` is where to begin."""
