"""Federated learning: algorithms, models, data, codecs, and the engines that train."""
