"""A division of the band, a measure and a drift, as plug-ins of edgefl."""
