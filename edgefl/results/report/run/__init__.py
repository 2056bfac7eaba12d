"""Figures, tables and words about one run. To add a figure, see `run_cards.py`."""
