"""For every test: the corpus, the demo's clips, the GPU rule, a deterministic hypothesis."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from made_once import made_once

import videoloader
from videoloader.demo.videos import make_videos

# Threads of torch in workers beside each other, one for each processor, wait for one another.
# Programs that tests start get this too; torch is not imported yet.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

collect_ignore = ["attacks", "references"]  # programs of their own

# A shell that starts tests in the background has them ignore Ctrl-C, and programs that tests start
# would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # which a busy machine fails, not a test
)
settings.load_profile("deterministic")


def pytest_collection_finish():
    """What was collected stays: no full collection, which many tests ask for, looks at it again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item):
    """Tests marked `gpu` need one: skipped without it, unless a GPU is what the run is for."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        if os.environ.get("VIDEOLOADER_REQUIRE_GPU") == "1":
            pytest.fail("VIDEOLOADER_REQUIRE_GPU=1, but torch sees no GPU", pytrace=False)
        pytest.skip("needs an NVIDIA GPU")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real media files with reference lists beside them."""
    folder = os.environ.get("VIDEOLOADER_CORPUS")
    if not folder:
        pytest.skip("needs VIDEOLOADER_CORPUS, the folder of reference media")
    path = Path(folder)
    if not (path / "manifest.json").is_file():
        pytest.fail(f"VIDEOLOADER_CORPUS={folder} holds no manifest.json", pytrace=False)
    return path


@pytest.fixture(scope="session", autouse=True)
def run_folder(tmp_path_factory, pytestconfig) -> Path:
    """A folder that all workers of this run share; compiled kernels are kept for later runs."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    cache = getattr(pytestconfig, "cache", None)  # none under -p no:cacheprovider
    os.environ["VIDEOLOADER_TEST_KERNELS"] = str(cache.mkdir("kernels") if cache else base)
    return base


@pytest.fixture(scope="session")
def demo_folder(run_folder) -> Path:
    """The demo's clips, encoded once for all workers of a run; not to be written to."""
    return made_once(run_folder, "demo-videos", make_videos)


@pytest.fixture
def eager():
    """Operators run at once in the test, without data too."""
    with videoloader.eager():
        yield
