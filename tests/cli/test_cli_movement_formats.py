"""Movements and logs of other programs at the command line: checked and run."""

import pytest

LOG = "Timestamp,Longitude,Latitude,Speed,SNR,DL_bitrate,UL_bitrate\n" + "".join(
    f"2019.12.14_10.16.{second:02d},{-8.4 + second / 1e5:.5f},51.9,3,{second % 9},{4000 + second},{900 + second}\n"
    for second in range(60)
)
NS2 = (
    "$node_(0) set X_ 30\n$node_(0) set Y_ 20\n$node_(1) set X_ -40\n$node_(1) set Y_ 50\n"
    '$ns_ at 0.5 "$node_(0) setdest 90 20 4"\n'
)
FILES = {
    "walk.movements": "0 30 20 60 90 20\n0 -40 50\n",
    "walk.tcl": NS2,
    "logs/a.csv": LOG,
    "logs/b.csv": LOG,
}
WIDE = "radio: {propagation: {kind: umi, out_of_range: clamp}}\n"
SCENARIOS = {
    "bonnmotion": "mobility: {kind: trace, path: walk.movements}\n" + WIDE,
    "ns2": "mobility: {kind: trace, path: walk.tcl}\n" + WIDE,
    "g_nettrack": (
        "mobility: {kind: trace, path: logs, format: g_nettrack, offset_m: [50, 0]}\n"
        "radio: {kind: trace, trace: {kind: g_nettrack, path: logs}}\n"
    ),
}


@pytest.mark.parametrize("form", SCENARIOS)
def test_movements_of_other_programs_are_checked_and_run(edgefl, form):
    (edgefl.folder / "logs").mkdir()
    for name, content in FILES.items():
        edgefl.write(name, content)
    edgefl.write("s.yaml", "rounds: 2\ndevices: {count: 2}\n" + SCENARIOS[form])
    checked = edgefl("validate", "s.yaml")
    assert checked.returncode == 0, checked.stderr
    assert "s.yaml: ok" in checked.stdout
    done = edgefl("run", "s.yaml", "-o", "out", "--no-train")
    assert done.returncode == 0, done.stderr
    assert len((edgefl.folder / "out" / "rounds.csv").read_text().splitlines()) == 3
