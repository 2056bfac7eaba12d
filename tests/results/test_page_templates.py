"""Templates of pages: every text is escaped, and a missing value is an error."""

import subprocess
import sys

import pytest
from jinja2 import UndefinedError

from edgefl.results.report.shared.tables import table
from edgefl.results.report.shared.templates import Html, render

EVIL = "<script>'\"&"


def test_texts_in_tables_are_escaped_and_html_is_not():
    found = table(["", EVIL], [[EVIL, Html("<b>{}</b>").format(EVIL)]], "facts", EVIL)
    assert "<script>" not in found
    assert found.count("&lt;script&gt;&#39;&#34;&amp;") == 4
    assert "<b>" in found


def test_template_without_a_value_is_an_error():
    with pytest.raises(UndefinedError, match="charts"):
        render("notebook.html.j2", name="run", facts=[], banner="", tiles="")


@pytest.mark.process
def test_reading_results_does_not_import_jinja2():
    program = "import sys, edgefl.results.report.page; sys.exit('jinja2' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
