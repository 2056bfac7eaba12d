"""The foundation of all rooms: randomness, distributions, catalogues, sections, units, times, files and errors."""
