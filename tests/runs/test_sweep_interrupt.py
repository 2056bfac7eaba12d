"""An interrupt ends a sweep wherever it arrives, and every run has its status in the index."""

import pytest
import yaml
from pydantic import BaseModel, PydanticUserError, field_serializer
from run_cases import SWEEP_BASE, rows

import edgefl
from edgefl.runs import sweeps


class Interrupted(BaseModel):
    value: int = 0

    @field_serializer("value")
    def _write(self, value):
        raise KeyboardInterrupt


@pytest.mark.process
@pytest.mark.parametrize("when", ["while a scenario is written", "at any other time"])
def test_an_interrupt_leaves_runs_pending(tmp_path, monkeypatch, when):
    """Pydantic turns an interrupt of its own work into another error."""

    def begin(*_, **__):
        if when == "at any other time":
            raise KeyboardInterrupt
        Interrupted().model_dump()

    monkeypatch.setattr(sweeps, "_task", begin)
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(SWEEP_BASE))
    (tmp_path / "sweep.yaml").write_text("base: base.yaml\ngrid: {radio.bandwidth_hz: [1.0e6, 2.0e6, 3.0e6]}\n")
    index = edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "out", workers=1, train=False)
    assert index["status"].tolist() == ["interrupted", "pending", "pending"]


@pytest.mark.process
def test_an_error_of_ours_is_raised_and_the_index_is_written(tmp_path, monkeypatch):
    def begin(*_, **__):
        raise PydanticUserError("a mistake", code=None)

    monkeypatch.setattr(sweeps, "_task", begin)
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(SWEEP_BASE))
    (tmp_path / "sweep.yaml").write_text("base: base.yaml\nseeds: [1, 2]\n")
    with pytest.raises(PydanticUserError):
        edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "out", workers=1, train=False)
    assert [row["status"] for row in rows(tmp_path / "out")] == ["interrupted", "pending"]
