"""Takes the pictures of the documentation again: `make pictures`, or `python docs/pictures/take.py tutorial/03-map`.

It runs the scenarios and sweeps whose pages are shown, opens these pages in Chromium without a window, and writes parts
of them into docs/images. Another picture is one more entry of PICTURES. It needs Chromium and chromedriver on the path,
and `make setup`.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edgefl.cli import main as edgefl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

IMAGES = Path(__file__).parents[1] / "images"
TASKS = Path(__file__).parents[1] / "tasks"
LESSONS = Path(__file__).parents[2] / "tests" / "cases"  # reads and runs such pages
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDTH = 1100  # CSS pixels of the window
HEIGHT = 1200
SCALE = 1.5  # pixels of the picture per CSS pixel: text stays sharp
MARGIN = 8  # CSS pixels around the part that is shown
COLOURS = 256  # of the palette of a large picture
SMALL = 48  # colours of a picture that is to be small
NARROW = 800  # CSS pixels of a window, for pictures between text
MOST_BYTES = 300_000
BUILT_WITHIN_S = 60
SETTLED_AFTER_S = 0.5  # charts take their places


def card(*figures: str) -> str:
    """Return the CSS selector of the cards with these figures."""
    return ", ".join(f".card:has([data-figure='{name}-0'])" for name in figures)


class Picture(NamedTuple):
    """A part of a page as a file."""

    name: str  # of the file below docs/images, without .png
    page: str  # a key of PAGES, or the name of a scenario that comes with edgefl: the page of its run
    parts: str = ""  # a CSS selector of what is shown; the whole page if empty
    height: int = 0  # CSS pixels, if the picture ends before its parts do
    script: str = ""  # run before the picture is taken: it moves sliders and the like
    colours: int = 0  # of the palette of a small file; 0: all, unless it would be too large
    width: int = WIDTH  # CSS pixels of the window


class Page(NamedTuple):
    """A page that takes more than one run: the commands that make it, in a folder of their own, and its file there."""

    commands: tuple[str, ...]
    file: str
    sweep: str = ""  # a sweep file, which is sweep.yaml in that folder
    task: str = ""  # a page of docs/tasks whose files and commands make it


WIDTHS = """base: 03-moving-devices
set: {rounds: 15}
grid:
  radio.bandwidth_hz: [10e6, 30e6, 100e6]
seeds: [1, 2, 3, 4]
"""
PAGES = {
    "bandwidth": Page(("sweep bandwidth --quiet",), "results/bandwidth/report.html"),
    "widths": Page(("sweep sweep.yaml --quiet",), "results/sweep/report.html", WIDTHS),
    "narrower": Page(
        (
            "run 03-moving-devices -o run --quiet",
            "what-if run --over radio.bandwidth_hz=5e6,10e6,20e6,50e6 --over devices.tx_power_dbm=10,17,23 --quiet",
        ),
        "run/report.html",
    ),
    "why-slower": Page((), "compare.html", task="why-slower"),
    "fedavg-fedprox": Page(
        (
            "run 02-fedprox --set algorithm=fedavg -o results/fedavg --quiet",
            "run 02-fedprox -o results/fedprox --quiet",
            "report results/fedavg results/fedprox -o compare.html",
        ),
        "compare.html",
    ),
}

FIRST_SLIDER_AT_THE_LEFT = """
const slider = document.querySelector("#what-if input[type=range]");
slider.value = slider.min;
slider.dispatchEvent(new Event("input", { bubbles: true }));
"""

ROUNDS = "document.querySelector('#learning button[data-view=round]').click()"
TRAJECTORIES = "document.getElementById('map-0-extra').click()"

PICTURES = (
    Picture("report", "quickstart", height=1150),
    Picture("sweep", "bandwidth", height=1150),
    Picture("what-if", "narrower", "#what-if .card", script=FIRST_SLIDER_AT_THE_LEFT),
    Picture("tutorial/00-page", "00-hello", "main > header, .tiles, .story"),
    Picture("tutorial/01-learning", "01-skewed-data", "#learning", script=ROUNDS),
    Picture("tutorial/01-labels", "01-skewed-data", "#labels .card"),
    Picture("tutorial/02-compare", "fedavg-fedprox", "#learning", script=ROUNDS),
    Picture("tutorial/03-map", "03-moving-devices", card("map"), script=TRAJECTORIES),
    Picture("tutorial/04-timeline", "04-unequal-devices", card("timeline")),
    Picture("tutorial/05-time", "05-narrow-band", card("time", "energy")),
    Picture("tutorial/07-timeline", "07-shared-band", card("timeline")),
    Picture("tutorial/08-map", "08-street-canyon", card("map")),
    Picture("tutorial/09-map", "09-several-cells", card("map")),
    Picture("tutorial/10-wasted", "10-late-devices", card("wasted")),
    Picture("tutorial/11-timeline", "11-asynchronous", card("timeline")),
    Picture("tutorial/12-time", "12-split-learning", card("time", "energy")),
    Picture("tutorial/13-map", "13-edge-servers", card("map")),
    Picture("tutorial/14-map", "14-driving-in-a-grid", card("map"), script=TRAJECTORIES),
    Picture("tutorial/15-chosen", "15-choosing-by-channel", card("chosen")),
    Picture("tutorial/16-time", "16-small-updates-long-ways", card("time", "energy")),
    Picture("tutorial/17-population", "17-coming-and-going", card("population")),
    Picture("tutorial/18-learning", "18-sessions", "#learning"),
    Picture("tutorial/19-map", "19-handover", card("map"), script=TRAJECTORIES),
    Picture("tutorial/19-handovers", "19-handover", card("handovers")),
    Picture("tutorial/20-batteries", "20-batteries", card("battery")),
    Picture("tutorial/22-timeline", "22-link-traces", card("timeline")),
    Picture("tutorial/23-time", "23-other-users", card("time", "energy")),
    Picture("tutorial/24-energy", "24-power-control", card("time", "energy")),
    Picture("tutorial/studies-sweep", "widths", "#effect"),
    Picture("tasks/why-slower", "why-slower", "#learning", colours=SMALL, width=NARROW),
    Picture("guides/plausible", "quickstart", ".card:has(table.facts):has(details ul)", colours=SMALL, width=NARROW),
    Picture("tasks/sumo", "trace-sumo", card("map"), script=TRAJECTORIES, colours=SMALL, width=NARROW),
)


def main() -> int:
    """Return 0 once the pictures that were named on the command line have been written: all, if none was named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="file below docs/images, without .png")
    names = parser.parse_args().names
    known = {picture.name: picture for picture in PICTURES}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no such picture: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    wanted = [known[name] for name in names] or list(PICTURES)
    with tempfile.TemporaryDirectory() as folder:
        pages = Pages(Path(folder))
        with opened_browser(Path(folder) / "browser") as browser:
            for picture in wanted:
                file = IMAGES / f"{picture.name}.png"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(taken(browser, pages.path(picture.page), picture))
                print(f"{file.relative_to(IMAGES.parents[1])}  {file.stat().st_size / 1000:.0f} kB")
    return 0


class Pages:
    """The pages that pictures show; each is made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Return the file of a page."""
        page = PAGES.get(name)
        if page is None:
            page = Page((f"run {name} --quiet",), f"results/{name}/seed-1/report.html")
        home = self.folder / name
        if not home.exists():
            home.mkdir()
            if page.sweep:
                (home / "sweep.yaml").write_text(page.sweep, encoding="utf-8")
            if page.task:
                follow(page.task, home)
            for command in page.commands:
                call(command, home)
        return home / page.file


def call(command: str, folder: Path) -> None:
    """Run a command of edgefl in a folder.

    Raises:
        SystemExit: it fails.
    """
    with contextlib.chdir(folder):
        code = edgefl(command.split())
    if code:
        raise SystemExit(f"edgefl {command}: exit code {code}")


def follow(task: str, folder: Path) -> None:
    """Write the files of a task page into a folder, and run its commands there."""
    sys.path.insert(0, str(LESSONS))
    import lessons

    (step,) = lessons.steps(TASKS / f"{task}.md")
    with contextlib.chdir(folder):
        lessons.write_files(step)
        for block, _ in step.commands():
            if block.language == "sh":
                lessons.printed(block)


@contextlib.contextmanager
def opened_browser(profile: Path) -> Iterator[Chrome]:
    """Yield a browser without a window, in the light colours of pages, and close it in the end."""
    from selenium import webdriver

    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        raise SystemExit("pictures need Chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
    try:
        yield browser
    finally:
        browser.quit()


def taken(browser: Chrome, page: Path, picture: Picture) -> bytes:
    """Return a picture of a page as a PNG file.

    Raises:
        SystemExit: the page has none of the parts, or the file would be too large.
    """
    size = {"width": picture.width, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    wait_until_built(browser)
    if picture.script:
        browser.execute_script(picture.script)
    time.sleep(SETTLED_AFTER_S)
    clip = clip_of(browser, picture)
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    file = compressed(shot["data"], picture.colours)
    if len(file) > MOST_BYTES:
        raise SystemExit(f"{picture.name}: {len(file)} bytes are more than {MOST_BYTES}: show less")
    return file


def wait_until_built(browser: Chrome) -> None:
    """Return when the page has drawn its charts."""
    from selenium.webdriver.support.ui import WebDriverWait

    def is_built(page: Any) -> bool:
        return bool(page.execute_script("return document.documentElement.dataset.built === 'true'"))

    WebDriverWait(browser, BUILT_WITHIN_S).until(is_built)


def clip_of(browser: Chrome, picture: Picture) -> dict[str, float]:
    """Return the rectangle of the page that a picture shows."""
    selector = picture.parts or "body"
    boxes = browser.execute_script(
        """return Array.from(document.querySelectorAll(arguments[0]), part => {
            const box = part.getBoundingClientRect();
            return [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY];
        }).filter(box => box[2] > box[0] && box[3] > box[1])""",
        selector,
    )
    if not boxes:
        raise SystemExit(f"{picture.name}: the page of {picture.page} has no {selector}")
    margin = MARGIN if picture.parts else 0
    left = min(box[0] for box in boxes) - margin
    top = min(box[1] for box in boxes) - margin
    right = max(box[2] for box in boxes) + margin
    bottom = max(box[3] for box in boxes) + margin
    height = bottom - top
    if picture.height:
        height = min(height, picture.height)
    return {"x": max(left, 0), "y": max(top, 0), "width": right - left, "height": height, "scale": 1}


def compressed(shot: str, colours: int) -> bytes:
    """Return a screenshot, given as base64, as a PNG file with so many colours; with 0, all of them if it is small."""
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB")
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    if colours or file.tell() > MOST_BYTES:
        # A palette may lose colours of small marks.
        file = io.BytesIO()
        palette = image.quantize(colours or COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        palette.save(file, "PNG", optimize=True)
    return file.getvalue()


if __name__ == "__main__":
    sys.exit(main())
