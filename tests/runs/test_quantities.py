"""A quantity of a whole run is declared once, and is in every file, table and page about runs."""

import json
from html import unescape

import pytest

import edgefl
from edgefl import InputError
from edgefl.cli import main
from edgefl.radio.allocation.equal import EqualAllocation
from edgefl.records.columns import ROUND_COLUMNS, ResultColumn
from edgefl.records.quantities import QUANTITIES, SUMMARY, Quantity
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.study import load as load_study

FEES = Quantity(
    "fees_g", "fees for spectrum", "in gold", unit="g", better="less", sums=("fees_of_round_g",), at_target="fees_g"
)


class Charging(EqualAllocation):
    """Equal shares; each megabyte that a device sends costs a gram."""

    round_columns = (ResultColumn("fees_of_round_g", float, "g", "fees of the round"),)
    quantities = (FEES,)

    def columns(self, devices, memory):
        """Return the fees of the round."""
        return {"fees_of_round_g": devices["bytes_up"].sum() / 1e6}


class Misnamed(Charging):
    """Takes the name of a quantity of edgefl."""

    quantities = (Quantity("wasted_j", "waste", "", sums=("fees_of_round_g",)),)


class Unknown(Charging):
    """Adds up a column that it does not have."""

    quantities = (Quantity("fees_g", "fees", "", sums=("time_s",)),)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A sweep over the size of the model, so that fees differ, and a run of it."""
    folder = tmp_path_factory.mktemp("quantities") / "sweep"
    scenario = {
        "rounds": 3,
        "devices": {"count": 4},
        "data": {"dataset": "digits"},
        "targets": [0.05],
        "radio": {"allocation": Charging},
    }
    edgefl.sweep({"base": scenario, "grid": {"model.kind": ["logistic", "mlp"]}}, out=folder, workers=1)
    return folder


@pytest.fixture(scope="module")
def runs(sweep):
    """The folders of its runs."""
    return sorted(path.parent for path in sweep.rglob("summary.json"))


@pytest.mark.process
def test_every_file_has_a_quantity_from_outside(sweep, runs):
    for folder in runs:
        read = edgefl.read(folder)
        assert read.summary["fees_g"] == pytest.approx(read.rounds["bytes_up"].sum() / 1e6)
        # The first test reaches such a low target.
        assert read.summary["targets"][0]["fees_g"] == pytest.approx(read.rounds["bytes_up"].iloc[0] / 1e6)
    index = edgefl.read(sweep)
    fees = [edgefl.read(folder).summary["fees_g"] for folder in runs]
    assert sorted(index["fees_g"]) == pytest.approx(sorted(fees))
    assert "target_0.05_fees_g" in index


@pytest.mark.process
def test_every_table_has_a_quantity_from_outside(sweep, runs, capsys):
    fees = [edgefl.read(folder).summary["fees_g"] for folder in runs]
    assert edgefl.compare(runs)["fees_g"].tolist() == pytest.approx(fees)
    assert "to_0.05_fees_g" in edgefl.compare(runs)
    assert main(["export", str(runs[0]), "--format", "json", "--table", "summary"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["fees_g"] == pytest.approx(fees[0])
    assert main(["export", *map(str, runs), "--format", "markdown", "--table", "targets"]) == 0
    assert "fees for spectrum" in capsys.readouterr().out
    assert main(["export", str(sweep), "--format", "markdown", "--measure", "fees_g"]) == 0
    assert "fees for spectrum" in capsys.readouterr().out


@pytest.mark.process
def test_every_page_has_a_quantity_from_outside(sweep, runs, tmp_path):
    for folders in (runs[:1], runs, [sweep]):
        page = edgefl.report(folders, out=tmp_path / f"{folders[0].name}-{len(folders)}.html")
        assert "fees for spectrum" in unescape(page.read_text()), folders
    columns = estimate_columns(load_study(sweep))
    assert columns["fees_g"].best is not None
    assert columns["target_0.05_fees_g"].measure.title == "fees for spectrum to 5 %"


@pytest.mark.parametrize(
    ("member", "fault"),
    [(Misnamed, "its quantity wasted_j has the name of another one"), (Unknown, "must add up columns")],
)
def test_wrong_quantities_are_refused(tmp_path, member, fault):
    with pytest.raises(InputError, match=fault):
        edgefl.run(
            {"rounds": 3, "devices": {"count": 4}, "radio": {"allocation": member}}, out=tmp_path / "out", train=False
        )


def test_every_quantity_has_what_readers_need():
    columns = {column.name: column for column in ROUND_COLUMNS}
    for one in SUMMARY:
        assert one.title
        assert one.meaning
        assert {columns[name].unit for name in one.sums} <= {one.unit}
        assert len(one.terms) in {0, len(one.sums)}
    assert len({one.title for one in SUMMARY}) == len(SUMMARY)


def test_all_terms_of_the_energy_of_base_stations_count():
    terms = [column.name for column in ROUND_COLUMNS if column.when == "`cells.energy`"]
    assert QUANTITIES["bs_energy_j"].sums == tuple(terms)
