"""Results as Python users hold them: read back, shown in notebooks, plotted, reported."""

import dataclasses
import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.results.report.shared.chart import HEIGHT, WIDTH, line_chart, ticks
from edgefl.runs.emulation import Emulation, Options
from edgefl.runs.emulation import run as run_scenario

KEYS = {
    "name": "small",
    "rounds": 4,
    "targets": [0.2, 0.99],
    "data": {"dataset": "digits"},
    "model": "logistic",
    "training": {"local_steps": 2, "lr": 0.1},
    "devices": {"count": 8},
    "server": {"participants": 4},
    "mobility": "random_waypoint",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("result") / "run"
    edgefl.run(KEYS, out=out, device="cpu")
    return out


@pytest.fixture(scope="module")
def result():
    return edgefl.run(KEYS, device="cpu")


@pytest.fixture(scope="module")
def priced():
    return edgefl.run({**KEYS, "name": "priced"}, train=False)


def test_a_folder_is_read_as_the_run_returned_it(folder, result):
    read = edgefl.read(folder)
    for name in ("rounds", "devices", "events"):
        pd.testing.assert_frame_equal(getattr(read, name), getattr(result, name), rtol=1e-11, check_dtype=False)
    assert np.array_equal(read.parameters, result.parameters)
    assert read.summary["targets"] == result.summary["targets"]
    assert read.status == result.status == "finished"
    assert read.manifest["edgefl"] == result.manifest["edgefl"] == edgefl.__version__ == version("edgefl-emulator")
    assert repr(read) == repr(result)


@pytest.mark.process
def test_a_sweep_is_read_as_the_sweep_returned_it(tmp_path):
    (tmp_path / "base.yaml").write_text("rounds: 2\ndevices: {count: 4}\nserver: {participants: 2}\n")
    (tmp_path / "sweep.yaml").write_text("base: base.yaml\ngrid: {radio.bandwidth_hz: [1e6, 5e6]}\n")
    program = f"""
import edgefl, pandas as pd
if __name__ == "__main__":
    index = edgefl.sweep({str(tmp_path / "sweep.yaml")!r}, out={str(tmp_path / "out")!r}, train=False, workers=1)
    pd.testing.assert_frame_equal(edgefl.read({str(tmp_path / "out")!r}), index)
"""
    (tmp_path / "program.py").write_text(program)
    subprocess.run([sys.executable, tmp_path / "program.py"], check=True)
    index = edgefl.read(tmp_path / "out")
    run = edgefl.read(tmp_path / "out" / index["folder"][1])
    assert run.scenario["radio"]["bandwidth_hz"] == index["radio.bandwidth_hz"][1] == 5e6


def test_folders_without_results_are_refused(tmp_path):
    with pytest.raises(InputError, match="not a result folder"):
        edgefl.read(tmp_path / "nowhere")
    with pytest.raises(InputError, match="not a result folder"):
        edgefl.read(tmp_path)


def test_a_short_representation(result, priced):
    accuracy = 100 * result.summary["final_accuracy"]
    assert repr(result).startswith(f"<Result 'small · seed 1': 4 rounds, finished, accuracy {accuracy:.1f} %, ")
    assert re.fullmatch(r"<Result 'priced · seed 1': 4 rounds, finished, [\d.]+ m?s, [\d.]+ m?J>", repr(priced))


def stopped(keys, tmp_path):
    """A run that a user's own progress function has interrupted."""

    def interrupt(row):
        if row["round"] == 2:
            raise KeyboardInterrupt

    return run_scenario(edgefl.load(keys), Options(tmp_path, "cpu"), interrupt)


@pytest.mark.oracle
def test_interrupted_run_is_read(tmp_path):
    result = stopped(KEYS, tmp_path)
    assert result.status == "interrupted"
    assert "interrupted" in repr(result)
    assert "This run was interrupted after" in result._repr_html_()
    assert edgefl.read(tmp_path).status == "interrupted"
    assert "interrupted" in repr(edgefl.read(tmp_path))


def test_run_under_way_is_read(tmp_path):
    with Emulation(edgefl.load(KEYS), Options(tmp_path, train=False)) as emulation:
        emulation.advance(1e-3)
        read = edgefl.read(tmp_path)
        assert repr(read) == "<Result 'small · seed 1': 0 rounds, running>"
        assert read._repr_html_() is None


def parts(html):
    """The HTML as an element: it is well-formed, and needs nothing from elsewhere."""
    assert "<script" not in html
    assert not re.search(r"(src|href|url|@import)\s*[=(]", html)
    assert len(html) < 40_000
    return ET.fromstring(html.replace("&nbsp;", " "))  # noqa: S314 - we have made it ourselves


def test_a_notebook_shows_tiles_and_curves(result, folder):
    root = parts(result._repr_html_())
    text = " ".join(root.itertext())
    assert "Final accuracy" in text
    assert "To 20 % accuracy" in text
    assert "not reached" in text
    charts = root.findall(".//svg")
    assert [chart.get("aria-label").partition(" over ")[0] for chart in charts] == ["test accuracy [%]"] * 2
    from_folder = edgefl.read(folder)
    assert from_folder._repr_html_() == result._repr_html_()


def test_the_curve_is_the_table(result):
    """Heights and places in the chart are proportional to accuracy and time."""
    chart = parts(result._repr_html_()).find(".//svg")
    points = chart.find(".//polyline").get("points").split()
    x, y = np.array([[float(value) for value in point.split(",")] for point in points]).T
    rounds = result.rounds
    assert np.corrcoef(x, rounds["time_s"])[0, 1] == pytest.approx(1, abs=1e-5)
    assert np.corrcoef(y, rounds["test_accuracy"])[0, 1] == pytest.approx(-1, abs=1e-4)  # downwards in a picture
    assert (np.diff(x) > 0).all()
    assert min(x.min(), y.min()) > 0
    assert x.max() < WIDTH
    assert y.max() < HEIGHT


def test_a_run_without_learning_shows_its_energy(priced):
    root = parts(priced._repr_html_())
    assert "accuracy" not in " ".join(root.itertext())
    (chart,) = root.findall(".//svg")
    assert chart.get("aria-label").startswith("energy [")


def test_a_run_without_classes_shows_its_loss():
    keys = {"rounds": 2, "data": {"dataset": "quadratic", "coefficients": [[0.5, 0, 1], [1, 0, 2]]}}
    result = edgefl.run({**keys, "name": "curves", "training": {"local_steps": 1, "lr": 0.1}}, device="cpu")
    charts = parts(result._repr_html_()).findall(".//svg")
    assert [chart.get("aria-label").partition(" over ")[0] for chart in charts] == ["test loss"] * 2
    assert repr(result).startswith("<Result 'curves · seed 1': 2 rounds, finished, test loss ")
    figure = result.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["test loss"] * 3 + [""]
    assert figure.axes[0].get_lines()[0].get_ydata() == pytest.approx(result.rounds["test_loss"])


def test_names_are_escaped(priced):
    hostile = dataclasses.replace(
        priced, scenario={**priced.scenario, "name": '<img src=x onerror="alert(1)">'}, error="<b>&", status="failed"
    )
    root = parts(hostile._repr_html_().replace("src=x", "").replace("src=&", "&"))
    assert '<img  onerror="alert(1)">' in "".join(root.itertext())
    assert "<b>&" in "".join(root.itertext())


def test_ticks_are_round_and_cover_the_axis():
    for end in 10 ** Streams(1).generator("init").uniform(-6, 6, 200):
        found = ticks(end)
        assert 2 < len(found) <= 6
        assert found[0] == 0
        assert end - (found[1] - found[0]) < found[-1] <= end * (1 + 1e-6)
        mantissa = f"{found[1]:.6e}".partition("e")[0]
        assert float(mantissa) in {1.0, 2.0, 2.5, 5.0}


def test_a_single_point_is_a_dot():
    chart = line_chart(np.array([2.0]), np.array([50.0]), ("time", "accuracy"), "red", 100.0)
    assert "<circle" in chart
    assert "<polyline" not in chart


@pytest.mark.oracle
def test_a_page_about_a_result_in_memory(tmp_path):
    """It is the page about its folder, but for what only a folder has: digests of its files."""
    written = edgefl.run(KEYS, out=tmp_path / "run", device="cpu")
    memory = dataclasses.replace(written, folder=None)

    def page(source, name):
        text = edgefl.report(source, tmp_path / name).read_text()
        return re.sub(r",\n  &#34;(digests&#34;: {.*?}|summary_digest&#34;: &#34;.*?&#34;)", "", text, flags=re.DOTALL)

    assert page(memory, "memory.html") == page(written, "folder.html")
    both = edgefl.report([memory, tmp_path / "run"], tmp_path / "both.html").read_text()
    assert "2 runs" in both


@pytest.mark.oracle
def test_place_of_a_page(result, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert edgefl.report(folder) == folder / "report.html"
    assert edgefl.report(edgefl.read(folder)) == folder / "report.html"
    assert edgefl.report([result]).resolve() == tmp_path / "report.html"
    with pytest.raises(InputError, match="name at least one result folder"):
        edgefl.report([])


@pytest.mark.process
def test_a_plot_leaves_pyplot_alone(result):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figure = result.plot()
    assert [axes.get_xlabel().partition(" [")[0] for axes in figure.axes] == [
        "round", "virtual time", "energy of all devices", "energy",
    ]  # fmt: skip
    assert dict(mpl.rcParams) == before
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(io.BytesIO())
    program = """
import edgefl, sys
result = edgefl.run({"rounds": 1, "devices": {"count": 2}, "server": {"participants": 1}}, train=False)
result.plot()
assert not {"matplotlib.pyplot", "torch"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_plot_of_one_panel_is_the_table(result):
    (axes,) = result.plot("energy").axes
    (line,) = axes.get_lines()
    spent = result.rounds["energy_j"]
    assert np.allclose(line.get_xdata() / spent, line.get_xdata()[0] / spent[0])  # in a unit of its own
    assert line.get_ydata() == pytest.approx(100 * result.rounds["test_accuracy"])
    (bars,) = result.plot("phases").axes
    unit = {"[µJ]": 1e-6, "[mJ]": 1e-3, "[J]": 1}[bars.get_xlabel().split()[-1]]
    assert sum(bar.get_width() for bar in bars.patches) * unit == pytest.approx(result.summary["energy_j"])


@pytest.mark.oracle
def test_several_results_share_axes_and_unit(result):
    """A short run beside a long one is drawn in the unit of the axes, not in its own."""
    figure = result.plot("time", label="fast")
    (axes,) = figure.axes
    longer = edgefl.run({**KEYS, "radio": {"bandwidth_hz": 1e4}}, device="cpu")
    label = axes.get_xlabel()
    assert longer.plot("time", axes=axes, label="slow") is figure
    first, second = axes.get_lines()
    assert axes.get_xlabel() == label
    factor = second.get_xdata() / first.get_xdata()
    assert factor == pytest.approx((longer.rounds["time_s"] / result.rounds["time_s"]).to_numpy())
    assert [first.get_label(), second.get_label()] == ["fast", "slow"]
    assert first.get_color() != second.get_color()
    for low, high, values in ((*axes.get_xlim(), second.get_xdata()), (*axes.get_ylim(), first.get_ydata())):
        assert low <= values.min()
        assert values.max() <= high
    assert axes.get_xlim()[0] == 0


@pytest.mark.oracle
def test_impossible_plots_are_refused(result, priced, monkeypatch):
    with pytest.raises(InputError, match="over='seconds': must be one of rounds, time, energy, phases"):
        result.plot("seconds")
    with pytest.raises(InputError, match="no accuracy was measured; there is 'phases'"):
        priced.plot("time")
    with pytest.raises(InputError, match="leave out axes"):
        result.plot("phases", axes=result.plot("time").axes[0])
    with pytest.raises(InputError, match=r"axes: show test accuracy \[%\] over round, and cannot show .* over virtual"):
        result.plot("time", axes=result.plot("rounds").axes[0])
    assert len(priced.plot().axes) == 1
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"plot: needs matplotlib, which is missing: pip install '.*\[plot\]'"):
        result.plot()
