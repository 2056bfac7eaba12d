"""Federated learning itself: algorithms, models, data, codecs, and the engines that train."""
