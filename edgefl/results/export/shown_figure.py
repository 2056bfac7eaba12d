"""A Matplotlib figure that notebooks show; a separate module, as it imports Matplotlib."""

import io

from matplotlib.figure import Figure

NOTEBOOK_DPI = 144


class ShownFigure(Figure):
    """A figure outside of pyplot, which notebooks show by its own method."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=NOTEBOOK_DPI)
        return stream.getvalue()
