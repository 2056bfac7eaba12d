"""Measures the board on which it runs, and writes the log that `edgefl calibrate` reads (`edgefl measure`)."""
