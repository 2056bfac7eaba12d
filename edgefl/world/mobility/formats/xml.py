"""Elements of XML files, one by one."""

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from edgefl.core.data_files import NotReadable
from edgefl.core.files import MOST_LINE_BYTES
from edgefl.core.packed_files import unpacked
from edgefl.world.mobility.formats.sample import number

_AFTER_THE_END = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
CHUNK_BYTES = 2**20  # of XML at a time: a file is never held as a whole


def elements(path: Path) -> Iterator[tuple[int, str, dict[str, str], str]]:
    """Yield the beginnings and ends of an XML file's elements.

    A beginning is (line, "tag", attributes, ""), an end is (line, "/tag", {}, text); tags come without namespaces.

    Raises:
        NotReadable: it is not well-formed, or has a document type, whose entities could fill the memory.
    """
    found: list[tuple[int, str, dict[str, str], str]] = []
    text: list[str] = []
    text_length = 0
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal text_length
        text.clear()
        text_length = 0
        found.append((parser.CurrentLineNumber, tag.rpartition(":")[2], attributes, ""))

    def end(tag: str) -> None:
        nonlocal text_length
        found.append((parser.CurrentLineNumber, f"/{tag.rpartition(':')[2]}", {}, "".join(text)))
        text.clear()
        text_length = 0

    def add(piece: str) -> None:  # expat gives a text in pieces
        nonlocal text_length
        text.append(piece)
        text_length += len(piece)
        if text_length > MOST_LINE_BYTES:
            raise NotReadable("holds a text that is longer than any of a trace", parser.CurrentLineNumber)

    def refuse(*_: object) -> None:
        reason = "has a document type (<!DOCTYPE ...>), which is refused: leave it out"
        raise NotReadable(reason, parser.CurrentLineNumber)

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = add
    parser.StartDoctypeDeclHandler = refuse
    with unpacked(path) as stream:
        try:
            fed_bytes = 0
            while chunk := stream.read(CHUNK_BYTES):
                parser.Parse(chunk, False)
                fed_bytes += len(chunk)
                # Expat keeps unfinished input, such as a tag that does not end.
                if fed_bytes - parser.CurrentByteIndex > len(chunk) + MOST_LINE_BYTES:
                    raise NotReadable("holds a tag that is longer than any of a trace", parser.CurrentLineNumber)
                yield from found
                found.clear()
            try:
                parser.Parse(b"", True)
            except expat.ExpatError as error:
                reason = "ends before its elements do: the program that writes it had not finished, or was stopped"
                raise NotReadable(reason, error.lineno) from None
        except expat.ExpatError as error:
            raise NotReadable(_reason(error), error.lineno) from None


def _reason(error: expat.ExpatError) -> str:
    if error.code == _AFTER_THE_END:
        return "holds more after the end of its outermost element, as if two files were joined: split it"
    return f"is not well-formed XML: {expat.ErrorString(error.code)}"


def attribute(line: int, tag: str, attributes: dict[str, str], name: str) -> float:
    """Return the number in an element's attribute.

    Raises:
        NotReadable: it has no such attribute, or one without a number.
    """
    if name not in attributes:
        raise NotReadable(f"<{tag}> has no {name}", line)
    return number(attributes[name], line)
