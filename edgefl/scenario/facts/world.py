"""Facts about devices and cells."""

from edgefl.scenario.facts.fact import Fact
from edgefl.world.compute_section import Compute

has_batteries = Fact("devices have batteries", lambda scenario: scenario.devices.has_batteries)
all_have_batteries = Fact(
    "each device has a battery", lambda scenario: scenario.devices.battery_count == scenario.devices.count
)
has_no_batteries = Fact("no device has a battery", lambda scenario: not scenario.devices.has_batteries)
ends_with_batteries = Fact(
    "the run ends when devices have run out of charge", lambda scenario: scenario.stop.depleted is not None
)
has_tails = Fact("radios stay awake after a transfer", lambda scenario: scenario.devices.has_tails)
clocks_are_scaled = Fact("`devices.dvfs` sets clocks", lambda scenario: scenario.devices.dvfs.scales_clock)
clocks_follow_deadline = Fact(
    "`devices.dvfs` plans for a deadline", lambda scenario: scenario.devices.dvfs.needs_deadline
)
computing_has_a_law = Fact(
    "a device's computing time is not its operations over its speed",
    lambda scenario: any(hardware.compute != Compute() for hardware in scenario.devices.made_of),
)
processors_get_hot = Fact(
    "processors slow down when they are hot",
    lambda scenario: any(hardware.compute.throttling for hardware in scenario.devices.made_of),
)
processors_draw_static_power = Fact(
    "a processor draws static power", lambda scenario: scenario.devices.span("cpu_static_w")[1] > 0
)
sets_up = Fact(
    "devices take time, or energy, to set up before a participation", lambda scenario: scenario.devices.sets_up
)
sent_bits_draw_energy = Fact(
    "a radio draws energy for each megabit that it sends",
    lambda scenario: any(hardware.radio_energy.tx_j_per_mbit.span()[1] > 0 for hardware in scenario.devices.made_of),
)
powers_are_controlled = Fact(
    "some devices send at less than full power",
    lambda scenario: not all(hardware.power_control.always_full for hardware in scenario.devices.made_of),
)
cells_are_hexagons = Fact("devices are dropped in hexagons", lambda scenario: scenario.cells.drop == "hexagons")
mobility_leaves_hexagons = Fact(
    "the mobility takes devices out of hexagons", lambda scenario: not scenario.mobility.keeps_to_hexagons
)
hands_over = Fact("devices are handed over during a round", lambda scenario: scenario.cells.handover is not None)
antennas_are_directional = Fact(
    "base stations have directional antennas", lambda scenario: scenario.cells.antenna.directional
)
accounts_for_base_stations = Fact(
    "the energy of base stations is accounted for", lambda scenario: scenario.cells.energy is not None
)
has_sectors = Fact("base stations have several sectors", lambda scenario: scenario.cells.sectors > 1)
has_no_sectors = Fact("base stations have one sector each", lambda scenario: scenario.cells.sectors == 1)
