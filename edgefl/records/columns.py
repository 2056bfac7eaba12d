"""The columns of all result files: one table of names, types, units and meanings (`result_files.py` has the files).

The ledger, the readers of result folders, the exports and `results/README.md` take their columns from here, and the
ledger refuses a column that is missing here. To add a column to ``devices.csv``, add an entry to `DEVICE_COLUMNS` and
a statement where its value is known (`edgefl.server.accounting.device_columns`); nothing else is needed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result file."""

    name: str
    type: type[bool | int | float | str]
    unit: str  # empty for counts, fractions and texts
    meaning: str
    when: str = ""  # which runs have it; empty: all runs
    added_later: bool = False  # True if every run writes it now, but folders of earlier versions lack it

    @property
    def optional(self) -> bool:
        """True if only some runs have this column."""
        return bool(self.when)


# The runs that have an optional column
BATTERY_RUNS = "`devices.battery`"
BASE_STATION_RUNS = "`cells.energy`"
CSI_RUNS = "`server.csi: perfect` or `mean`, unless `report_bits` is 0"
EVALUATION_RUNS = "`server.device_evaluation`"
GEOMETRY_RUNS = "`report.geometry`"
OVER_THE_AIR_RUNS = "`radio.uplink: aircomp`"
RANKING_RUNS = "data sets of rankings (MovieLens)"
SCALAR_RUNS = "`data.dataset: quadratic`"
SETUP_RUNS = "`devices.setup_s` or `devices.setup_j`"
SEL_RUNS = "`report.models` with `sel`"
TRAIN_RUNS = "`report.train_accuracy`"
ALL_RUNS = "`report.models` with `all`"
# Keys of rows that several files share
SESSION = ResultColumn("session", int, "", "number of the session, from 1; always 1 without sessions")
ROUND = ResultColumn("round", int, "", "number of the round in its session, from 1; extra rounds have 0 and less")
DEVICE = ResultColumn("device", int, "", "number of the device, from 0")

ROUND_COLUMNS = (
    SESSION,
    ROUND,
    ResultColumn("time_s", float, "s", "virtual time at the end of the round, since the beginning of the run"),
    ResultColumn("duration_s", float, "s", "virtual time that the round has taken"),
    ResultColumn("energy_j", float, "J", "energy that all devices have spent on taking part, since the beginning"),
    ResultColumn("round_energy_j", float, "J", "energy that all devices have spent on taking part in this round"),
    ResultColumn("selected", int, "", "participations that ended in the round"),
    ResultColumn("received", int, "", "updates that arrived and were learned from"),
    ResultColumn("late", int, "", "participations that came too late, or that the policy cut short"),
    ResultColumn("departed", int, "", "participations that ended because the device left or its battery ran out"),
    ResultColumn("bytes_down", int, "B", "bytes that devices received"),
    ResultColumn("bytes_up", int, "B", "bytes that devices sent"),
    ResultColumn(
        "train_loss",
        float,
        "",
        "mean of the participants' training losses, weighted by samples; each is the mean over its local steps",
    ),
    ResultColumn("test_loss", float, "", "loss of the global model on the test set; empty where it was not tested"),
    ResultColumn("test_accuracy", float, "", "accuracy of the global model on the test set, 0 to 1; empty likewise"),
    ResultColumn("failed", int, "", "participations that a failed transfer or handover ended", added_later=True),
    ResultColumn("wasted_j", float, "J", "energy of participations whose update was not used", added_later=True),
    ResultColumn("present", int, "", "devices that were present when the round began", added_later=True),
    ResultColumn("arrivals", int, "", "devices that arrived during the round", added_later=True),
    ResultColumn("departures", int, "", "devices that left during the round", added_later=True),
    # The scalar problem, rankings and other models than the global one, when a round was tested
    ResultColumn("parameter", float, "", "the model, a single number", SCALAR_RUNS),
    ResultColumn("distance_to_optimum", float, "", "distance of the model to the known optimum", SCALAR_RUNS),
    ResultColumn("test_auc", float, "", "area under the ROC curve of the test set, 0 to 1", RANKING_RUNS),
    ResultColumn("hr_5", float, "", "hit rate: share of users whose film is among their first 5", RANKING_RUNS),
    ResultColumn("ndcg_5", float, "", "normalised discounted cumulative gain at 5, mean over users", RANKING_RUNS),
    ResultColumn("hr_10", float, "", "hit rate: share of users whose film is among their first 10", RANKING_RUNS),
    ResultColumn("ndcg_10", float, "", "normalised discounted cumulative gain at 10, mean over users", RANKING_RUNS),
    ResultColumn(
        "test_auc_strict", float, "", "the same, where equal scores count nothing, not half", "`report.strict_auc`"
    ),
    ResultColumn("sel_loss", float, "", "test loss of the mean of the round's local models", SEL_RUNS),
    ResultColumn("sel_accuracy", float, "", "test accuracy of the mean of the round's local models", SEL_RUNS),
    ResultColumn("all_loss", float, "", "test loss of the mean of all devices' last local models", ALL_RUNS),
    ResultColumn("all_accuracy", float, "", "test accuracy of the mean of all devices' last local models", ALL_RUNS),
    ResultColumn(
        "train_accuracy", float, "", "accuracy of the global model on training samples of some devices", TRAIN_RUNS
    ),
    # Traces of algorithms
    ResultColumn(
        "awaited", float, "", "devices still to be received before the model changes", "`algorithm.mode: wait`"
    ),
    ResultColumn("contributing", float, "", "stored updates that count in the model", "`fedar`"),
    ResultColumn(
        "staleness",
        float,
        "",
        "mean age of the updates, in aggregations",
        "`fedbuff`, `fedasync`",
    ),
    ResultColumn(
        "staleness_weight",
        float,
        "",
        "mean weight of the updates by their age",
        "`fedbuff`, `fedasync`, `fedar`",
    ),
    ResultColumn("seen", float, "", "devices that the server has received an update from so far", "`mifa`"),
    ResultColumn("gate", float, "", "mean gate of the participants", "`fedssg`"),
    ResultColumn("kalman_gain", float, "", "weight of the observed move against the predicted one", "`fedeve`"),
    ResultColumn("period_variance", float, "", "sigma_Q^2: variance by which the prediction misses", "`fedeve`"),
    ResultColumn("client_variance", float, "", "sigma_R^2: variance of the participants' mean move", "`fedeve`"),
    ResultColumn(
        "aggregation_mse",
        float,
        "",
        "mean squared error of the mean update as received, over its parameters; empty where nothing is learned",
        OVER_THE_AIR_RUNS,
    ),
    # Sessions, cells, policies, selections and batteries
    ResultColumn(
        "receive_snr_db",
        float,
        "dB",
        "received power of an update over the noise of the band, mean over those that arrived; empty if none did",
        OVER_THE_AIR_RUNS,
    ),
    ResultColumn(
        "history_bytes",
        int,
        "B",
        "bytes that the server keeps for the initial models of later sessions",
        "several sessions",
    ),
    ResultColumn("handovers", int, "", "handovers of devices under way between cells", "`cells.handover`"),
    ResultColumn(
        "link_failures", int, "", "radio links of devices under way that failed", "`cells.handover.radio_link_failure`"
    ),
    ResultColumn(
        "backhaul_bytes",
        int,
        "B",
        "bytes of models between base stations and the cloud, both ways",
        "`server.policy: hierarchical`",
    ),
    ResultColumn(
        "server_energy_j",
        float,
        "J",
        "energy of the server's part of the model; not in `energy_j`",
        "`server.policy: split`",
    ),
    ResultColumn(
        "bs_static_energy_j",
        float,
        "J",
        "energy that base stations have drawn all the time during the round; not in `energy_j`",
        BASE_STATION_RUNS,
    ),
    ResultColumn(
        "bs_load_energy_j",
        float,
        "J",
        "energy that base stations have drawn for what they sent to the round's participants; not in `energy_j`",
        BASE_STATION_RUNS,
    ),
    ResultColumn("answered", int, "", "messages besides training that devices have answered", "Flower apps"),
    ResultColumn("polled", int, "", "devices that were asked for their loss and not chosen", "selections that poll"),
    ResultColumn(
        "csi_reports", int, "", "reports on channels that devices sent before participants were chosen", CSI_RUNS
    ),
    ResultColumn("csi_energy_j", float, "J", "energy of these reports; a part of `round_energy_j`", CSI_RUNS),
    ResultColumn(
        "evaluation_s", float, "s", "time in which devices evaluated the new model, at the round's end", EVALUATION_RUNS
    ),
    ResultColumn("evaluated", int, "", "devices whose answers arrived in that time", EVALUATION_RUNS),
    ResultColumn(
        "evaluation_energy_j", float, "J", "energy of these evaluations; a part of `round_energy_j`", EVALUATION_RUNS
    ),
    ResultColumn("depleted", int, "", "devices without charge at the round's end", BATTERY_RUNS),
    ResultColumn("battery", float, "", "mean level of all batteries at the round's end, 0 to 1", BATTERY_RUNS),
    ResultColumn("stored_j", float, "J", "energy in all batteries at the round's end", BATTERY_RUNS),
    ResultColumn("charged_j", float, "J", "energy charged into all batteries during the round", BATTERY_RUNS),
    ResultColumn(
        "drained_j",
        float,
        "J",
        "energy drained from batteries during the round by all but taking part: `base_w` always, `idle_w` in between",
        BATTERY_RUNS,
    ),
)
DEVICE_COLUMNS = (
    SESSION,
    ROUND,
    DEVICE,
    ResultColumn("cell", int, "", "cell that served it when its participation began: site * `cells.sectors` + sector"),
    ResultColumn("distance_m", float, "m", "distance on the ground to its base station"),
    ResultColumn("los", bool, "", "whether it was in line of sight"),
    ResultColumn("pathloss_db", float, "dB", "path loss between antennas of 0 dBi, without shadowing"),
    ResultColumn("download_s", float, "s", "time of the downloads"),
    ResultColumn("compute_s", float, "s", "time of computing"),
    ResultColumn("upload_s", float, "s", "time of the uploads"),
    ResultColumn(
        "wait_s", float, "s", "time of waiting, for access to the radio, the server, the backhaul or the round's end"
    ),
    ResultColumn("rx_energy_j", float, "J", "energy of receiving"),
    ResultColumn("cpu_energy_j", float, "J", "energy of computing"),
    ResultColumn("tx_energy_j", float, "J", "energy of sending, with losses of the power amplifier and the circuit"),
    ResultColumn(
        "status",
        str,
        "",
        "`received`, `download_failed`, `upload_failed` (also of a device that `radio.uplink: aircomp` kept silent), "
        "`handover_failed`, `polled`, `answered` (a message besides training), `reported` (its channel, in a row of "
        "its own), `evaluated` and `evaluation_failed` (of the round's new model, in a row of its own), or what cut it "
        "short: `late`, `departed`, `unfinished` (the end of the run)",
    ),
    ResultColumn("bytes_down", int, "B", "bytes received", added_later=True),
    ResultColumn("bytes_up", int, "B", "bytes sent", added_later=True),
    ResultColumn("x_m", float, "m", "position when it began, relative to the base station in the middle"),
    ResultColumn("y_m", float, "m", "position when it began, relative to the base station in the middle"),
    ResultColumn("shadowing_db", float, "dB", "shadowing, which adds to the path loss", added_later=True),
    ResultColumn("idle_energy_j", float, "J", "energy of waiting, the radio's DRX tail included", added_later=True),
    ResultColumn("start_s", float, "s", "virtual time at which the participation began", added_later=True),
    ResultColumn("battery_j", float, "J", "energy in the battery when the participation ended", BATTERY_RUNS),
    ResultColumn("battery_capacity_j", float, "J", "capacity of the battery", BATTERY_RUNS),
    ResultColumn("setup_s", float, "s", "time of setting up, before the download", SETUP_RUNS),
    ResultColumn("setup_energy_j", float, "J", "energy of setting up", SETUP_RUNS),
    ResultColumn(
        "coupling_loss_db",
        float,
        "dB",
        "path loss and shadowing less the gains of both antennas, to its cell",
        GEOMETRY_RUNS,
    ),
    ResultColumn(
        "geometry_db",
        float,
        "dB",
        "signal over interference and noise while all cells send all the time",
        GEOMETRY_RUNS,
    ),
    ResultColumn("sir_db", float, "dB", "the same without noise; empty where no other cell sends", GEOMETRY_RUNS),
)
EVENT_COLUMNS = (
    ResultColumn("time_s", float, "s", "virtual time of the event"),
    ResultColumn("kind", str, "", "what happened: `round_start`, `upload_end`, `departure`, a status, ..."),
    ResultColumn("device", int, "", "number of the device; -1 is the server"),
    ResultColumn("cell", int, "", "cell that serves the device"),
    ResultColumn("detail", str, "", "what else there is to say, such as `from 2` for a handover"),
)
LABELS_BY_ROUND_COLUMNS = (
    SESSION,
    ROUND,
    DEVICE,
    ResultColumn("label", int, "", "class of the samples"),
    ResultColumn("samples", int, "", "training samples of this class that the participant held in the round"),
)
LABEL_COLUMNS = (
    DEVICE,
    ResultColumn("label", int, "", "class of the samples"),
    ResultColumn("samples", int, "", "training samples of this class that the device holds"),
)
DEVICE_ACCURACY_COLUMNS = (
    DEVICE,
    ResultColumn("samples", int, "", "samples that the device's accuracy is measured on"),
    ResultColumn("accuracy", float, "", "accuracy of the final model on them"),
)
TRACK_COLUMNS = (
    DEVICE,
    ResultColumn("time_s", float, "s", "virtual time"),
    ResultColumn("x_m", float, "m", "position, relative to the base station in the middle"),
    ResultColumn("y_m", float, "m", "position, relative to the base station in the middle"),
)
TOTAL_COSTS = (
    ResultColumn("rounds", int, "", "rounds that ended"),
    ResultColumn("time_s", float, "s", "virtual time of the whole run"),
    ResultColumn("energy_j", float, "J", "energy that all devices spent on taking part"),
)
COSTS_TO_TARGETS = (  # <A> stands for a target
    ResultColumn("target_<A>_round", int, "", "first round with that accuracy; empty if it was not reached"),
    ResultColumn("target_<A>_time_s", float, "s", "virtual time of that round's end"),
    ResultColumn("target_<A>_energy_j", float, "J", "energy spent until that round's end"),
    ResultColumn(
        "target_<A>_bs_energy_j", float, "J", "energy drawn by base stations until that round's end", BASE_STATION_RUNS
    ),
)
INDEX_COLUMNS = (  # of a sweep's index.csv, in which <key> and <A> stand for keys and targets of the sweep
    ResultColumn("point", str, "", "label of the point of the sweep"),
    ResultColumn("seed", int, "", "seed of the run"),
    ResultColumn(
        "<key>", str, "", "value of a varied key; mappings, lists as JSON; of the key rounds `scenario.rounds`"
    ),
    ResultColumn("status", str, "", "`pending` (not begun), `running`, `finished`, `interrupted` or `failed`"),
    ResultColumn("error", str, "", "why the run failed"),
    ResultColumn("folder", str, "", "result folder, relative to the index"),
    *TOTAL_COSTS,
    ResultColumn("final_accuracy", float, "", "accuracy of the last test"),
    ResultColumn("best_accuracy", float, "", "highest accuracy"),
    ResultColumn("bytes_down", int, "B", "bytes that devices received"),
    ResultColumn("bytes_up", int, "B", "bytes that devices sent"),
    ResultColumn("wasted_j", float, "J", "energy of participations whose update was not used"),
    ResultColumn("jain_index", float, "", "how evenly devices took part: Jain's index, 1 if all equally often"),
    ResultColumn("mean_age_rounds", float, "", "age of a device's last update in rounds, mean over devices and rounds"),
    ResultColumn("bs_energy_j", float, "J", "energy that base stations have drawn", BASE_STATION_RUNS),
    *COSTS_TO_TARGETS,
)
WHAT_IF_COLUMNS = (  # of what_if.csv, in which <A> stands for targets of the scenario
    ResultColumn("key", str, "", "key of the scenario with another value; empty for the run itself"),
    ResultColumn("value", str, "", "the other value; mappings, lists as JSON"),
    ResultColumn("refused", str, "", "why the run with this value is not priced; empty if it is"),
    *TOTAL_COSTS,
    ResultColumn("bs_energy_j", float, "J", "energy that base stations have drawn", BASE_STATION_RUNS),
    *COSTS_TO_TARGETS,
)
# All that a participant spends is the sum of these, as far as a run has them.
ENERGY_COLUMNS = ("rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j", "setup_energy_j")


def key_column(key: str, others: Container[str]) -> str:
    """Return the name of the column with a swept key's values: the key itself, unless another column has that name.

    Then it is `scenario.<key>`, which no key of a scenario is called.

    Args:
        key: dotted.
        others: names of the table's other columns.
    """
    if key in others:
        return f"scenario.{key}"
    return key


def index_column(key: str) -> str:
    """Return the column of a swept key in a sweep's index and statistics."""
    return key_column(key, _INDEX_NAMES)


_INDEX_NAMES = frozenset(column.name for column in INDEX_COLUMNS)


def fixed_names(columns: Iterable[ResultColumn]) -> tuple[str, ...]:
    """Return the names of the columns that every run writes, in the order of the file."""
    return tuple(column.name for column in columns if not column.optional)


def check_known(names: Iterable[str], columns: Sequence[ResultColumn]) -> None:
    """Check that all columns stand in the table.

    Raises:
        KeyError: a column does not.
    """
    known = {column.name for column in columns}
    for name in names:
        if name not in known:
            raise KeyError(f"column {name} stands in no table: add its type, unit and meaning to {__name__}")
