"""Writes the reference pages of the documentation from the code: keys, members, columns, options, names.

    python -m edgefl.reference docs/reference

Each page is Markdown that can be read in the repository, and a part of the site (`mkdocs.yml`). What a page says stands
in the code: a key's meaning beside its field, a member's in its docstring, a column's in the table of columns.
"""
