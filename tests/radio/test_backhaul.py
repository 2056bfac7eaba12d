"""The backhaul: paths by hand, closed forms of its delay, limits without delay, refusals."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server_cases import BITS, assert_same, check_books, hierarchical, run_in_seven_cells

from edgefl.cli import main
from edgefl.radio.backhaul import routes
from edgefl.radio.backhaul_section import Backhaul, BackhaulLink
from edgefl.scenario import load


def graph(*links):
    return Backhaul(links=tuple(BackhaulLink(between=(a, b), rate_bps=r, delay_s=d) for a, b, r, d in links))


# Paths


def test_three_nodes_by_hand():
    """Base station 1 is nearer through 0, whose link is narrower."""
    found = routes(graph(("server", 0, 1e6, 0.25), (0, 1, 4e6, 0.25), ("server", 1, 1e9, 1.0)), 2)
    assert found.delay_s.tolist() == [0.25, 0.5]
    assert found.rate_bps.tolist() == [1e6, 1e6]
    assert found.one_way_s(2e6).tolist() == [2.25, 2.5]
    assert found.one_way_s(np.array([1e6, 4e6]), np.array([1, 0])).tolist() == [1.5, 4.25]


def test_of_equal_delays_the_fastest():
    links = [
        ("server", "core", None, 0.0),
        ("core", 0, 1e6, 0.1),
        ("server", "ring", 5e6, 0.05),
        ("ring", 0, 2e6, 0.05),
    ]
    assert routes(graph(*links), 1).rate_bps.tolist() == [2e6]
    parallel = [("server", 0, 1e6, 0.1), ("server", 0, 3e6, 0.1), ("server", 0, 9e6, 0.2)]
    assert routes(graph(*parallel), 1).rate_bps.tolist() == [3e6]


@pytest.mark.oracle
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4), st.integers(0, 3)), max_size=12))
def test_no_path_is_better(links):
    """Against all simple paths; delays of zero and ties are common."""
    several = [*links, *((-1, node, 1, 9) for node in range(6))]  # -1 is the server: all nodes can be reached
    found = routes(graph(*(("server" if a < 0 else a, b, float(r), float(d)) for a, b, r, d in several)), 6)
    plain = nx.MultiGraph()
    plain.add_edges_from((a, b, {"rate": r, "delay": d}) for a, b, r, d in several)
    for node in range(6):
        paths = [[plain.edges[edge] for edge in path] for path in nx.all_simple_edge_paths(plain, -1, node)]
        sums = [(sum(edge["delay"] for edge in path), -min(edge["rate"] for edge in path)) for path in paths]
        assert (found.delay_s[node], -found.rate_bps[node]) == min(sums)


@pytest.mark.parametrize(
    ("keys", "hops"),
    [
        ({"kind": "star"}, [1, 1, 1, 1, 1, 1, 1]),
        ({"kind": "chain"}, [1, 2, 3, 4, 5, 6, 7]),
        ({"kind": "tree"}, [1, 2, 2, 3, 3, 3, 3]),
        ({"kind": "tree", "children": 6}, [1, 2, 2, 2, 2, 2, 2]),
    ],
)
def test_shapes(keys, hops):
    found = routes(Backhaul(**keys, rate_bps=1e6, delay_s=0.5), 7)
    assert found.delay_s.tolist() == [0.5 * each for each in hops]
    assert found.rate_bps.tolist() == [1e6] * 7


# Rounds


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["synchronous", "asynchronous", {"kind": "sequential"}])
def test_a_backhaul_without_delay_changes_nothing(policy):
    assert_same(
        run_in_seven_cells(policy, train=False), run_in_seven_cells(policy, train=False, backhaul={"kind": "star"})
    )


def test_participations_are_longer_by_two_trips():
    """A participant alone on a chain of 0.1 s a hop, 10 Mbit/s; bits each way as the model has."""
    server = {"participants": 1}
    one = run_in_seven_cells("synchronous", train=False, server=server)
    chain = {"kind": "chain", "rate_bps": 1e7, "delay_s": 0.1}
    other = run_in_seven_cells("synchronous", train=False, server=server, backhaul=chain)
    hops = other.devices["cell"].to_numpy() + 1
    way_s = 2 * (0.1 * hops + BITS / 1e7)
    for column in ("download_s", "compute_s", "upload_s", "bytes_up", "tx_energy_j", "cell"):
        assert other.devices[column].equals(one.devices[column])
    spent_s = one.devices[["download_s", "compute_s", "upload_s"]].sum(axis=1) + way_s
    longest_s = spent_s.groupby(one.devices["round"]).max().to_numpy()
    assert other.rounds["duration_s"].to_numpy() == pytest.approx(longest_s)
    least_s = other.devices["wait_s"].to_numpy() - way_s
    assert (least_s >= -1e-9).all()
    assert least_s.min() == pytest.approx(0.0, abs=1e-9)
    check_books(other.rounds, other.devices, other.summary)


def test_update_at_the_base_station_arrives_after_a_departure(tmp_path):
    """The device leaves when its update has been on the way for half a second."""
    free = run_in_seven_cells("synchronous", train=False, rounds=1, devices={"count": 14})
    until_s = free.rounds["duration_s"][0] + 1.5
    (tmp_path / "stays.csv").write_text("device,on_s,off_s\n" + "".join(f"{i},0,{until_s}\n" for i in range(14)))
    keys = {"rounds": 1, "devices": {"count": 14}, "churn": {"kind": "trace", "path": str(tmp_path / "stays.csv")}}
    result = run_in_seven_cells("synchronous", train=False, backhaul={"kind": "star", "delay_s": 1.0}, **keys)
    assert result.rounds["received"].tolist() == [14]
    assert result.rounds["duration_s"][0] == pytest.approx(until_s + 0.5)
    with_radio = run_in_seven_cells("synchronous", train=False, backhaul={"kind": "star", "delay_s": 2.0}, **keys)
    assert with_radio.rounds["departed"].tolist() == [14]  # the model was still on its way


@pytest.mark.parametrize(
    "section", [{"kind": "star", "rate_bps": 1e6, "delay_s": 0.25}, {"kind": "chain", "delay_s": 0.1}]
)
def test_cloud_models_travel_over_the_backhaul(section):
    """Edge servers stand at the base stations, so that only models of the cloud travel, all side by side."""
    plain = run_in_seven_cells(hierarchical(cloud_every=2), train=False)
    other = run_in_seven_cells(hierarchical(cloud_every=2), train=False, backhaul=section)
    farthest_s = 0.25 + BITS / 1e6 if section["kind"] == "star" else 0.7
    extra_s = (other.rounds["duration_s"] - plain.rounds["duration_s"]).to_numpy()
    assert extra_s == pytest.approx(2 * farthest_s * np.array([0, 1, 0, 1]))
    if section["kind"] == "star":
        keys = {"backhaul_bps": 1e6, "backhaul_delay_s": 0.25}
        assert_same(other, run_in_seven_cells(hierarchical(cloud_every=2, **keys), train=False))


@pytest.mark.parametrize("section", [{"kind": "chain", "delay_s": 0.1}, {"links": [{"between": ["server", 0]}]}])
def test_resolved_backhaul_loads_again(section):
    """With all defaults filled in, also those of other kinds and of the policy."""
    scenario = load({"server": {"policy": "hierarchical"}, "backhaul": section})
    assert load(scenario.model_dump(mode="json")) == scenario


# Refusals


CELLS = "cells: {layout: hexagonal}\nradio: {propagation: {kind: umi_los, out_of_range: clamp}}"
REFUSED = {
    "nothing": ("backhaul: {}", "backhaul.links: a graph needs them"),
    "no way": (
        "backhaul: {links: [{between: [server, 0]}]}",
        "backhaul: no path leads from the server to base station 1",
    ),
    "beyond": (
        "backhaul: {links: [{between: [server, 7]}]}",
        "backhaul: names base station 7, but they are numbered 0 to 6",
    ),
    "links of a star": (
        "backhaul: {kind: star, links: [{between: [server, 0]}]}",
        "backhaul.links: does not belong to the kind star: leave it out",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_one_clear_line(case, tmp_path, capsys):
    text, message = REFUSED[case]
    assert refusal(tmp_path, capsys, f"{CELLS}\n{text}\n").startswith(f"3: {message}")


def refusal(tmp_path, capsys, text):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    assert main(["validate", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix(f"edgefl: {file}:")
