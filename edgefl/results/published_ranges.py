"""Published ranges of radios and processors, with which runs are compared.

A value outside is not wrong, but no measured or standardised device has it, so it deserves a second look.
"""

from typing import NamedTuple


class PublishedRange(NamedTuple):
    """A quantity of a run, and its least and largest published values."""

    said: str  # the unit and quantity after a number
    name: str  # the heading of a row
    unit: str
    least: float
    most: float
    least_source: str
    most_source: str


_LEAST_RATE = "MCS 0 for the farthest devices, 2 x 30/1024 (3GPP TS 38.214, Table 5.1.3.1-3)"
_MOST_RATE = "256QAM on one layer, 8 x 948/1024 (3GPP TS 38.214, Table 5.1.3.1-2); 64QAM carries 5.55 (Table 5.1.3.1-1)"

DOWNLINK = PublishedRange("bit/s/Hz down", "download", "bit/s/Hz", 0.0586, 7.41, _LEAST_RATE, _MOST_RATE)
UPLINK = DOWNLINK._replace(said="bit/s/Hz up", name="upload")
SENT_BIT = PublishedRange(
    "nJ/bit sent",
    "a bit sent",
    "nJ",
    8.93,
    8720.0,
    "slope of a phone's power over its rate, 5G at 28 GHz (Narayanan et al., ACM SIGCOMM 2021; LTE there: 85)",
    "NB-IoT, 545 mW at 62.5 kbit/s (3GPP TR 45.820); LTE of 2012: 438 (Huang et al., ACM MobiSys 2012)",
)
SENDING = PublishedRange(
    "W sending",
    "sending",
    "W",
    0.416,
    7.22,
    "Wi-Fi at 1 Mbit/s (Huang et al., ACM MobiSys 2012)",
    "a whole phone, 5G at 28 GHz and 183 Mbit/s (Narayanan et al., ACM SIGCOMM 2021)",
)
WAITING = PublishedRange(
    "W waiting",
    "waiting",
    "W",
    0.0024,
    4.91,
    "an NB-IoT module (3GPP TR 45.820); a phone's idle LTE radio: 0.02 (Huang et al., ACM MobiSys 2012)",
    "a Jetson Orin NX, all of it, over a day (E2FL, 2025)",
)
COMPUTING = PublishedRange(
    "Gflop/J",
    "computing",
    "Gflop/J",
    0.118,
    1410.0,
    "LeNet, one sample a step, on a phone (MNN on a Meizu 16T, above idle)",
    "an H100 SXM, 989 Tflop/s of bfloat16 at 700 W (its data sheet)",
)
HANDOVERS = PublishedRange(
    "handovers a minute",
    "handovers of a device",
    "1/min",
    0.0,
    13.2,
    "a device that stays in its cell",
    "108 km/h through hexagons of 100 m, v P / (pi A) (Thomas, Gilbert and Mazziotto, 1988)",
)
