"""Habits of users of the command line that work: names of files, line ends, seeds."""

from pathlib import Path

import pytest

import edgefl
from edgefl.cli import main

SCENARIO = "rounds: 2\ndevices: {count: 6}\nserver: {participants: 3}\n"


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_names_with_spaces_and_umlauts_and_line_ends_of_windows(ending, tmp_path, monkeypatch, capsys):
    (tmp_path / "mein Ordner ä" / "unten").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "mein Ordner ä" / "unten")
    content = SCENARIO.replace("\n", ending).encode()
    Path("../mein szenario.yaml").write_bytes(b"\xef\xbb\xbf" + content)
    assert main(["run", "../mein szenario.yaml", "--no-train", "-o", "ergebnis ö"]) == 0
    result = edgefl.read("ergebnis ö")
    assert result.status == "finished"
    assert result.scenario["devices"]["count"] == 6


@pytest.mark.oracle
@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_seeds_beyond_32_bits_run_and_others_are_refused(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    assert main(["run", "s.yaml", "--no-train", "--seed", str(seed), "-o", "out"]) == 0
    assert edgefl.read("out").scenario["seed"] == seed
    for other in (-1, 2**63, 2**64):
        assert main(["run", "s.yaml", "--no-train", f"--seed={other}", "-o", "other"]) == 2
    assert not Path("other").exists()
