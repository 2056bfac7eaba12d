"""The tutorial tells the truth: its steps print what it says, its numbers are printed, its pictures made again."""

import os
import re
import runpy
from pathlib import Path

import lessons
import pytest

from edgefl.scenario import shipped

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
STEPS = [(page, step) for page in PAGES for step in lessons.steps(page)]
IDS = [f"{page.stem}-{step.title.partition(':')[0].replace(' ', '-').lower()}" for page, step in STEPS]
CHEAP = {"00", "06"}  # run by each test run; the others, and all exercises, by the slow tests
MOST_BYTES_OF_ONE = 300_000
MOST_BYTES = 4_000_000
PICTURE = re.compile(r"!\[([^\]]*)\]\(\.\./images/([^)]+)\.png\)")
LINK = re.compile(r"\]\(([^)#]+)")
LADDER = re.compile(r"^\d\d-")


def number_of(step):
    """Return the number of the step's scenario, or an empty text."""
    number = step.title[:2]
    return number if number.isdigit() else ""


def scenario_text(step):
    """Return the shipped scenario of a step, or an empty text."""
    number = number_of(step)
    names = [name for name in shipped.scenarios() if number and name.startswith(f"{number}-")]
    return shipped.scenarios()[names[0]].read_text(encoding="utf-8") if names else ""


def check_outputs(step, folder, monkeypatch, most):
    """Run the first `most` blocks of a step and compare what they print."""
    monkeypatch.chdir(folder)
    lessons.write_files(step)
    for block, output in step.commands()[:most]:
        text = lessons.without_bottleneck(lessons.printed(block))
        if output is None:
            continue
        told = lessons.without_bottleneck(output.text)
        assert lessons.words(text) == lessons.words(told), text
        # On another type of processor the last digits of what is learned may differ.
        assert lessons.numbers(text) == pytest.approx(lessons.numbers(told), rel=0.02), text


@pytest.mark.oracle
@pytest.mark.parametrize(
    "step", [step for _, step in STEPS if number_of(step) in CHEAP], ids=lambda step: step.title[:2]
)
def test_first_command_of_a_cheap_step_prints_what_the_page_says(step, tmp_path, monkeypatch):
    check_outputs(step, tmp_path, monkeypatch, most=1)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "step"), STEPS, ids=IDS)
def test_step_prints_what_the_page_says(page, step, tmp_path, monkeypatch):
    if step.title == "How to read a step":
        pytest.skip("step 00 runs it")
    check_outputs(step, tmp_path, monkeypatch, most=None)


@pytest.mark.parametrize(("page", "step"), STEPS, ids=IDS)
def test_numbers_in_the_text_are_printed_or_stand_in_the_scenario(page, step):
    """A number of the prose is, rounded, one that a command prints, or one of the scenario's or of a command's."""
    shown = "\n".join(block.text for block in step.blocks) + scenario_text(step)
    for other in STEPS:  # a step may refer to another one of its page
        if other[0] == page:
            shown += "\n".join(block.text for block in other[1].blocks if block.language == "text")
    known = lessons.numbers(shown)
    unknown = [
        number
        for number, percent in lessons.told_numbers(step)
        if not lessons.is_known(number, percent, known) and number not in lessons.worked_out(step)
    ]
    assert unknown == []


@pytest.mark.parametrize(("page", "step"), STEPS, ids=IDS)
def test_outputs_leave_out_lines_that_the_step_does_not_name(page, step):
    for block in step.blocks:
        if block.language == "text":
            assert not [line for line in block.text.splitlines() if line.startswith(lessons.unspoken(step))]


@pytest.mark.parametrize(("page", "step"), STEPS, ids=IDS)
def test_keys_that_a_step_shows_stand_in_its_scenario(page, step):
    text = scenario_text(step)
    if not text:
        return
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    for block in step.blocks:
        if block.language == "yaml":
            missing = [line for line in block.text.splitlines() if line.strip() not in lines]
            assert missing == []


def test_each_rung_of_the_ladder_is_a_step():
    numbers = [number_of(step) for _, step in STEPS if number_of(step)]
    rungs = [name[:2] for name in shipped.scenarios() if LADDER.match(name)]
    assert sorted(numbers) == rungs == [f"{n:02}" for n in range(25)]


def test_pictures_exist_are_small_described_and_can_be_taken_again():
    entries = {entry.name for entry in runpy.run_path(str(ROOT / "docs" / "pictures" / "take.py"))["PICTURES"]}
    shown = [match for page in PAGES for match in PICTURE.findall(page.read_text(encoding="utf-8"))]
    names = {name for _, name in shown}
    assert names <= entries
    assert names >= {name for name in entries if name.startswith("tutorial/")}
    assert all(len(text) > 20 for text, _ in shown)
    sizes = [(ROOT / "docs" / "images" / f"{name}.png").stat().st_size for _, name in shown]
    assert max(sizes) < MOST_BYTES_OF_ONE
    assert sum(sizes) < MOST_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first-study", "your-own-algorithm"])
def test_notebook_gives_the_outputs_that_it_shows(name, tmp_path, monkeypatch):
    import nbformat

    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]  # of the kernel, a process of its own
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    file = ROOT / "docs" / "notebooks" / f"{name}.ipynb"
    execute = runpy.run_path(str(ROOT / "docs" / "notebooks" / "execute.py"))
    now = execute["executed"](file, tmp_path)
    shown = nbformat.read(file, as_version=4)
    for cell, before in zip(now.cells, shown.cells, strict=True):
        assert texts(cell) == texts(before), cell.source


@pytest.mark.parametrize("name", ["first-study", "your-own-algorithm"])
def test_notebook_is_executed_and_does_not_name_a_machine(name):
    import nbformat

    text = (ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert re.search(r"/(home|root|tmp|usr|work|Users)/", text) is None
    notebook = nbformat.reads(text, as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(len(cell.source.splitlines()) <= 12 for cell in code)
    assert all(output.output_type != "error" for cell in code for output in cell.outputs)


@pytest.mark.parametrize("name", ["first-study", "your-own-algorithm"])
def test_links_of_a_notebook_lead_somewhere(name):
    import nbformat

    file = ROOT / "docs" / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(file, as_version=4)
    links = [link for cell in notebook.cells if cell.cell_type == "markdown" for link in LINK.findall(cell.source)]
    assert links
    assert all((file.parent / link).is_file() for link in links if not link.startswith("https://"))


def texts(cell):
    """Return what a cell shows as text; pictures are left out."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append(output.text)
        elif "image/png" not in output.data:
            found.append(output.data["text/plain"])
    return found
