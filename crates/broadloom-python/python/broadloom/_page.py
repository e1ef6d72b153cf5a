"""Pages that notebooks show."""

from __future__ import annotations

import html


class Page(str):
    """A page in HTML, as text: `pathlib.Path("page.html").write_text(page)` makes a file for a browser.

    A notebook shows it in a frame of its own, so that neither changes the look of the other.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 760px; border: 0"
        return f'<iframe srcdoc="{html.escape(self)}" title="explanation" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"Page({len(self)} characters)"
