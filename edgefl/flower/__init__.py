"""Flower apps in the emulated world: an unmodified ServerApp and ClientApp on emulated devices, radio and clock.

`emulate.emulate` runs an app; `report` reports a test of the app's model. Flower is imported only when an app runs, so
that an app may import this module anywhere.
"""

from edgefl.flower.metrics import report

__all__ = ["report"]
