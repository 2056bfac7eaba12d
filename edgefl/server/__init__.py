"""The emulated server: the one place where world, radio and learning meet."""
