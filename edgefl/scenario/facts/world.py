"""Facts about devices and cells."""

from collections.abc import Callable

from edgefl.scenario.facts.fact import Fact, differs, equals, is_false, is_given, is_true
from edgefl.world.compute_section import Compute
from edgefl.world.devices_section import Hardware


def _some_hardware(said: str, asks: Callable[[Hardware], bool]) -> Fact:
    return Fact(said, lambda scenario: any(asks(hardware) for hardware in scenario.devices.made_of))


has_batteries = is_true("devices.has_batteries", "devices have batteries")
all_have_batteries = Fact(
    "each device has a battery", lambda scenario: scenario.devices.battery_count == scenario.devices.count
)
has_no_batteries = is_false("devices.has_batteries", "no device has a battery")
ends_with_batteries = is_given("stop.depleted", "the run ends when devices have run out of charge")
has_tails = is_true("devices.has_tails", "radios stay awake after a transfer")
clocks_are_scaled = is_true("devices.dvfs.scales_clock", "`devices.dvfs` sets clocks")
clocks_follow_deadline = is_true("devices.dvfs.needs_deadline", "`devices.dvfs` plans for a deadline")
computing_has_a_law = _some_hardware(
    "a device's computing time is not its operations over its speed", lambda hardware: hardware.compute != Compute()
)
processors_get_hot = _some_hardware(
    "processors slow down when they are hot", lambda hardware: bool(hardware.compute.throttling)
)
processors_draw_static_power = _some_hardware(
    "a processor draws static power", lambda hardware: hardware.cpu_static_w.span()[1] > 0
)
powers_were_measured = _some_hardware(
    "a processor draws measured powers", lambda hardware: hardware.power_points is not None
)
sets_up = is_true("devices.sets_up", "devices take time, or energy, to set up before a participation")
powers_are_controlled = Fact(
    "some devices send at less than full power",
    lambda scenario: not all(control.always_full for control in scenario.power_controls),
)
cells_are_hexagons = equals("cells.drop", "hexagons", "devices are dropped in hexagons")
mobility_leaves_hexagons = is_false("mobility.keeps_to_hexagons", "the mobility takes devices out of hexagons")
hands_over = is_given("cells.handover", "devices are handed over during a round")
antennas_are_directional = is_true("cells.antenna.directional", "base stations have directional antennas")
accounts_for_base_stations = is_given("cells.energy", "the energy of base stations is accounted for")
has_sectors = differs("cells.sectors", 1, "base stations have several sectors")
has_no_sectors = equals("cells.sectors", 1, "base stations have one sector each")
