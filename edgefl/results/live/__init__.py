"""The page of a run while it goes, at an address of this machine: `edgefl run --live` (docs/live.md).

- `process` starts a process beside the run, which serves the page; the run only tells it when it has ended.
- `server` answers requests: nothing but the page and what is new of it, to nobody who does not know the token.
- `board` holds what the page shows now; requests wait there for something newer.
- `page` makes the page of what the result folder holds so far; `live.js` keeps it up to date in the browser.

The process reads the files of the result folder. It shares no memory with the run, which never waits for it.
"""

from edgefl.results.live.process import LivePage

__all__ = ["LivePage"]
