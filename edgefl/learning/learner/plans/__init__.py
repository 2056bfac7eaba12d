"""Plans: the engine and the kernel that train clients, and the number of clients that train together."""
