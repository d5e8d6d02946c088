"""`videoloader doctor`: what it finds, and what it says of things that are missing."""

import json
import os
import sys
import zlib
from importlib import metadata
from types import SimpleNamespace

import av
import numpy as np
import pytest
import torch
from fake_gpu import fake_gpu  # noqa: F401  (a fixture)
from typer.testing import CliRunner

from videoloader.cli import app
from videoloader.cli import diagnosis as doctor
from videoloader.machinery.workers.tasks import run_tasks


def found(check, name):
    """The finding of a check that has a name."""
    (one,) = [each for each in check() if each.name == name]
    return one


def test_the_clip_is_decoded_to_the_pixels_that_ffmpeg_gives():
    crc = 0
    with av.open(str(doctor.CLIP)) as file:
        pictures = [frame.to_ndarray() for frame in file.decode(video=0)]
    for picture in pictures:
        crc = zlib.crc32(picture.tobytes(), crc)
    assert len(pictures) == 8
    assert crc == doctor.CLIP_CRC


def test_the_frame_beside_is_further_away_than_a_gpu_may_be():
    frames = doctor_frames().astype(int)
    assert np.abs(np.diff(frames, axis=0)).mean(axis=(1, 2, 3)).min() > 2 * doctor._GPU_ERROR


def doctor_frames():
    with av.open(str(doctor.CLIP)) as file:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)])


def test_a_requirement_with_a_line_for_each_python_is_listed_once(monkeypatch):
    lines = ["torch>=2.4; python_version < '3.13'", "torch>=2.6; python_version >= '3.13'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: ["numpy>=2", *lines])
    assert doctor._requirements() == [("numpy", ""), ("torch", "")]


def test_a_sound_machine_is_told_in_text_and_as_json():
    told = CliRunner().invoke(app, ["doctor", "--json"])
    assert told.exit_code == 0
    facts = json.loads(told.stdout)
    assert facts["works"] is True
    names = {each["name"]: each for each in facts["findings"]}
    assert names["av"]["found"] == av.__version__
    assert names["CPU, this process"]["found"] == "8 frames of H.264, bit-exact"
    assert names["CPU, worker process"]["state"] == "ok"
    assert "h264" in names["codecs"]["found"].split()
    findings = [doctor.Finding(**each) for each in facts["findings"]]
    assert doctor.as_json(findings) == facts
    assert {"software", "decoders", "machine", "GPU", "extras"} == {one.group for one in findings}


def test_text_has_what_to_do_below_what_was_found(monkeypatch):
    one = doctor.Finding("extras", "plot", "missing: m", "note", 'pip install "videoloader[plot]"')
    monkeypatch.setattr(doctor, "diagnose", lambda: [one])
    told = CliRunner().invoke(app, ["doctor"])
    assert told.exit_code == 0
    assert told.stdout.split("\n")[1].strip() == 'pip install "videoloader[plot]"'


def test_without_pyav_nothing_is_decoded(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    told = CliRunner().invoke(app, ["doctor", "--json"])
    assert told.exit_code == 1
    facts = json.loads(told.stdout)
    assert not facts["works"]
    failed = {each["name"]: each["found"] for each in facts["findings"] if each["state"] != "ok"}
    assert failed["FFmpeg"].startswith("ModuleNotFoundError")
    assert "CPU" in failed


def test_wrong_pixels_are_a_failure(monkeypatch):
    monkeypatch.setattr(doctor, "CLIP_CRC", 1)
    with pytest.raises(RuntimeError, match="are wrong"):
        doctor._decode_here()
    monkeypatch.setattr(doctor, "_decode_in_worker", lambda: "")
    assert not doctor.is_sound(doctor.diagnose())


def test_worker_processes_that_do_not_start_are_a_failure(monkeypatch):
    def fail():
        raise OSError("no processes today")

    monkeypatch.setattr(doctor, "_decode_in_worker", fail)
    findings = list(doctor._cpu_decoding())
    assert [each.state for each in findings] == ["ok", "failed"]
    assert "no processes today" in findings[1].found
    assert "workers=0" in findings[1].advice
    assert not doctor.is_sound(findings)


def without(monkeypatch, *missing):
    """Pretend that distributions are not installed."""
    version = metadata.version

    def pretended(name):
        if name in missing:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", pretended)


def test_a_missing_extra_is_told_with_its_command(monkeypatch):
    without(monkeypatch, "matplotlib", "cupy-cuda13x")
    plot = found(doctor._extras, "plot")
    assert (plot.state, plot.found) == ("note", "missing: matplotlib")
    assert plot.advice == 'pip install "videoloader[plot]"'
    assert "cupy-cuda13x" in found(doctor._extras, "cuda").found
    for_developers = {"dali-tests", "dev", "docs", "integrations", "test"}
    assert not for_developers & {each.name for each in doctor._extras()}


@pytest.mark.parametrize("installed", ["cuda12", "cuda13"])
def test_of_the_extras_for_gpus_one_is_told(monkeypatch, installed):
    extras = {"cuda": "cupy-cuda13x", "cuda12": "cupy-cuda12x", "cuda13": "cupy-cuda13x"}
    monkeypatch.setattr(doctor, "_requirements", lambda: [(extras[name], name) for name in extras])
    monkeypatch.setattr(doctor, "_version", {extras[installed]: "14.2"}.get)
    (told,) = doctor._extras()
    assert told.name == {"cuda12": "cuda12", "cuda13": "cuda"}[installed]
    assert told.found == f"{extras[installed]} 14.2"


def test_a_missing_requirement_is_told(monkeypatch):
    without(monkeypatch, "simplejpeg")
    missing = found(doctor._software, "simplejpeg")
    assert (missing.found, missing.state) == ("missing", "failed")


def test_a_tree_that_is_not_installed_is_told(monkeypatch):
    without(monkeypatch, "videoloader")
    assert found(doctor._software, "videoloader").state == "note"
    assert list(doctor._extras()) == []


def test_little_shared_memory_and_few_open_files_are_told(monkeypatch):
    docker = SimpleNamespace(f_bavail=(64 << 20) // 4096, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: docker)
    shared = found(doctor._memory, "/dev/shm")
    assert shared.state == "note"
    assert "67 MB free" in shared.found
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda _: (1024, 65536))
    (files,) = doctor._open_files()
    assert files.state == "note"
    assert files.advice.startswith("ulimit -n 65536")


def test_a_gpu_without_its_library_is_told(monkeypatch):
    from videoloader.decoding.nvdec import hardware

    hardware.library.cache_clear()
    hardware.capabilities.cache_clear()
    monkeypatch.setitem(sys.modules, "PyNvVideoCodec", None)
    (one,) = doctor._nvdec(0)
    assert (one.state, one.advice) == ("note", 'pip install "videoloader[cuda]"')


def test_what_nvdec_decodes_is_listed(fake_gpu, monkeypatch):
    monkeypatch.setattr(doctor, "_decode_on_gpu", lambda gpu: "8 frames")
    names = {each.name: each for each in doctor._nvdec(0)}
    assert names["NVDEC h264"].found.startswith("4:2:0 8 bits to 4096x4096")
    assert names["NVDEC av1"].found == "not decoded"
    assert names["NVDEC engines"].found == "2"
    assert names["NVDEC decodes"].state == "ok"


def test_nvdec_that_fails_leaves_the_cpu_sound(fake_gpu, monkeypatch):
    def fail(gpu):
        raise RuntimeError("no picture came")

    monkeypatch.setattr(doctor, "_decode_on_gpu", fail)
    findings = list(doctor._nvdec(0))
    assert findings[-1].state == "failed"
    assert "no picture came" in findings[-1].found
    assert doctor.is_sound(findings)


def test_a_library_of_a_gpu_that_crashes_is_a_finding(monkeypatch):
    def crashing(function, tasks, **options):
        return run_tasks("os:_exit", [3], **options)

    monkeypatch.setattr(doctor, "run_tasks", crashing)
    (one,) = doctor._gpus_apart()
    assert one.state == "failed"
    assert one.found == "looking at it failed: the worker process died (exit code 3)"


@pytest.mark.parametrize(
    ("driver", "built", "advice"),
    [
        (None, None, "everything runs on the CPU"),
        ("580.82", None, "install a build of PyTorch"),
        ("580.82", "13.0", "the driver may be too old"),
    ],
)
def test_why_there_is_no_gpu_is_told(monkeypatch, driver, built, advice):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", built)
    monkeypatch.setattr(doctor, "_driver", lambda: driver)
    assert found(doctor._gpus, "PyTorch").advice.startswith(advice)


@pytest.mark.gpu
def test_nvdec_of_this_machine_gives_the_frames_of_the_cpu():
    findings = {each.name: each for each in doctor.diagnose()}
    assert "NVDEC decodes" in findings, findings.get("GPU")
    assert findings["NVDEC decodes"].state == "ok", findings["NVDEC decodes"]
    assert findings["driver"].found[0].isdecimal()
    assert int(findings["NVDEC engines"].found) >= 1
