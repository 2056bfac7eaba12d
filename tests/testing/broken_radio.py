"""Packet errors, recorded links and other users, healthy and broken."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from channel.link_traces import SnrSteps, Steps
from edgefl.radio.background import OtherUsers
from edgefl.radio.background.constant import ConstantLoad
from edgefl.radio.background.poisson import PoissonTransfers
from edgefl.radio.background.sessions import PoissonSessions
from edgefl.radio.errors import PacketErrors
from edgefl.radio.errors.bler import Bler
from edgefl.radio.errors.none import NoErrors
from edgefl.radio.errors.outage import Outage
from edgefl.radio.traces import LinkTrace, Recording
from edgefl.radio.traces.table import CsvTrace

LINKS = Path(__file__).parents[2] / "scenarios" / "link-traces.csv"
TRANSFERS = {"arrivals_per_s": 3.0, "mean_bits": 2e6, "bps_hz": 1.0}  # 0.3 of 20 MHz
SESSIONS = {"arrivals_per_s": 0.5, "mean_s": 4.0}
HEALTHY = [
    (NoErrors, {}),
    (Outage, {}),
    (Outage, {"threshold_db": 7.0}),
    (Bler, {}),
    (Bler, {"target": 0.01}),
    (ConstantLoad, {"load": 0.4}),
    (ConstantLoad, {"load": 0.4, "uplink": 0.0}),
    *((PoissonTransfers, {**TRANSFERS, "law": law}) for law in ("exponential", "fixed", "pareto")),
    *((PoissonSessions, {**SESSIONS, "law": law}) for law in ("exponential", "fixed", "pareto")),
    (CsvTrace, {"path": LINKS, "assign": "pool"}),
]


class Rising(Outage):
    """Loses more at a high SNR."""

    def failure_probability(self, mean_snr, k_factor):
        return 1.0 - super().failure_probability(mean_snr, k_factor)


class AboveOne(Outage):
    """Probabilities up to 2."""

    def failure_probability(self, mean_snr, k_factor):
        return 2.0 * super().failure_probability(mean_snr, k_factor)


class Ranked(PacketErrors):
    """The weakest half of those that are asked for is lost."""

    def failure_probability(self, mean_snr, k_factor):
        return (mean_snr < np.median(mean_snr)).astype(float)


class BentCurves(Bler):
    """Curves that rise."""

    def link_adaptation(self, rate):
        found = super().link_adaptation(rate)
        return replace(found, error_rates=found.error_rates[:, ::-1].copy())


class NoKey(Bler):
    """Refuses by a key that there is not."""

    def refusal(self, rate, transfer):
        return "speed", "drive slower"


class Nothing(LinkTrace):
    """No recording."""

    def recordings(self):
        return []


class Silent(LinkTrace):
    """An uplink that never carries anything."""

    def recordings(self):
        zero = np.zeros(1)
        return [Recording("0", Steps(zero, np.array([1e6]), 1.0), Steps(zero, zero, 1.0))]


class Mixed(LinkTrace):
    """Rates downlink, SNRs uplink."""

    def recordings(self):
        zero = np.zeros(1)
        return [Recording("0", Steps(zero, np.array([1e6]), 1.0), SnrSteps(zero, zero, 1.0))]


class Linear(LinkTrace):
    """SNRs in 1 that should be in dB."""

    def recordings(self):
        steps = SnrSteps(np.zeros(1), np.array([1e4]), 1.0)
        return [Recording("0", steps, steps)]


class Impatient(Steps):
    def takes_s(self, begin_s, amount, *, repeats=True):
        return amount / self.rate.mean()


class WrongInverse(LinkTrace):
    """A time from the mean rate."""

    def recordings(self):
        steps = Impatient(np.array([0.0, 1.0]), np.array([1e6, 5e6]), 2.0)
        return [Recording("0", steps, steps)]


class Another(LinkTrace):
    """Other rates each time."""

    def recordings(self):
        Another.times = getattr(Another, "times", 0) + 1
        steps = Steps(np.zeros(1), np.array([1e6 * Another.times]), 1.0)
        return [Recording("0", steps, steps)]


class Changed(PoissonSessions):
    """Sessions, with something that is wrong with their users."""

    def users(self, way, capacity_hz, generator):
        found = super().users(way, capacity_hz, generator)
        found.__class__ = self.kind_of(type(found))
        return found


class Greedy(Changed):
    """Two users leave no share free."""

    def kind_of(self, base):
        def free_share(users, _transfers):
            return 1.0 if users.count < 2 else 0.0

        return type("All", (base,), {"free_share": free_share})


class AlwaysNow(OtherUsers):
    now_s = 0.0
    count = 1.0

    def advance(self, time_s, transfers):
        self.now_s = time_s

    def next_change_s(self, transfers):
        return self.now_s


class Standing(ConstantLoad):
    """A change that is always now."""

    def users(self, way, capacity_hz, generator):
        return AlwaysNow()


class Forgetful(Changed):
    """One more user with each look."""

    def kind_of(self, base):
        def advance(users, time_s, transfers):
            users.looks = getattr(users, "looks", 0) + 1
            base.advance(users, time_s, transfers)

        return type("Looked", (base,), {"advance": advance, "count": property(lambda users: float(users.looks))})


class Empty(PoissonSessions):
    """Cells that are empty at the beginning."""

    def users(self, way, capacity_hz, generator):
        found = super().users(way, capacity_hz, generator)
        found._ends_s.clear()
        return found


class TooLittle(PoissonTransfers):
    """A mean load of a fifth of what is sent."""

    def mean_load(self, way, capacity_hz):
        return super().mean_load(way, capacity_hz) / 5


class NoUsers(ConstantLoad):
    """A number instead of users."""

    def users(self, way, capacity_hz, generator):
        return 3


BROKEN = [
    (Rising, {}, "falls", "Rising.failure_probability rises from"),
    (AboveOne, {}, "returns", "AboveOne.failure_probability returned an array [281] of float64 from"),
    (Ranked, {}, "one of many", "Ranked.failure_probability returns others for 7 of 281 attempts"),
    (BentCurves, {}, "falls", "BentCurves.link_adaptation returned error rates of scheme"),
    (NoKey, {}, "returns", "NoKey.refusal returned ('speed', 'drive slower'), expected a key of radio"),
    (Nothing, {}, "returns", "Nothing.recordings returned an empty list"),
    (Silent, {}, "carries", "Silent.recordings returned uplinks that carry nothing at any time"),
    (Mixed, {}, "returns", "Mixed.recordings returned both rates and SNRs"),
    (Linear, {}, "returns", "Linear.recordings returned an SNR of 10000 dB in size"),
    (WrongInverse, {}, "takes", "WrongInverse.recordings returned a downlink 0 that carries"),
    (Another, {}, "repeatable", "Another.recordings returns other values when it is called again"),
    (Silent, {"at_end": "error", "begin_s": 3.0}, "begins", "Silent: begin_s = 3 s is not before the end"),
    (Greedy, SESSIONS, "returns", "All.free_share returned 0, expected the share that is left"),
    (Standing, {"load": 0.5}, "returns", "AlwaysNow.next_change_s returned 0 s at 0 s"),
    (Forgetful, SESSIONS, "until a change", "Looked.next_change_s says that nothing changes until"),
    (Empty, SESSIONS, "equilibrium", "Empty.users returned 0 users a cell on average, and there are"),
    (TooLittle, TRANSFERS, "mean load", "TooLittle.mean_load returned 0.06, but one long transfer gets 0."),
    (TooLittle, {**TRANSFERS, "bandwidth_hz": 1e6}, "returns", "of the downlink's 1e+06 Hz, expected less than 1"),
    (NoUsers, {"load": 0.5}, "returns", "NoUsers.users returned a int, expected an OtherUsers"),
]
HEALTHY.append((Empty, {**SESSIONS, "stationary": False}))
