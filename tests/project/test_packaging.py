"""What other programs read of the repository: workflows, hooks, recipes, metadata, notebooks, the paper."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
PAPER = ROOT / "packaging" / "paper"
CONDA_NAMES = {"torch": "pytorch"}


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_pins_actions_and_grants_little(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    assert all(job["permissions"] and job["timeout-minutes"] for job in workflow["jobs"].values())
    uses = re.findall(r"uses: (\S+)(.*)", path.read_text())
    for action, comment in uses:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r"  # v\d+\.\d+\.\d+", comment)
    for step in steps(workflow):
        assert "${{" not in step.get("run", "")  # a name of a branch could hold commands
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_workflows_pin_one_commit_of_each_action():
    uses = {use for path in WORKFLOWS for use in re.findall(r"uses: (.*)", path.read_text())}
    assert len(uses) == len({use.partition("@")[0] for use in uses})


def test_workflows_and_hooks_call_targets_and_programs_that_exist():
    targets = re.findall(r"^([\w -]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {name for line in targets for name in line.split()}
    runs = [step.get("run", "") for path in WORKFLOWS for step in steps(yaml.safe_load(path.read_text()))]
    asked = set(re.findall(r"\bmake ([a-z-]+)\b(?!-)", "\n".join(runs)))
    assert {"lint", "coverage", "downstream", "wheel"} <= asked <= known
    assert {"test-lowest", "test-newest"} <= known
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    programs = [hook["entry"].split()[0] for hook in hooks]
    assert programs == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/lint-imports"]


def test_ci_tries_every_python_version_of_the_classifiers():
    listed = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", text)}
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    assert set(jobs["tests"]["strategy"]["matrix"]["python"]) == listed


def test_conda_recipe_needs_what_the_wheel_needs():
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    needs = dict(line.split(" ", 1) for line in recipe["requirements"]["run"])
    assert needs.pop("python") == ">=${{ python_min }}"
    wheel = dict(re.fullmatch(r"([\w-]+)(.*)", line).groups() for line in PROJECT["dependencies"])
    assert needs == {CONDA_NAMES.get(name, name): bound for name, bound in wheel.items()}
    assert recipe["package"]["name"] == PROJECT["name"]
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["build"]["noarch"] == "python"


def test_all_metadata_name_the_same_title_authors_and_licence():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert citation["license"] == zenodo["license"] == PROJECT["license"]
    assert codemeta["license"] == f"https://spdx.org/licenses/{PROJECT['license']}"
    assert citation["title"] == zenodo["title"]
    assert citation["keywords"] == zenodo["keywords"] == codemeta["keywords"]
    authors = [author["name"] for author in citation["authors"]]
    assert authors == [author["name"] for author in codemeta["author"]]
    assert authors == [author["name"] for author in zenodo["creators"]]
    assert codemeta["identifier"] == PROJECT["name"]
    assert codemeta["description"] == PROJECT["description"]


def test_read_the_docs_installs_an_extra_that_exists():
    config = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text())
    (install,) = config["python"]["install"]
    assert set(install["extra_requirements"]) <= PROJECT["optional-dependencies"].keys()
    assert (ROOT / config["mkdocs"]["configuration"]).is_file()


def test_dev_container_installs_as_the_makefile_does():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert container["postCreateCommand"].endswith("make setup TORCH=cpu")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_offers_colab_and_installs_edgefl_only_there(path):
    cells = json.loads(path.read_text())["cells"]
    assert "colab.research.google.com" in "".join(cells[0]["source"])
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    source = "".join(first["source"])
    assert source.startswith('import sys\n\nif "google.colab" in sys.modules:')
    assert PROJECT["name"] in source
    assert first["outputs"] == []


def test_paper_has_the_parts_and_references_that_joss_asks_for():
    paper = (PAPER / "paper.md").read_text()
    _, header, text = paper.split("---\n", 2)
    about = yaml.safe_load(header)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= about.keys()
    assert [author["name"] for author in about["authors"]] == ["The edgefl maintainers"]
    headings = re.findall(r"^# (.*)$", text, re.MULTILINE)
    assert headings[:3] == ["Summary", "Statement of need", "State of the field"]
    assert headings[-1] == "References"
    cited = set(re.findall(r"@([\w-]+)", text))
    entries = re.findall(r"^@\w+\{([\w-]+),$", (PAPER / about["bibliography"]).read_text(), re.MULTILINE)
    assert sorted(cited) == sorted(entries)
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text, re.DOTALL):
        assert (PAPER / picture).is_file()
    assert 250 <= len(text.split()) <= 1750


def test_figures_of_the_paper_are_those_of_the_validation():
    paper = (PAPER / "paper.md").read_text()
    validation = (ROOT / "docs" / "validation.md").read_text()
    printed = re.findall(r"-?\d+(?:\.\d+)? %", paper)
    assert printed
    assert not [figure for figure in printed if figure not in validation]
