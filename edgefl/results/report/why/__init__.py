"""What a run's time and energy are made of, and why another run takes more or less."""
