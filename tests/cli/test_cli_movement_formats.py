"""Logs of drive tests at the command line: checked and run."""

LOG = "Timestamp,Longitude,Latitude,Speed,SNR,DL_bitrate,UL_bitrate\n" + "".join(
    f"2019.12.14_10.16.{second:02d},{-8.4 + second / 1e5:.5f},51.9,3,{second % 9},{4000 + second},{900 + second}\n"
    for second in range(60)
)
SCENARIO = """
rounds: 2
devices: {count: 2}
mobility: {kind: trace, path: logs, format: drive_test, offset_m: [50, 0]}
radio: {kind: trace, trace: {kind: drive_test, path: logs}}
"""


def test_positions_and_links_of_logs_are_checked_and_run(edgefl):
    (edgefl.folder / "logs").mkdir()
    for name in ("a", "b"):
        edgefl.write(f"logs/{name}.csv", LOG)
    edgefl.write("s.yaml", SCENARIO)
    checked = edgefl("validate", "s.yaml")
    assert checked.returncode == 0, checked.stderr
    assert "s.yaml: ok" in checked.stdout
    done = edgefl("run", "s.yaml", "-o", "out", "--no-train")
    assert done.returncode == 0, done.stderr
    assert len((edgefl.folder / "out" / "rounds.csv").read_text().splitlines()) == 3
