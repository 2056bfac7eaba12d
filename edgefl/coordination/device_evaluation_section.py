"""The section `server.device_evaluation` of a scenario: devices evaluate the new model before their round ends."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from edgefl.core.section import Count, Seconds, Section

LARGEST_ANSWER_BITS = 10**12


class DeviceEvaluationSection(Section):
    """Devices download the new model, evaluate it on samples of their own and answer, before the round ends."""

    samples: Annotated[float, Field(gt=0, le=1)] = 0.1  # share of a device's samples, rounded, but at least one of them
    every: Count = 1  # rounds from one evaluation to the next
    devices: Literal["participants", "present"] = "participants"  # whose update has arrived, or all that are present
    answer_bits: Annotated[int, Field(ge=1, le=LARGEST_ANSWER_BITS)] = 32  # size of an answer: one number
    deadline_s: Seconds | None = None  # after which answers that are missing are not waited for; None: wait for all
