"""Radio physics of a cell as pure functions: arrays in, arrays out, no state, no random numbers.

Every quantity carries its unit in its name. Random draws are arguments, so the caller owns the seeds. An argument that
is out of range, NaN or of the wrong shape raises a ValueError that names it and its range; nothing is extrapolated.

    >>> import channel
    >>> loss_db = channel.umi.path_loss_db([50.0, 250.0], carrier_hz=3.5e9, los=True)
    >>> snr = channel.rate.mean_snr(0.2, channel.units.db_to_linear(-loss_db), channel.units.dbm_to_w(-174), 1e6)
    >>> (channel.rate.mean_rayleigh_bps(1e6, snr) / 1e6).round(1)
    array([18.4, 13.1])
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from channel import (  # noqa: F401 - names for mypy
        airtime,
        allocation,
        antenna,
        block_assignment,
        cumulants,
        epochs,
        equal_finish,
        fading,
        field,
        first_passage,
        free_space,
        gain_map,
        geometry,
        given_slots,
        inh,
        innovations,
        interference,
        link_adaptation,
        link_columns,
        link_race,
        link_traces,
        log_distance,
        mcs,
        noma,
        numerology,
        packet_errors,
        penetration,
        rate,
        rma,
        sharing,
        slot_walk,
        sum_rate,
        tdl,
        tr38901,
        transfer,
        uma,
        umi,
        units,
        useful_width,
        waves,
    )

__all__ = [module.name for module in iter_modules(__path__) if not (module.ispkg or module.name.startswith("_"))]


def __getattr__(name: str) -> ModuleType:
    """Import a module when it is first used: most programs need few of them."""
    if name not in __all__:
        raise AttributeError(f"module 'channel' has no attribute '{name}'")
    return import_module(f"channel.{name}")


def __dir__() -> list[str]:
    """Return all names, also those of modules that are not imported yet."""
    return sorted({*globals(), *__all__})
