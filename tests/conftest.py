"""Every test session has a cache of its own, and hypothesis no deadline: a first call may compile. `--slow` runs everything."""

import os
import shutil
import tempfile

import pytest
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
    kept = os.environ.get("BLOCKSIM_TEST_CACHE")
    if kept:
        os.environ["BLOCKSIM_CACHE"] = kept
    elif not hasattr(config, "workerinput"):
        config.blocksim_cache = os.environ["BLOCKSIM_CACHE"] = tempfile.mkdtemp(prefix="blocksim-tests-")


def pytest_unconfigure(config):
    folder = getattr(config, "blocksim_cache", None)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
