"""YAML within bounds: what edgefl has written is read again quickly, but it may have been changed since."""

from typing import Any

import yaml

MOST_ENTRIES = 1_000_000  # keys and list entries, with aliases expanded
TOO_DEEP = "nested too deeply, or an alias stands within its own anchor"
DEEPEST = 100  # mappings and lists within each other

_FAST_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class NotYaml(Exception):  # noqa: N818 - the name says what happened
    """The text is not YAML as this reader understands it."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = " ".join(problem.split())  # on one line


class RefusedNode(yaml.MarkedYAMLError):
    """A part of a text that is YAML, and is refused nevertheless."""

    def __init__(self, problem: str, node: yaml.Node) -> None:
        super().__init__(problem=problem, problem_mark=node.start_mark)


def parse_written(text: str) -> Any:
    """Return the data of a YAML text that edgefl has written, by the much faster loader in C; numbers follow YAML 1.1.

    Raises:
        NotYaml: the text is not YAML, or has aliases that expand to too many entries.
    """
    try:
        _check_depth(text)
        node = yaml.compose(text, Loader=_FAST_LOADER)
        if node is None:
            return None
        count_entries(node, {})
        return _FAST_LOADER("").construct_document(node)
    except yaml.YAMLError as error:
        raise NotYaml(1, str(error)) from None
    except RecursionError:  # an alias within its own anchor
        raise NotYaml(1, TOO_DEEP) from None


def _check_depth(text: str) -> None:
    """Check how deep a YAML text is nested, as the loader in C would end the program; raise `NotYaml` otherwise."""
    depth = 0
    for event in yaml.parse(text, Loader=_FAST_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise NotYaml(1, TOO_DEEP)


def count_entries(node: yaml.Node, counted: dict[yaml.Node, int]) -> int:
    """Return how many entries a node stands for, with aliases expanded and maps merged.

    `counted` holds the entries of earlier nodes, as an alias is the node itself.

    Raises:
        yaml.MarkedYAMLError: they are too many.
    """
    # Aliases of aliases make a short text stand for billions of entries ("billion laughs"), so entries are counted
    # before PyYAML constructs the document.
    if node in counted:
        return counted[node]
    entries = 0
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            entries += 1 + count_entries(value, counted)
            _check_entries(entries, key)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            entries += 1 + count_entries(value, counted)
            _check_entries(entries, value)
    counted[node] = entries
    return entries


def _check_entries(entries: int, node: yaml.Node) -> None:
    if entries > MOST_ENTRIES:
        problem = f"more than {MOST_ENTRIES} entries, with aliases expanded: write fewer"
        raise RefusedNode(problem, node)
