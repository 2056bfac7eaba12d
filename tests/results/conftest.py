"""What every test of the report starts from."""

import shutil

import pytest
from result_folders import make
from selenium import webdriver

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1400,1200"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture
def result(tmp_path):
    """Makes result folders below the test's own folder."""

    def build(folder="run", /, **options):
        return make(tmp_path / folder, **options)

    return build


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A browser without a window."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("needs Chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()
