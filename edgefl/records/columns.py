"""The columns of all result files: names, types, units and meanings (`result_files.py` has the files).

The ledger, the readers of result folders, the exports and `results/README.md` take their columns from here, and the
ledger refuses any other column. To add a column to ``devices.csv``, add an entry to `DEVICE_COLUMNS` and a statement
where its value is known (`edgefl.server.accounting.device_columns`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result file."""

    name: str
    type: type[bool | int | float | str]
    unit: str  # empty for counts, fractions and texts
    meaning: str
    when: str = ""  # which runs have it; empty: all runs

    @property
    def optional(self) -> bool:
        """Whether only some runs have this column."""
        return bool(self.when)


def _number(name: str, unit: str, meaning: str, when: str = "") -> ResultColumn:
    return ResultColumn(name, float, unit, meaning, when)


def _count(name: str, meaning: str, when: str = "") -> ResultColumn:
    return ResultColumn(name, int, "", meaning, when)


def _bytes(name: str, meaning: str, when: str = "") -> ResultColumn:
    return ResultColumn(name, int, "B", meaning, when)


def _text(name: str, meaning: str) -> ResultColumn:
    return ResultColumn(name, str, "", meaning)


# The runs that have an optional column
SERVICE_RUNS = "`radio.least_rsrp_dbm`"
BATTERY_RUNS = "`devices.battery`"
LIFETIME_RUNS = "`stop.depleted`"
BASE_STATION_RUNS = "`cells.energy`"
CARBON_RUNS = "`devices.carbon_g_kwh`"
BASE_STATION_CARBON_RUNS = "`cells.energy.carbon_g_kwh`"
CSI_RUNS = "`server.csi: perfect` or `mean`, unless `report_bits` is 0"
EVALUATION_RUNS = "`server.device_evaluation`"
GEOMETRY_RUNS = "`report.geometry`"
SINR_RUNS = "`radio.interference` or `report.geometry`"
BLOCK_RUNS = "`radio.errors: bler`"
BAND_RUNS = "all but `radio.uplink: noma` or `aircomp`, and recorded rates"
OVER_THE_AIR_RUNS = "`radio.uplink: aircomp`"
RANKING_RUNS = "data sets of rankings (MovieLens)"
SCALAR_RUNS = "`data.dataset: quadratic`"
SETUP_RUNS = "`devices.setup_s` or `devices.setup_j`"
SEL_RUNS = "`report.models` with `sel`"
TRAIN_RUNS = "`report.train_accuracy`"
ALL_RUNS = "`report.models` with `all`"
VALIDATION_RUNS = "`data.validation_share`"
# Keys of rows that several files share
SESSION = _count("session", "number of the session, from 1; always 1 without sessions")
ROUND = _count("round", "number of the round in its session, from 1; extra rounds have 0 and less")
DEVICE = _count("device", "number of the device, from 0")

ROUND_COLUMNS = (
    SESSION,
    ROUND,
    _number("time_s", "s", "virtual time at the end of the round, since the beginning of the run"),
    _number("duration_s", "s", "virtual duration of the round"),
    _number("energy_j", "J", "energy that all devices have spent on taking part since the beginning of the run"),
    _number("round_energy_j", "J", "energy that all devices have spent on taking part in this round"),
    _count("selected", "participations that ended in the round"),
    _count("received", "updates that arrived and were learned from"),
    _count("late", "participations that were too late, or that the policy cut short"),
    _count("departed", "participations that ended because the device left or its battery ran out"),
    _bytes("bytes_down", "bytes that devices received"),
    _bytes("bytes_up", "bytes that devices sent"),
    _number(
        "train_loss",
        "",
        "mean of the participants' training losses, weighted by samples; each is the mean over its local steps",
    ),
    _number("test_loss", "", "loss of the global model on the test set; empty where it was not tested"),
    _number("test_accuracy", "", "accuracy of the global model on the test set, 0 to 1; empty where it was not tested"),
    _count("failed", "participations that ended by a failed transfer or handover, or for lack of memory"),
    _number("wasted_j", "J", "energy of participations whose update was not used"),
    _count("present", "devices that were present when the round began"),
    _count("arrivals", "devices that arrived during the round"),
    _count("departures", "devices that left during the round"),
    # The scalar problem, rankings and other models than the global one, when a round was tested
    _number("parameter", "", "the model, a single number", SCALAR_RUNS),
    _number("distance_to_optimum", "", "distance of the model to the known optimum", SCALAR_RUNS),
    _number("test_auc", "", "area under the ROC curve of the test set, 0 to 1", RANKING_RUNS),
    _number("hr_5", "", "hit rate: share of users whose film is among their first 5", RANKING_RUNS),
    _number("ndcg_5", "", "normalised discounted cumulative gain at 5, mean over users", RANKING_RUNS),
    _number("hr_10", "", "hit rate: share of users whose film is among their first 10", RANKING_RUNS),
    _number("ndcg_10", "", "normalised discounted cumulative gain at 10, mean over users", RANKING_RUNS),
    _number("test_auc_strict", "", "the same, where equal scores count nothing instead of half", "`report.strict_auc`"),
    _number("validation_loss", "", "loss of the global model on the validation set", VALIDATION_RUNS),
    _number("validation_accuracy", "", "accuracy of the global model on the validation set, 0 to 1", VALIDATION_RUNS),
    _number("sel_loss", "", "test loss of the mean of the round's local models", SEL_RUNS),
    _number("sel_accuracy", "", "test accuracy of the mean of the round's local models", SEL_RUNS),
    _number("all_loss", "", "test loss of the mean of all devices' last local models", ALL_RUNS),
    _number("all_accuracy", "", "test accuracy of the mean of all devices' last local models", ALL_RUNS),
    _number("train_accuracy", "", "accuracy of the global model on training samples of some devices", TRAIN_RUNS),
    # Traces of algorithms
    _number("awaited", "", "devices still to be received before the model changes", "`algorithm.mode: wait`"),
    _number("contributing", "", "stored updates that count in the model", "`fedar`"),
    _number("staleness", "", "mean age of the updates, in aggregations", "`fedbuff`, `fedasync`"),
    _number("staleness_weight", "", "mean weight of the updates by their age", "`fedbuff`, `fedasync`, `fedar`"),
    _number("seen", "", "devices that the server has received an update from so far", "`mifa`"),
    _number("gate", "", "mean gate of the participants", "`fedssg`"),
    _number("kalman_gain", "", "weight of the observed move against the predicted one", "`fedeve`"),
    _number("period_variance", "", "sigma_Q^2: variance by which the prediction misses", "`fedeve`"),
    _number("client_variance", "", "sigma_R^2: variance of the participants' mean move", "`fedeve`"),
    _number(
        "aggregation_mse",
        "",
        "mean squared error of the mean update as received, over its parameters; empty where nothing is learned",
        OVER_THE_AIR_RUNS,
    ),
    # Sessions, cells, policies, selections and batteries
    _number(
        "receive_snr_db",
        "dB",
        "received power of an update over the noise of the band, mean over those that arrived; empty if none did",
        OVER_THE_AIR_RUNS,
    ),
    _bytes("history_bytes", "bytes that the server keeps for the initial models of later sessions", "several sessions"),
    _count("handovers", "handovers of devices under way between cells", "`cells.handover`"),
    _count("link_failures", "radio links of devices under way that failed", "`cells.handover.radio_link_failure`"),
    _bytes(
        "backhaul_bytes",
        "bytes of models between base stations and the cloud, both ways",
        "`server.policy: hierarchical`",
    ),
    _number(
        "server_energy_j", "J", "energy of the server's part of the model; not in `energy_j`", "`server.policy: split`"
    ),
    _number(
        "bs_static_energy_j",
        "J",
        "energy that base stations have drawn all the time during the round; not in `energy_j`",
        BASE_STATION_RUNS,
    ),
    _number(
        "bs_load_energy_j",
        "J",
        "energy that base stations have drawn for what they sent to the round's participants; not in `energy_j`",
        BASE_STATION_RUNS,
    ),
    _count("answered", "messages besides training that devices have answered", "Flower apps"),
    _count("polled", "devices that were asked for their loss and not chosen", "selections that poll"),
    _count("csi_reports", "reports on channels that devices sent before participants were chosen", CSI_RUNS),
    _number("csi_energy_j", "J", "energy of these reports; a part of `round_energy_j`", CSI_RUNS),
    _number("evaluation_s", "s", "time in which devices evaluated the new model, at the round's end", EVALUATION_RUNS),
    _count("evaluated", "devices whose answers arrived in that time", EVALUATION_RUNS),
    _number("evaluation_energy_j", "J", "energy of these evaluations; a part of `round_energy_j`", EVALUATION_RUNS),
    _count("out_of_service", "devices that were present, but not served, when the round began", SERVICE_RUNS),
    _count("depleted", "devices without charge at the round's end", BATTERY_RUNS),
    _number("battery", "", "mean level of all batteries at the round's end, 0 to 1", BATTERY_RUNS),
    _number("stored_j", "J", "energy in all batteries at the round's end", BATTERY_RUNS),
    _number("charged_j", "J", "energy charged into all batteries during the round", BATTERY_RUNS),
    _number(
        "drained_j",
        "J",
        "energy drained from batteries during the round besides taking part: `base_w` always, `idle_w` in between",
        BATTERY_RUNS,
    ),
    _number(
        "load_down",
        "",
        "part of the downlink's band that downloads occupied over the round's time, mean over cells; a participation "
        "counts in the round in which it ends",
        BAND_RUNS,
    ),
    _number("load_up", "", "part of the uplink's band that uploads occupied, likewise", BAND_RUNS),
    _number("carbon_g", "g", "CO2 equivalent of the energy of the round's participations", CARBON_RUNS),
    _number("bs_carbon_g", "g", "CO2 equivalent of the base stations' energy in the round", BASE_STATION_CARBON_RUNS),
)
CELL_LOAD_COLUMNS = (
    SESSION,
    ROUND,
    _count("cell", "cell that served the participations when they began"),
    _number("load_down", "", "part of the cell's downlink band that downloads occupied over the round's time"),
    _number("load_up", "", "part of the cell's uplink band that uploads occupied, likewise"),
    _bytes("bytes_down", "bytes that the cell's participants received"),
    _bytes("bytes_up", "bytes that they sent"),
)
DEVICE_COLUMNS = (
    SESSION,
    ROUND,
    DEVICE,
    _count("cell", "cell that served it when its participation began: site * `cells.sectors` + sector"),
    _number("distance_m", "m", "distance on the ground to its base station"),
    ResultColumn("los", bool, "", "whether it was in line of sight"),
    _number("pathloss_db", "dB", "path loss between antennas of 0 dBi, without shadowing"),
    _number("download_s", "s", "time of the downloads"),
    _number("compute_s", "s", "time of computing"),
    _number("upload_s", "s", "time of the uploads"),
    _number("wait_s", "s", "time of waiting for access to the radio, the server, the backhaul or the end of the round"),
    _number("rx_energy_j", "J", "energy of receiving"),
    _number("cpu_energy_j", "J", "energy of computing"),
    _number("tx_energy_j", "J", "energy of sending, with losses of the power amplifier and the circuit"),
    _text(
        "status",
        "`received`, `download_failed`, `upload_failed` (also of a device that `radio.uplink: aircomp` kept silent), "
        "`handover_failed`, `out_of_memory` (refused before the download), `polled`, `answered` (a message besides "
        "training), `reported` (its channel, in a row of its own), `evaluated` and `evaluation_failed` (of the round's "
        "new model, in a row of its own), or what cut it short: `late`, `departed`, `unfinished` (the end of the run)",
    ),
    _bytes("bytes_down", "bytes received"),
    _bytes("bytes_up", "bytes sent"),
    _number("x_m", "m", "position when it began, relative to the base station in the middle"),
    _number("y_m", "m", "position when it began, relative to the base station in the middle"),
    _number("shadowing_db", "dB", "shadowing, which adds to the path loss"),
    _number("idle_energy_j", "J", "energy of waiting, the radio's DRX tail included"),
    _number("start_s", "s", "virtual time at which the participation began"),
    _number("battery_j", "J", "energy in the battery when the participation ended", BATTERY_RUNS),
    _number("battery_capacity_j", "J", "capacity of the battery", BATTERY_RUNS),
    _number("setup_s", "s", "time of setting up, before the download", SETUP_RUNS),
    _number("setup_energy_j", "J", "energy of setting up", SETUP_RUNS),
    _number(
        "coupling_loss_db", "dB", "path loss and shadowing less the gains of both antennas, to its cell", GEOMETRY_RUNS
    ),
    _number("geometry_db", "dB", "signal over interference and noise while all cells send all the time", GEOMETRY_RUNS),
    _number("sir_db", "dB", "the same without noise; empty where no other cell sends", GEOMETRY_RUNS),
    _number(
        "sinr_down_db",
        "dB",
        "signal over interference and noise of its downloads, on its share of the band and before fading: the mean of "
        "the ratio over the time on air; empty if nothing was",
        SINR_RUNS,
    ),
    _number("sinr_up_db", "dB", "the same of its uploads; empty with `radio.uplink: aircomp`, too", SINR_RUNS),
    _number(
        "first_lost_share_down",
        "",
        "share of the transport blocks of its downloads that were lost at their first transmission; empty without any",
        BLOCK_RUNS,
    ),
    _number("first_lost_share_up", "", "the same of its uploads", BLOCK_RUNS),
    _number("carbon_g", "g", "CO2 equivalent of its energy, by the mean intensity while it lasted", CARBON_RUNS),
)
EVENT_COLUMNS = (
    _number("time_s", "s", "virtual time of the event"),
    _text("kind", "what happened: `round_start`, `upload_end`, `departure`, a status, ..."),
    _count("device", "number of the device; -1 is the server"),
    _count("cell", "cell that serves the device"),
    _text("detail", "more about the event, such as `from 2` for a handover"),
)
LABELS_BY_ROUND_COLUMNS = (
    SESSION,
    ROUND,
    DEVICE,
    _count("label", "class of the samples"),
    _count("samples", "training samples of this class that the participant held in the round"),
)
LABEL_COLUMNS = (
    DEVICE,
    _count("label", "class of the samples"),
    _count("samples", "training samples of this class that the device holds"),
)
DEVICE_ACCURACY_COLUMNS = (
    DEVICE,
    _count("samples", "samples that the device's accuracy is measured on"),
    _number("accuracy", "", "accuracy of the final model on them"),
)
TRACK_COLUMNS = (
    DEVICE,
    _number("time_s", "s", "virtual time"),
    _number("x_m", "m", "position, relative to the base station in the middle"),
    _number("y_m", "m", "position, relative to the base station in the middle"),
)
# A participant spends the sum of these, as far as a run has them.
ENERGY_COLUMNS = ("rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j", "setup_energy_j")


def fixed_names(columns: Iterable[ResultColumn]) -> tuple[str, ...]:
    """Return the names of the columns that every run writes, in the order of the file."""
    return tuple(column.name for column in columns if not column.optional)


def check_known(names: Iterable[str], columns: Sequence[ResultColumn]) -> None:
    """Check that all columns are known.

    Raises:
        KeyError: a column is not.
    """
    known = {column.name for column in columns}
    for name in names:
        if name not in known:
            raise KeyError(f"column {name} is unknown: add its type, unit and meaning to {__name__}")
