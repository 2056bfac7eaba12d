"""Templates of pages: Jinja2 makes HTML of data, and escapes every text on the way.

To add a card, write a function that computes its numbers and texts, and beside it a template that shows them:
``render("run/sessions.html.j2", sessions=...)``. Pieces that many templates need are macros of ``macros.html.j2``. Only
`Html` is not escaped: what a template has returned, and what `Html.format` makes of texts.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup as Html

from edgefl.results.report.shared.resources import as_json, plotly, resource, scripts
from edgefl.results.report.shared.style import DARK, TEMPLATE, on_page, prose, text_on

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Html", "macro", "render"]


def render(name: str, /, **values: Any) -> Html:
    """Return a template filled in: one of ``edgefl/results/report``, or one given by its path in ``edgefl``."""
    return Html(_environment().get_template(name).render(values))  # noqa: S704 - Jinja2 has escaped the values


def macro(name: str, /, *arguments: Any) -> Html:
    """Return what a macro of ``macros.html.j2`` makes of its arguments."""
    found = getattr(_environment().get_template("shared/macros.html.j2").module, name)
    return Html(found(*arguments))  # noqa: S704 - as above


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # only pages need it

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("edgefl.results", "report"), PackageLoader("edgefl", ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"as_json": as_json, "on_page": on_page, "prose": prose, "text_on": text_on}
    environment.globals |= {"plotly": plotly, "resource": resource, "scripts": scripts}
    # What the script of every page needs, beside its figures.
    environment.globals["look"] = {"template": TEMPLATE, "dark": DARK}
    return environment
