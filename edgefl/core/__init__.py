"""What every room builds on: randomness, distributions, catalogues, sections, units, times, files and errors."""
