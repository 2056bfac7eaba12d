"""Zeus (ml.energy/zeus), a library that reads the energy counters of GPUs and processors."""

from importlib import import_module

from edgefl.measuring.power.source import NotThere, Source

WINDOW = "edgefl"


def source() -> Source:
    """Return all GPUs and processors that Zeus sees.

    Raises:
        NotThere: it is not installed, or sees none.
    """
    try:
        monitor = import_module("zeus.monitor").ZeusMonitor()
    except ImportError:
        raise NotThere("zeus is not installed: ml.energy/zeus says how") from None
    if not monitor.gpu_indices and not monitor.cpu_indices:
        raise NotThere("zeus sees neither a GPU nor a processor whose energy it may read")
    monitor.begin_window(WINDOW, sync_execution=False)
    joules: list[float] = []

    def total_j() -> float:
        # Without waiting for the GPU, as this is called while steps run.
        window = monitor.end_window(WINDOW, sync_execution=False)
        monitor.begin_window(WINDOW, sync_execution=False)
        for energies in (window.gpu_energy, window.cpu_energy, window.dram_energy):
            joules.extend((energies or {}).values())
        return sum(joules)

    parts = f"{len(monitor.gpu_indices)} GPUs, {len(monitor.cpu_indices)} processors"
    return Source(f"zeus: {parts}", total_j, is_energy=True)
