"""The verbs about this machine: `edgefl data`, `doctor`, `completion`."""

import argparse
import sys
from typing import Any

from edgefl.cli.common import add_options, begin, columns, warn_of_groups
from edgefl.cli.exits import EXIT_DONE


def add_data(verbs: Any) -> None:
    """Add `edgefl data fetch` and `edgefl data list`."""
    about = "download datasets, or list where they are found (docs/datasets.md)"
    parser = verbs.add_parser("data", help=about, description=about)
    deeds = parser.add_subparsers(title="what to do", metavar="fetch|list", required=True)
    about = "download datasets and check them; existing files are kept"
    fetching = deeds.add_parser("fetch", help=about, description=about)
    add_options(fetching, "data")
    fetching.set_defaults(verb=_fetch)
    about = "list the datasets, and where their files are found"
    deeds.add_parser("list", help=about, description=about).set_defaults(verb=_list)


def _fetch(options: argparse.Namespace) -> int:
    from edgefl.core.paths import data_folders
    from edgefl.learning.datasets.fetch import fetch
    from edgefl.learning.datasets.remotes import remote

    for name in options.names:  # a wrong name must not be found after hours of downloads
        remote(name)
    folder = options.to or data_folders()[0]
    listener = None
    if not options.quiet:
        listener = _say_download
    bar = not options.quiet and sys.stderr.isatty()
    for name in options.names:
        was_missing = fetch(name, folder, options.mirror, listener, bar=bar)
        if not options.quiet:
            print(f"{name}: {'fetched' if was_missing else 'nothing to do: its files exist'}: {folder}")
    if options.to and options.to.resolve() not in {known.resolve() for known in data_folders()} and not options.quiet:
        print(f"scenarios find it with EDGEFL_DATA={folder} or data.path: {folder}")
    return EXIT_DONE


def _say_download(url: str) -> None:
    print(f"downloading {url}", file=sys.stderr, flush=True)


def _list(options: argparse.Namespace) -> int:
    from edgefl.learning.datasets.fetch import whereabouts

    print("\n".join(columns([(row.name, str(row.path or row.remark)) for row in whereabouts()])))
    return EXIT_DONE


def add_doctor(verbs: Any) -> None:
    """Add `edgefl doctor`."""
    about = "show versions, devices, cores, memory, cache, data and optional packages of this machine"
    parser = verbs.add_parser("doctor", help=about, description=about)
    parser.add_argument("--json", action="store_true", help="print JSON, for a bug report")
    parser.set_defaults(verb=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    import json

    from edgefl.runs.doctor import examine

    begin(quiet=False)
    warn_of_groups()
    findings = examine()
    if options.json:
        print(json.dumps(findings, indent=2))
        return EXIT_DONE
    width = max(len(name) for rows in findings.values() for name in rows)
    for heading, rows in findings.items():
        print(heading)
        for name, value in rows.items():
            print(f"  {name:<{width}}  {value}")
    return EXIT_DONE


def add_completion(verbs: Any, root: argparse.ArgumentParser) -> None:
    """Add `edgefl completion`, which completes all verbs of the parser `root`."""
    about = "print a completion script for a shell, such as: edgefl completion bash > ~/.bash_completion"
    parser = verbs.add_parser("completion", help=about, description=about)
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")

    def complete(options: argparse.Namespace) -> int:
        from edgefl.cli.shell_completion import script

        print(script(root, options.shell))
        return EXIT_DONE

    parser.set_defaults(verb=complete)
