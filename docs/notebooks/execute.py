"""Executes the notebooks of this folder and writes them back with their outputs: `python docs/notebooks/execute.py`.

What differs from run to run and machine to machine is left out: times, paths, versions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
WITHIN_S = 600
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(file: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of its cells, run in a folder."""
    notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=WITHIN_S, resources={"metadata": {"path": str(folder)}})
    client.execute()
    notebook.metadata = METADATA
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not is_progress(output)]
    return notebook


def is_progress(output: Any) -> bool:
    """Return whether an output is a line of progress, which tells times of this machine."""
    return bool(output.output_type == "stream" and output.name == "stderr")


def main() -> None:
    """Execute all notebooks and write them back."""
    for file in sorted(HERE.glob("*.ipynb")):
        notebook = executed(file, HERE)
        nbformat.write(notebook, file)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
