"""Every test session has a cache of its own, and hypothesis no deadline: a first call may compile. `--slow` runs everything."""

import os
import shutil
import subprocess
import sys
import tempfile

import pytest
from browsers import browser, open_page  # noqa: F401  (fixtures of all who need a real browser)
from hypothesis import HealthCheck, settings

settings.register_profile(
    "blocksim", deadline=None, max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("blocksim")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the long evaluations")


def pytest_collection_modifyitems(config, items):
    """Long evaluations wait for --slow, and then have an hour each; a representative part of each runs without it."""
    for item in items:
        if item.get_closest_marker("slow"):
            asked = config.getoption("--slow")
            item.add_marker(pytest.mark.timeout(3600) if asked else pytest.mark.skip(reason="a long evaluation; --slow runs it"))


def pytest_configure(config):
    """A fresh private cache folder, shared by the workers of one session; BLOCKSIM_TEST_CACHE names one to keep."""
    os.environ["BLOCKSIM_BESIDE"] = "off"  # tests are short: a second process that compiles would only take their time
    kept = os.environ.get("BLOCKSIM_TEST_CACHE")
    if kept:
        os.environ["BLOCKSIM_CACHE"] = kept
    elif not hasattr(config, "workerinput"):
        config.blocksim_cache = os.environ["BLOCKSIM_CACHE"] = tempfile.mkdtemp(prefix="blocksim-tests-")


def pytest_unconfigure(config):
    folder = getattr(config, "blocksim_cache", None)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


class SmallDisk:
    """A file system in memory with room for so much and no more, where the system lets us have one."""

    def __init__(self, place):
        self.place = place
        self.mounted = False

    def __call__(self, size):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", self.place], capture_output=True)
        if done.returncode:
            pytest.skip("no file systems can be mounted here")
        self.mounted = True
        return self.place

    def read_only(self):
        subprocess.run(["mount", "-o", "remount,ro", self.place], check=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.place], check=True)


@pytest.fixture
def small_disk(tmp_path):
    """small_disk("64k") is the path of a disk of that size; small_disk.read_only() closes it for writing."""
    place = tmp_path / "disk"
    place.mkdir()
    disk = SmallDisk(place)
    if sys.platform != "linux" or shutil.which("mount") is None:
        pytest.skip("no file systems can be mounted here")
    yield disk
    disk.close()
