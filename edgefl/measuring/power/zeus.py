"""Zeus (ml.energy/zeus), a library that reads the energy counters of GPUs and processors."""

from importlib import import_module

from edgefl.measuring.power.reader import NotThere, Reader

WINDOW = "edgefl"


def reader() -> Reader:
    """Return the reader of all GPUs and processors that Zeus sees.

    Raises:
        NotThere: it is not installed, or sees none.
    """
    try:
        monitor = import_module("zeus.monitor").ZeusMonitor()
    except ImportError:
        raise NotThere("zeus is not installed: ml.energy/zeus says how") from None
    parts = [f"GPU {index}" for index in monitor.gpu_indices] + [f"CPU {index}" for index in monitor.cpu_indices]
    if not parts:
        raise NotThere("zeus sees neither a GPU nor a processor whose energy it may read")
    total_j = 0.0
    monitor.begin_window(WINDOW, sync_execution=False)

    def joules() -> float:
        nonlocal total_j
        # Without waiting for the GPU, as this is called while steps run.
        window = monitor.end_window(WINDOW, sync_execution=False)
        monitor.begin_window(WINDOW, sync_execution=False)
        for energies in (window.gpu_energy, window.cpu_energy, window.dram_energy):
            total_j += sum((energies or {}).values())
        return total_j

    return Reader(f"zeus {', '.join(parts)}: no other parts", joules, is_energy=True)
