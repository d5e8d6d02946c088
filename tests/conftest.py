"""For every test: the corpus, the demo's clips, the GPU rule, a deterministic hypothesis."""

import gc
import importlib.util
import os
import signal
import subprocess
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings
from made_once import made_once
from own_decoders import own_decoders
from programs import Program, serving_programs

import videoloader
from videoloader.demo.videos import make_videos
from videoloader.machinery.workers import process

# Threads of torch in workers beside each other, one for each processor, wait for one another.
# Programs that tests start get this too; torch is not imported yet.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# JAX then has several devices on the CPU, as on a host with several GPUs; it is not imported yet.
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "4")

collect_ignore = ["attacks", "dali/references"]  # programs of their own

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


def pytest_configure(config):
    """Have one server of programs for all workers of a run."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        served = ExitStack()
        served.enter_context(serving_programs())
        config.add_cleanup(served.close)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What was collected stays: no collection of garbage, which many tests ask for, looks at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item):
    """Skip tests marked `gpu` or `needs` without what they need, or fail as the run asks for."""
    if item.get_closest_marker("gpu") is not None:
        import torch

        if not torch.cuda.is_available():
            _lacks("gpu", "an NVIDIA GPU, which torch does not see")
    for marker in item.iter_markers("needs"):
        for package in marker.args:
            if importlib.util.find_spec(package) is None:
                _lacks(package, f"the package {package}, which is not installed")


def _lacks(name: str, thing: str) -> None:
    """Skip, or fail where VIDEOLOADER_REQUIRE has the name: no such run passes by skipping."""
    if name in os.environ.get("VIDEOLOADER_REQUIRE", "").split(","):
        pytest.fail(f"needs {thing}; VIDEOLOADER_REQUIRE has {name}", pytrace=False)
    pytest.skip(f"needs {thing}")


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


@pytest.fixture(scope="session")
def cluster():
    """A Ray cluster of two nodes, for tests marked `needs("ray")` and `xdist_group("ray")`."""
    from ray_cluster import ray_cluster

    with ray_cluster(num_gpus=1) as made:
        yield made


@pytest.fixture(scope="module")
def forked_workers():
    """Worker processes of the library are forks, see programs.py."""
    stand_in = SimpleNamespace(**vars(subprocess) | {"Popen": Program})
    with own_decoders(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "subprocess", stand_in)
        yield


@pytest.fixture
def fresh_workers(forked_workers, monkeypatch):
    """Worker processes are interpreters all the same: the test is about their start or limits."""
    monkeypatch.setattr(process, "subprocess", subprocess)


@pytest.fixture
def eager():
    """Operators run at once in the test, without data too."""
    with videoloader.dali.eager():
        yield


@pytest.fixture
def videos(monkeypatch):
    """Videos without files, which readers open in the test."""
    from fake_videos import FakeVideos

    from videoloader.dali.readers.video import media

    fake = FakeVideos()
    monkeypatch.setattr(media, "index_video", fake.index)
    monkeypatch.setattr(media, "clip_decoder", lambda device, workers=None, **limits: fake)
    return fake


@pytest.fixture
def no_threads_left():
    """The threads after the test are those before it, after a moment."""

    def others():
        """Threads but for those of the decoders that the process shares, which stay."""
        return {each for each in threading.enumerate() if not each.name.startswith("nvdec")}

    before = others()
    yield
    # Those of a dropped pipeline end soon, but nobody waits for them. A list of threads that are
    # joined would hold the one that feeds a pipeline, and with it the pipeline.
    deadline = time.monotonic() + 10
    while others() - before and time.monotonic() < deadline:
        gc.collect()  # more than once: what a thread holds is garbage only when it has ended
        time.sleep(0.01)
    left = others() - before
    assert not left, left
