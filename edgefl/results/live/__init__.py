"""The page of a run under way, at an address of this machine: `edgefl run --live` (docs/live.md).

- `process` starts the process that serves the page; the run only tells it when it has ended.
- `server` answers requests that know the token, with the page or its latest changes.
- `board` holds what the page shows now; requests wait there for something newer.
- `page` makes the page of what the result folder holds so far; `live.js` keeps it up to date in the browser.

The process reads the files of the result folder. It shares no memory with the run, which never waits for it.
"""

from edgefl.results.live.process import LivePage

__all__ = ["LivePage"]
