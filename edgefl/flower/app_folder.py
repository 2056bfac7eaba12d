"""A Flower app in its folder: `pyproject.toml` names its two components and its configuration."""

import sys
import tomllib
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flwr.app.user_config import UserConfig
from flwr.clientapp import ClientApp
from flwr.common.config import get_fused_config_from_dir, get_project_config, parse_config_args
from flwr.serverapp import ServerApp
from flwr.supercore.object_ref import load_app, validate

from edgefl.core.errors import InputError

PROJECT = "pyproject.toml"
OLDER_INTERFACE = (
    "has no main function: write it with @app.main() and a strategy of flwr.serverapp.strategy, as Flower's message "
    "interface has it; the older one (server_fn, NumPyClient) does not run here"
)


@dataclass(frozen=True)
class AppFolder:
    """An app, not yet imported."""

    folder: Path
    name: str
    version: str
    run_config: UserConfig
    server_reference: str  # module:attribute
    client_reference: str


@dataclass(frozen=True)
class Components:
    """The two parts of an app."""

    server: ServerApp
    client: ClientApp


def read_app(folder: Path, run_config: str = "") -> AppFolder:
    """Return the app in a folder, as its `pyproject.toml` describes it; only packages of its code are imported.

    Args:
        folder: the app's folder.
        run_config: keys of the run configuration to replace, such as "num-server-rounds=5 lr=0.1".

    Raises:
        InputError: the folder has no app, or a key is unknown.
    """
    folder = folder.resolve()
    file = folder / PROJECT
    try:
        project: dict[str, Any] = get_project_config(folder)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: has no {PROJECT}: give the folder of a Flower app") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: {error}") from None
    except ValueError as error:  # Flower lists what is missing, a line each
        reasons = [line.strip(" -") for line in str(error).splitlines()[1:]]
        raise InputError(f"{file}: {'; '.join(reasons) or error}") from None
    components = project["tool"]["flwr"]["app"]["components"]
    references = []
    for key in ("serverapp", "clientapp"):
        reference = components.get(key)
        if reference is None:
            raise InputError(f"{file}: tool.flwr.app.components: {key} is missing")
        with _faults_of_app(folder):
            found, reason = validate(reference, project_dir=folder)
        if not found:
            text = str(reason).strip().partition("\n")[0]
            raise InputError(f"{file}: tool.flwr.app.components.{key}: {text}")
        references.append(reference)
    try:
        config = get_fused_config_from_dir(folder, _overrides(run_config))
    except ValueError as error:
        raise InputError(f"--run-config {run_config}: {error}") from None
    return AppFolder(folder, project["project"]["name"], str(project["project"]["version"]), config, *references)


def _overrides(run_config: str) -> UserConfig:
    """Return the keys that a text such as "num-server-rounds=5 lr=0.1" replaces."""
    if not run_config.strip():
        return {}
    from click import ClickException

    try:
        overrides: UserConfig = parse_config_args([run_config])
    except (ClickException, OSError, ValueError):
        overrides = {}
    if not overrides:
        expected = "must be keys and values such as \"num-server-rounds=5 lr=0.1 name='mine'\""
        raise InputError(f"--run-config {run_config}: {expected}")
    return overrides


@contextmanager
def imported(app: AppFolder) -> Iterator[Components]:
    """Import the app's components, and let its code find its own modules for as long as it runs.

    Raises:
        InputError: they cannot be imported.
    """
    before = list(sys.path)
    _forget_others(app)
    try:
        yield Components(
            _component(app, app.server_reference, ServerApp),
            _component(app, app.client_reference, ClientApp),
        )
    finally:
        sys.path[:] = before


def _forget_others(app: AppFolder) -> None:
    """Forget modules of other apps with the same names as this app's."""
    for reference in (app.server_reference, app.client_reference):
        top = reference.partition(":")[0].partition(".")[0]
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            same_name = name == top or name.startswith(f"{top}.")
            if same_name and file is not None and not Path(file).resolve().is_relative_to(app.folder):
                del sys.modules[name]


@contextmanager
def _faults_of_app(folder: Path) -> Iterator[None]:
    """Turn any exception of an app's import into an InputError, even a `SystemExit`."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an import may raise anything
        raise InputError(fault_in_app(error, folder)) from None


def _component(app: AppFolder, reference: str, kind: type[Any]) -> Any:
    """Return a component of the app."""
    with _faults_of_app(app.folder):
        component = load_app(reference, AttributeError, app.folder)
    if not isinstance(component, kind):
        text = f"{reference} must be a {kind.__name__}, got {type(component).__name__}"
        raise InputError(f"{app.folder / PROJECT}: {text}")
    if getattr(component, "_main", component) is None:  # Flower has no public name for it
        raise InputError(f"{app.folder / PROJECT}: {reference} {OLDER_INTERFACE}")
    return component


def fault_in_app(error: BaseException, folder: Path) -> str:
    """Return a line about an exception: file and line of the code in the app's folder that raised it, and its text."""
    what = type(error).__name__
    text = str(error).strip()
    if text:
        what = f"{what}: {text.splitlines()[0]}"
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    # The innermost line of the app counts, even if it called other code.
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).resolve().is_relative_to(folder):
            return f"{frame.filename}:{frame.lineno}: {what}"
    return f"{folder}: {what}"
