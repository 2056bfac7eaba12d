"""Several runs side by side: their learning curves, pooled by seeds, and what they gain over a reference."""
