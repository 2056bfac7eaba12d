"""A run's results for Python users: DataFrames, a summary, the final model, a page, a plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError
from edgefl.core.extras import require
from edgefl.core.files import opened
from edgefl.core.units import ENERGY, TIME, digits, quantity, score
from edgefl.learning.models import Model
from edgefl.learning.trained_model import TrainedModel
from edgefl.records.ledger import Columns, Ledger
from edgefl.records.result_files import CELL_LOAD, LABELS_BY_ROUND, ResultFile
from edgefl.results.integrity import check_file
from edgefl.results.reader import EVENTS_FILE, FINISHED_STATUS, Documents, read_documents
from edgefl.results.result_tables import described_in, measured_tables
from edgefl.results.run_folder import BEST_MODEL_FILE, DEVICE_ACCURACY_FILE, MODEL_FILE
from edgefl.results.saved_model import no_best_model, no_model, read_model
from edgefl.scenario import Scenario, dump, load_model

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from torch import nn

    from edgefl.results.report.run.plausibility import Plausible
    from edgefl.results.report.shared.read import Run

ROUNDS_FILE = "rounds.csv"
PlotOver = Literal["rounds", "time", "energy", "phases"]


@dataclass(repr=False)
class Result:
    """A run's results; its tables come from the ledger or, if it was read from a folder, from its files."""

    scenario: dict[str, Any]  # complete, with all defaults
    summary: dict[str, Any]  # as in summary.json
    trained: TrainedModel | None  # the final global model; None without learning, or if it is in the folder
    status: str  # finished | interrupted | failed
    ledger: Ledger | None  # None if the result was read from a folder
    error: str | None = None  # of a run that failed
    folder: Path | None = None  # that the run wrote to; None: it wrote nothing
    manifest: dict[str, Any] = field(default_factory=dict)  # as in manifest.json; digests only if from a folder
    # Of a run in memory; a folder has files for them
    best: TrainedModel | None = None  # the best evaluated model, if the report asks for it
    resolved: Scenario | None = None  # the scenario with objects that were made in Python
    more_tables: Mapping[str, Callable[[], Columns]] = field(default_factory=dict)  # by file: labels, tracks, ...

    def __repr__(self) -> str:
        facts = [f"{len(self.rounds)} rounds", self.status]
        if self.summary:
            if self.summary["final_accuracy"] is not None:
                facts.append(f"accuracy {score(self.summary['final_accuracy'])}")
            elif self.rounds["test_loss"].notna().any():
                facts.append(f"test loss {digits(self.rounds['test_loss'].dropna().iloc[-1])}")
            facts += [quantity(self.summary["time_s"], TIME), quantity(self.summary["energy_j"], ENERGY)]
        return f"<Result {self._name!r}: {', '.join(facts)}>"

    # The model

    @cached_property
    def parameters(self) -> npt.NDArray[np.float32] | None:
        """The final global model as a flat vector [d]; None without learning.

        Raises:
            InputError: the model in the result folder is damaged.
        """
        if self.trained is not None:
            return self.trained.flat()
        if self.ledger is not None or self.folder is None or not (self.folder / MODEL_FILE).exists():
            return None
        return read_model(self.folder).flat()

    def model(self, *, best: bool = False, device: int | None = None) -> nn.Module:
        """Return the final global model as a torch module in evaluation mode, with its statistics.

        With `best`, it is the best evaluated model, which the run has kept with `report.best_model`. With a `device`,
        it is that device's model; the device has kept a part of it (`training.parts.keep`).
        It takes normalised samples [B, *sample_shape], (x - mean) / std of the dataset. `saved_model().prepared` makes
        them from stored samples.

        Raises:
            InputError: nothing was learned, the model in the result folder is damaged, the module of a model from
                outside can no longer be made, or the device has no model of its own.
        """
        from edgefl.learning.learner.networks.rebuilt import rebuilt  # imports torch

        return rebuilt(self._model_section(), self.saved_model(best=best, device=device))

    def saved_model(self, *, best: bool = False, device: int | None = None) -> TrainedModel:
        """Return the tensors of the final global model by name, from memory or from the result folder.

        With `best`, they are those of the best evaluated model (`report.best_model`); with a `device`, those of its
        model.

        Raises:
            InputError: there is no such model, or the file in the result folder is damaged.
        """
        if device is not None:
            try:
                return self.saved_model().of_device(device)
            except ValueError as error:
                raise InputError(f"{self._name}: {error}") from None
        if best:
            return self._best_model()
        if self.trained is not None:
            return self.trained
        if self.ledger is not None or self.folder is None:
            raise no_model(self._name)
        return read_model(self.folder)

    def _best_model(self) -> TrainedModel:
        if self.best is not None:
            return self.best
        if self.ledger is not None or self.folder is None:
            raise no_best_model(self._name)
        return read_model(self.folder, BEST_MODEL_FILE)

    def _model_section(self) -> Model:
        if self.resolved is not None:
            return self.resolved.model
        return load_model(self.scenario, self.folder or Path())

    @property
    def _name(self) -> str:
        return f"{self.scenario.get('name')} · seed {self.scenario.get('seed')}"

    # Pictures

    def _repr_html_(self) -> str | None:
        """Return the run for notebooks: tiles with its main results, and curves; None if it is under way."""
        from edgefl.results.report import notebook

        if self.ledger is None and not (self.folder and (self.folder / ROUNDS_FILE).exists()):
            return None  # notebooks then show the line that `repr` returns

        return notebook.html(self.as_run())

    def plot(self, over: PlotOver | None = None, *, axes: Axes | None = None, label: str | None = None) -> Figure:
        """Return a figure of the accuracy (or test loss) over rounds, time and energy, and of the energy by phase.

        It is independent of pyplot; `figure.savefig("accuracy.pdf")` writes it.

        Args:
            over: one panel: the accuracy over `rounds`, `time` or `energy`; or `phases`. All panels if None.
            axes: Matplotlib's axes, such as another run's, to which one curve is added, by default over time.
            label: of the curve in the legend of the axes; the name of the run if None.

        Raises:
            InputError: Matplotlib is missing, there is no such panel, the run was not tested, or the axes show
                something else.
        """
        require("matplotlib", "plot", "plot")
        from edgefl.results.export import figures
        from edgefl.results.report.comparison.seed_groups import grouped

        views = figures.accuracy_views()
        if over is not None and over not in {*views, figures.ENERGY_BY_PHASE}:
            known = ", ".join([*views, figures.ENERGY_BY_PHASE])
            raise InputError(f"plot: over={over!r}: must be one of {known}")
        run = self.as_run()
        groups = grouped([run])
        if label is not None:
            groups = [group._replace(label=label) for group in groups]
        if axes is None and over not in views:
            return figures.draw(groups, over)
        if over == figures.ENERGY_BY_PHASE:
            raise InputError(f"plot: over={over!r}: bars need a separate figure: leave out axes")
        measure = figures.measure_of([run])
        if measure is None:
            raise InputError(f"plot: over={over!r}: no accuracy was measured; there is {figures.ENERGY_BY_PHASE!r}")
        if axes is None:
            return figures.draw(groups, over)
        return figures.add_curve(axes, run, measure, views[over or "time"], label)

    def plausibility(self) -> list[Plausible]:
        """Return quantities of the run's radios and processors, as medians over participations, with published ranges.

        Each has `value`, `published` (name, unit, least, most, and the sources of both) and `within`. Quantities that
        the run or its tables lack are left out.
        """
        from edgefl.results.report.run.plausibility import plausibility

        return plausibility(self.as_run())

    def as_run(self) -> Run:
        """Return the run for reports, figures and comparisons: documents, and tables as arrays."""
        from edgefl.results.report.shared.read import from_memory, load

        if self.folder is not None:
            return load(self.folder)
        if self.ledger is None:
            raise InputError(f"{self._name}: has neither tables nor a folder")
        scenario_text = ""
        if self.resolved is not None:
            scenario_text = dump(self.resolved)
        manifest = {**self.manifest, "status": self.status, "error": self.error}
        tables = {
            ROUNDS_FILE: self.ledger.round_columns(),
            "devices.csv": self.ledger.device_columns(),
            EVENTS_FILE: self.ledger.event_columns(),
        }
        tables |= {name: columns() for name, columns in self.more_tables.items()}
        if CELL_LOAD in self.ledger.tables:
            tables[CELL_LOAD.name] = self.ledger.columns_by_rows(CELL_LOAD)
        return from_memory(Documents(scenario_text, self.scenario, manifest, self.summary), tables)

    # Tables

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """One row for each global round."""
        return self._frame(ROUNDS_FILE, Ledger.round_columns)

    @cached_property
    def devices(self) -> pd.DataFrame:
        """One row for each participant and round."""
        return self._frame("devices.csv", Ledger.device_columns)

    @cached_property
    def contributions(self) -> pd.DataFrame:
        """Each participant's contribution to the model's value, if the scenario asks for it."""
        return self.table("contributions")

    @cached_property
    def device_losses(self) -> pd.DataFrame:
        """Losses on each participant's training samples around its local training, if the scenario asks for them."""
        return self.table("device_losses")

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """Counts of test samples by true and predicted class, in the rounds that the scenario names."""
        return self.table("predictions")

    @cached_property
    def labels_by_round(self) -> pd.DataFrame:
        """The samples of each label that each participant held in each round, if the scenario asks for them."""
        return self.table("labels_by_round")

    @cached_property
    def device_accuracy(self) -> pd.DataFrame:
        """The final model's accuracy on each device's own samples; empty without learning or without classes."""
        make = self.more_tables.get(DEVICE_ACCURACY_FILE, dict)
        return self._frame(DEVICE_ACCURACY_FILE, lambda _: make())

    @cached_property
    def events(self) -> pd.DataFrame:
        """The event log."""
        return self._frame(EVENTS_FILE, Ledger.event_columns)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the run's tables of measures, such as f1; `table` returns them."""
        if self.ledger is not None:
            return tuple(table.name.removesuffix(".csv") for table in self.ledger.tables)
        folder = self.folder or Path()
        return tuple(name for name, table in self._known_tables.items() if (folder / table.name).exists())

    def table(self, name: str) -> pd.DataFrame:
        """Return the table of a measure by its name, such as f1; empty if the run has no rows of it.

        Raises:
            InputError: there is no measure of this name, or the file cannot be read.
        """
        if name not in self._known_tables:
            raise InputError(f"table: {name!r}: must be one of {', '.join(self._known_tables)}")
        table = self._known_tables[name]
        return self._frame(table.name, lambda ledger: ledger.columns_by_rows(table))

    @property
    def _known_tables(self) -> dict[str, ResultFile]:
        """The tables that are kept by rows, by name: edgefl's, and those of this run's measures from outside."""
        tables = [LABELS_BY_ROUND, *measured_tables(), *described_in(self.manifest, self.folder or Path())]
        if self.ledger is not None:
            tables += self.ledger.tables
        return {table.name.removesuffix(".csv"): table for table in tables}

    def _frame(self, name: str, columns: Callable[[Ledger], Columns]) -> pd.DataFrame:
        """Return columns of the ledger, or else the table in the file of that name."""
        import pandas as pd

        if self.ledger is not None:
            frame = {}
            for key, values in columns(self.ledger).items():
                # pandas would take a column without rows for text.
                frame[key] = pd.Series(values, dtype=None if values else "float64")
            return pd.DataFrame(frame)
        path = (self.folder or Path()) / name
        if not path.exists():
            return pd.DataFrame()
        check_file(path.parent, name)
        try:
            with opened(path) as stream:
                if path.suffix == ".parquet":
                    return pd.read_parquet(stream)
                return pd.read_csv(stream)
        except (OSError, ValueError) as error:  # errors of pandas and pyarrow are among them
            reason = " ".join(str(error).split())
            raise InputError(f"{path}: cannot be read: {reason}") from None


def read_result(folder: Path) -> Result:
    """Return the results of a folder; its tables and its model are read when they are needed.

    Raises:
        InputError: a file is missing or unreadable.
    """
    documents = read_documents(folder)
    status = documents.manifest.get("status")
    if not isinstance(status, str):
        raise InputError(f"{folder}/manifest.json: status: is missing, so this is not the manifest of a run")
    # The summary of an unfinished run does not count.
    summary = {}
    if status == FINISHED_STATUS:
        summary = dict(documents.summary)
    return Result(
        scenario=dict(documents.scenario),
        summary=summary,
        trained=None,
        status=status,
        ledger=None,
        error=documents.manifest.get("error"),
        folder=folder,
        manifest=dict(documents.manifest),
    )
