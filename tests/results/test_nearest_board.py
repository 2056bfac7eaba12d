"""Sources of devices on a page, and the measured board of the nearest speed."""

from types import SimpleNamespace

from edgefl.results.report.run import nearest_board


def test_groups_name_their_source_or_the_nearest_board_with_one():
    groups = [
        {"name": "known", "count": 1, "cpu_hz": 2e9, "flops_per_cycle": 2.0, "source": "my log"},
        {"name": "unknown", "count": 1, "cpu_hz": 1.5e9, "flops_per_cycle": 10.0},
    ]
    run = SimpleNamespace(scenario={"devices": {"count": 2, "groups": groups}})
    known, unknown = nearest_board.sentences(run)
    assert known == "known: 4 Gflop/s (source: my log)."
    assert unknown == (
        "unknown: 15 Gflop/s, with no source named; the nearest board with one is raspberry_pi_4 with 15.9 Gflop/s."
    )
