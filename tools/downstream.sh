#!/usr/bin/env bash
# Tries edgefl as the first `python` on the path has it: a scenario and a sweep that come with it, and the packages of examples/, their
# tests and scenarios. All run in a folder of its own, from which the sources cannot be imported. The arguments are those of pytest.
set -euo pipefail

away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
for package in "$(dirname "$0")"/../examples/*/; do
    copy="$away/$(basename "$package")"
    mkdir "$copy"
    cp -R "$package"tests "$package"scenarios "$copy"
done

cd "$away"
python -P -c 'import sys, edgefl; sys.exit(0 if edgefl.__file__.startswith(sys.prefix) else f"not installed: {edgefl.__file__}")'
python -P -m pytest --import-mode=importlib -p no:cacheprovider "$@" ./*/tests
edgefl run quickstart --quiet
edgefl sweep bandwidth --quiet --set rounds=2
for file in ./*/scenarios/*.yaml; do
    verb=run
    if [ "$(basename "$file")" = sweep.yaml ]; then
        verb=sweep
    fi
    edgefl "$verb" "$file" --quiet
done
echo "$(edgefl --version) and the packages of examples/ work as they are installed"
