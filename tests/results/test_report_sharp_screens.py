"""Slices of bars stand side by side where the screen has several pixels for one of the page."""

import pytest

import edgefl

SCENARIO = {
    "rounds": 3,
    "data": {"dataset": "digits"},
    "model": {"kind": "mlp", "cost": {"parameters": 2_000_000, "flops_per_parameter": 60}},
    "server": {"participants": 4, "policy": "deadline", "deadline_s": 1.5},
    "devices": {"count": 10, "cpu_hz": {"uniform": [0.3e9, 2e9]}},
    "mobility": {"kind": "random_waypoint", "speed_mps": 10},
    "radio": {"transfer": "fast"},
}


@pytest.mark.browser
def test_slices_stand_side_by_side(tmp_path, open_page, chromium):
    edgefl.run(SCENARIO, out=tmp_path / "run", train=False)
    size = {"width": 1100, "height": 1000, "deviceScaleFactor": 2, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page = open_page(tmp_path / "run" / "report.html")
        tops = page.execute_script(
            "return Array.from(document.querySelectorAll('.bar'), bar =>"
            "new Set(Array.from(bar.children, part => part.getBoundingClientRect().top)).size)"
        )
        assert len(tops) > 2
        assert set(tops) == {1}
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
