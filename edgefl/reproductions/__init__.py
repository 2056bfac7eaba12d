"""Reproductions of published tables and figures: recipes, their runs, and published numbers beside measured ones."""
