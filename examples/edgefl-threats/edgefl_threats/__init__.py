"""Attacks, robust rules, differential privacy and secure aggregation, as plug-ins of edgefl."""
