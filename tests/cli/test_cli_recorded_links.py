"""Recorded links at the command line: faults of files in one line, and a run that writes its results."""

HEADER = "device,time_s,downlink_bps,uplink_bps\n"
SCENARIO = "rounds: 2\ndevices: {count: 2}\nradio:\n  kind: trace\n  trace: {kind: csv, path: links.csv}\n"


WRONG = [
    (HEADER + "0,1,1e6,1e6\n0,0,1e6,1e6\n", "links.csv:3: device 0: times must not fall, got 0 s after 1 s: sort"),
    (HEADER + "0,0,1e6,-1\n", "links.csv:2: uplink_bps: must be from 0"),
    (HEADER + "0,0,1e6,1e6\n", "links.csv: has recordings of 1 devices, the scenario has 2"),
    (HEADER, "links.csv:1: has no rows"),
]


def test_a_wrong_file_is_one_line(edgefl):
    edgefl.write("s.yaml", SCENARIO)
    for at, (content, text) in enumerate(WRONG):
        edgefl.write("links.csv", content)
        (line,) = edgefl.refused(*[("validate", "s.yaml"), ("run", "s.yaml", "--no-train")][at % 2])
        assert line.startswith("s.yaml:5: radio.trace: ")
        assert text in line


def test_a_run_over_recorded_links(edgefl):
    edgefl.write("links.csv", HEADER + "0,0,8e6,2e6\n1,0,8e6,2e6\n")
    edgefl.write("s.yaml", SCENARIO)
    done = edgefl("run", "s.yaml", "-o", "out", "--no-train")
    assert done.returncode == 0, done.stderr
    assert (edgefl.folder / "out" / "report.html").exists()


def test_samples_that_repeat_a_time_are_one_warning(edgefl):
    edgefl.write("links.csv", HEADER + "0,0,8e6,2e6\n0,0,8e6,1e6\n1,0,8e6,2e6\n1,0,8e6,1e6\n")
    edgefl.write("walk.csv", "time_s,device,x_m,y_m\n0,0,20,0\n0,0,30,0\n0,1,40,0\n9,1,40,1\n")
    edgefl.write("s.yaml", SCENARIO + "mobility: {kind: trace, path: walk.csv}\n")
    done = edgefl("run", "s.yaml", "-o", "out", "--no-train")
    assert done.returncode == 0, done.stderr
    lines = sorted(line for line in done.stderr.splitlines() if "repeat" in line)
    assert len(lines) == 2
    assert lines[0].startswith("edgefl: warning: mobility.path: ")
    assert "walk.csv:3: 1 sample repeats the time of its device's sample before" in lines[0]
    assert lines[1].startswith("edgefl: warning: radio.trace: ")
    assert "links.csv:3: 2 samples repeat the time of their device's sample before" in lines[1]
