"""What every room builds on: randomness, distributions, catalogues, sections, units, files and errors."""
