"""The emulated server: the one round_key where world, radio and learning meet."""
