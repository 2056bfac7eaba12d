"""Facts about devices and cells."""

from __future__ import annotations

from edgefl.scenario.sections import Sections
from edgefl.world.compute_section import Compute


def has_batteries(scenario: Sections) -> bool:
    """Return whether devices have batteries."""
    return scenario.devices.has_batteries


def has_no_batteries(scenario: Sections) -> bool:
    """Return whether no device has a battery."""
    return not scenario.devices.has_batteries


def has_tails(scenario: Sections) -> bool:
    """Return whether radios stay awake after a transfer."""
    return scenario.devices.has_tails


def clocks_are_scaled(scenario: Sections) -> bool:
    """Return whether `devices.dvfs` sets clocks."""
    return scenario.devices.dvfs.scales_clock


def clocks_follow_deadline(scenario: Sections) -> bool:
    """Return whether `devices.dvfs` plans for a deadline."""
    return scenario.devices.dvfs.needs_deadline


def computing_has_a_law(scenario: Sections) -> bool:
    """Return whether a device takes another time than its operations over its speed."""
    return any(hardware.compute != Compute() for hardware in scenario.devices.made_of)


def processors_get_hot(scenario: Sections) -> bool:
    """Return whether processors slow down when they are hot."""
    return any(hardware.compute.throttling for hardware in scenario.devices.made_of)


def processors_draw_static_power(scenario: Sections) -> bool:
    """Return whether a processor draws power besides that of its clock."""
    return scenario.devices.span("cpu_static_w")[1] > 0


def sets_up(scenario: Sections) -> bool:
    """Return whether devices take time, or energy, to set up before a participation."""
    return scenario.devices.sets_up


def sent_bits_draw_energy(scenario: Sections) -> bool:
    """Return whether a radio draws energy for each megabit that it sends."""
    return any(hardware.radio_energy.tx_j_per_mbit.span()[1] > 0 for hardware in scenario.devices.made_of)


def powers_are_controlled(scenario: Sections) -> bool:
    """Return whether some devices send at less than full power."""
    return not all(hardware.power_control.always_full for hardware in scenario.devices.made_of)


def cells_are_hexagons(scenario: Sections) -> bool:
    """Return whether devices are dropped in hexagons."""
    return scenario.cells.drop == "hexagons"


def mobility_leaves_hexagons(scenario: Sections) -> bool:
    """Return whether the mobility takes devices out of hexagons."""
    return not scenario.mobility.keeps_to_hexagons


def hands_over(scenario: Sections) -> bool:
    """Return whether devices are handed over in the course of a round."""
    return scenario.cells.handover is not None


def antennas_are_directional(scenario: Sections) -> bool:
    """Return whether base stations have directional antennas."""
    return scenario.cells.antenna.directional


def accounts_for_base_stations(scenario: Sections) -> bool:
    """Return whether the energy of base stations is accounted for."""
    return scenario.cells.energy is not None


def has_sectors(scenario: Sections) -> bool:
    """Return whether base stations have several sectors."""
    return scenario.cells.sectors > 1


def has_no_sectors(scenario: Sections) -> bool:
    """Return whether base stations have one sector each."""
    return scenario.cells.sectors == 1
