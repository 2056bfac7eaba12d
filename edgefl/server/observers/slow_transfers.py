"""Warnings of uploads that take far longer than the others of their round, and of runs that wait for one constant."""

import logging
from dataclasses import dataclass

import numpy as np

from edgefl.server.observer import EndedRound, Observer, RoundColumns
from edgefl.server.participation import FAILED

TIMES_MEDIAN = 10.0  # an upload that takes longer than so many times the median of its round is worth a warning
LEAST_S = 60.0  # if it takes at least as long as this
LEAST_UPLOADS = 5  # of a round, for a median
ROUNDS = 5  # after which a run's time is looked at
MOST_OF_TIME = 0.5
SAME_TIME = 1e-3  # relative: a failure is noticed at a slot's end

log = logging.getLogger(__name__)


@dataclass(eq=False)
class SlowTransfers(Observer):
    """Warns once of each."""

    failure_s: float  # after which a transfer over a hopeless link fails; inf: never
    key: str  # that says so

    def __post_init__(self) -> None:
        self._rounds = 0
        self._failed = 0  # transfers
        self._failed_before = 0  # until the round before
        self._held_s = 0.0  # of rounds whose links have failed, as long as it took to fail
        self._warned_of_upload = False
        self._warned_of_time = False

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Look at the round's transfers."""
        self._rounds += 1
        if not self._warned_of_upload:
            self._look_at_uploads(ended)
        if not self._warned_of_time:
            self._look_at_time(ended)
        return {}

    def _look_at_uploads(self, ended: EndedRound) -> None:
        failed = np.isin(ended.devices["status"], FAILED)
        upload_s = np.where(failed, 0.0, np.nan_to_num(ended.devices["upload_s"]))
        if np.count_nonzero(upload_s) < LEAST_UPLOADS:
            return
        longest = int(np.argmax(upload_s))
        times = upload_s[longest] / np.median(upload_s[upload_s > 0])
        if upload_s[longest] < LEAST_S or times <= TIMES_MEDIAN:
            return
        self._warned_of_upload = True
        device = ended.devices["device"][longest]
        log.warning(
            "round %d: the upload of device %d takes %.0f s, %.0f times the median of its round: "
            "a higher radio.least_rsrp_dbm leaves out devices that hardly receive their cell",
            self._rounds,
            device,
            upload_s[longest],
            times,
        )

    def _look_at_time(self, ended: EndedRound) -> None:
        failed = np.isin(ended.devices["status"], FAILED)
        for name in ("download_s", "upload_s"):
            longest_s = np.nan_to_num(ended.devices[name][failed])
            self._failed += int(np.count_nonzero(np.isclose(longest_s, self.failure_s, rtol=SAME_TIME)))
        if self._failed > self._failed_before:
            self._held_s += min(self.failure_s, ended.until_s - ended.since_s)
        self._failed_before = self._failed
        if self._rounds < ROUNDS or self._held_s <= MOST_OF_TIME * ended.until_s:
            return
        self._warned_of_time = True
        log.warning(
            "%s: %g s makes %.0f %% of the time so far, as %d transfers over hopeless links failed after it: "
            "set it to seconds, or radio.least_rsrp_dbm, and radio.least_speed_mps for devices at rest",
            self.key,
            self.failure_s,
            100 * self._held_s / ended.until_s,
            self._failed,
        )
