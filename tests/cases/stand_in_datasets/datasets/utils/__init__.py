"""A stand-in: see `datasets`."""
