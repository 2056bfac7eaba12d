"""How far laws miss numbers that they were not fitted to: keys of `devices` and `radio` that a calibration writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from edgefl.core.section import IF_GIVEN, Section

NetworkKind = Literal["large_images", "small_images", "other"]
LARGE = 64  # least pixels of an image's shorter side for a network's images to be large
IMAGE_AXES = 3  # channels, height, width


class HeldOutError(Section):
    """The error of a law on numbers left out of its fit."""

    sigma: Annotated[float, Field(gt=0, le=5)]  # Root mean square of ln(measured / predicted).
    numbers: Annotated[int, Field(ge=2)]  # How many independent numbers it is the root mean square of.


Error = Annotated[HeldOutError | None, IF_GIVEN]


class ComputeErrors(Section):
    """Errors of a law of computing by kind of network."""

    large_images: Error = None  # Error on networks for images of 64 pixels a side and more.
    small_images: Error = None  # Error on networks for smaller images.
    other: Error = None  # Error on networks for anything else, such as texts and tables.

    def of(self, kind: NetworkKind) -> HeldOutError | None:
        """Return the error on a kind of network; None where it was not measured."""
        error: HeldOutError | None = getattr(self, kind)
        return error


class DeviceErrors(Section):
    """Held-out errors of the laws that price a device's participation."""

    compute: ComputeErrors = ComputeErrors()  # Errors of the time of computing, by kind of network.
    power: Error = None  # Error of the power in all states.


class LinkErrors(Section):
    """Held-out errors of the time that a link takes."""

    downlink: Error = None  # Error of the time of downloads.
    uplink: Error = None  # Error of the time of uploads.


DeviceErrorKeys = Annotated[DeviceErrors | None, IF_GIVEN]
LinkErrorKeys = Annotated[LinkErrors | None, IF_GIVEN]


def kind_of_network(shape: tuple[int, ...] | Any) -> NetworkKind:
    """Return the kind of a network by the shape of its samples."""
    if len(shape) != IMAGE_AXES:
        return "other"
    return "large_images" if min(shape[1:]) >= LARGE else "small_images"
