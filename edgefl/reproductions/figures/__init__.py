"""Figures of recipes: one module each, named by the recipe's key `figure`.

A module has one function::

    def draw(comparison: Comparison, folder: Path) -> list[Path]

It draws what `comparison.rows` holds (its curves are texts of numbers, which `readings.numbers_of` reads), writes its
files into the folder, and returns them.
"""
