"""Gains of paths in time: path loss, shadowing and fading. Begin with `large_scale.py` and `small_scale.py`."""
