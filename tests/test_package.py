"""What holds for the package as a whole: its names, its layers, its wheel, its files."""

import ast
import functools
import importlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from made_once import made_once

import videoloader
from videoloader.codecs.registry import CODECS
from videoloader.demo.videos import encode_video
from videoloader.indexing.containers.registry import CONTAINERS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "videoloader"


@functools.cache
def tree_of(path):
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def public_packages():
    """The package and its subpackages, but for those whose `__init__.py` is only a sentence."""
    return [
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in sorted(PACKAGE.rglob("__init__.py"))
        if len(tree_of(path).body) > 1
    ]


def in_order(names):
    """Constants, then classes, then the rest, each by the alphabet: the order that ruff keeps."""

    def key(name):  # INT8 before INT16
        parts = [
            (part.isdigit(), int(part) if part.isdigit() else part)
            for part in re.split(r"(\d+)", name)
        ]
        return not name.isupper(), not name[0].isupper(), parts

    return sorted(names, key=key)


@pytest.mark.parametrize("name", public_packages())
def test_public_names_are_sorted_and_resolve(name):
    module = importlib.import_module(name)
    assert list(module.__all__) == in_order(set(module.__all__))
    for public in module.__all__:
        getattr(module, public)


def modules(layer):
    """The Python files of a layer, which is a module or a package."""
    folder = PACKAGE / layer
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{layer}.py"]
    assert files
    return files


@functools.cache
def imports(path):
    """(module, line, when) of each import: `at import`, `in a function` or `for types only`."""
    found = []

    def visit(node, when):
        if isinstance(node, ast.Import):
            found.extend((alias.name, node.lineno, when) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: a relative import"
            # `from videoloader import sampling` imports videoloader.sampling.
            whole = node.module == "videoloader"
            found.extend(
                (f"{node.module}.{alias.name}" if whole else node.module, node.lineno, when)
                for alias in node.names
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            when = "in a function"
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in vars(node.test).values():
            for child in node.body:
                visit(child, "for types only")
            for child in node.orelse:
                visit(child, when)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, when)

    visit(tree_of(path), "at import")
    return found


def module_name(path, root):
    """Dotted name of a Python file."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(root, package, *, with_types=False):
    """Modules of a package in `root`, and which of them each imports, lazily or not.

    With `with_types` imports for types only count too.
    """
    paths = {module_name(path, root): path for path in package.rglob("*.py")}
    graph = {name: set() for name in paths}
    for name, path in paths.items():
        lazy_types = {line for _, line, when in imports(path) if when == "for types only"}
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if node.lineno in lazy_types and not with_types:
                continue
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
                continue
            for alias in node.names:  # a module in a package, or a name in a module
                inner = f"{node.module}.{alias.name}"
                graph[name].add(inner if inner in paths else node.module)
    return {name: {other for other in found if other in paths} for name, found in graph.items()}


def import_cycles(graph):
    """Groups of modules that import one another, by Tarjan's algorithm."""
    order, low, stack, cycles = {}, {}, [], []

    def visit(name):
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            place = stack.index(name)
            group = sorted(stack[place:])
            del stack[place:]
            if len(group) > 1 or name in graph[name]:
                cycles.append(group)

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return cycles


def test_no_module_imports_itself_by_way_of_others():
    assert import_cycles(import_graph(ROOT, PACKAGE)) == []


def test_no_module_needs_itself_for_types():
    assert import_cycles(import_graph(ROOT, PACKAGE, with_types=True)) == []


def test_the_law_of_cycles_sees_lazy_imports_and_lets_types_pass(tmp_path):
    package = tmp_path / "one"
    (package / "inner").mkdir(parents=True)
    for name, code in {
        "__init__": "from one.ends import far\n",
        "ends": "from one import near\n",
        "near": "def f():\n    from one.inner.far import g\n",
        "inner/__init__": "",
        "inner/far": "def g():\n    import one.ends\n",
        "typed": "if TYPE_CHECKING:\n    from one import untyped\n",
        "untyped": "from one import typed\n",
        "alone": "import one.ends\nimport os\n",
    }.items():
        (package / f"{name}.py").write_text(code)
    graph = import_graph(tmp_path, package)
    assert graph["one"] == {"one.ends"}
    assert graph["one.typed"] == set()
    assert import_cycles(graph) == [["one.ends", "one.inner.far", "one.near"]]
    with_types = import_graph(tmp_path, package, with_types=True)
    assert ["one.typed", "one.untyped"] in import_cycles(with_types)


def is_inside(module, packages):
    return any(module == package or module.startswith(f"{package}.") for package in packages)


# From the bottom up: a package or module of ours, and those of ours that it may import, be it
# inside a function or for types.
LAYERS = {
    "errors": "",
    "machinery": "errors",
    "codecs": "errors",
    "sampling": "errors machinery",
    "sources": "errors machinery codecs",
    "indexing": "errors machinery codecs sampling sources",
    "audio": "errors machinery codecs sources indexing",
    "decoding": "errors machinery codecs sampling sources indexing audio",
    "video": "errors machinery sampling sources indexing decoding",
    "training": "errors machinery sampling sources indexing decoding",
    "writing": "errors machinery codecs sampling sources indexing audio decoding video",
    "datasets": "errors machinery codecs sampling sources indexing audio decoding video training "
    "writing",
    "compat": "errors machinery sampling sources indexing audio decoding video writing",
    "dali": "errors machinery sampling sources indexing audio decoding training",
    "demo": "errors machinery sampling indexing video training dali",
    "cli": "errors machinery codecs sampling sources indexing decoding video writing datasets demo",
}

ABOVE_DALI = {"demo", "cli"}  # the layers that may import `videoloader.dali`

# The rooms of a layer from the bottom up, and those of the same layer that each may import.
ROOMS = {
    "machinery": {
        "views": "",
        "system": "",
        "runtime": "system",
        "cuda": "",
        "workers": "system",
    },
    "dali": {
        "types": "",
        "tfrecord": "",
        "tensors": "types",
        "backend": "tensors",
        "operators": "types tensors",
        "readers": "types tfrecord tensors operators",
        "tools": "readers",
        "pipeline": "types tensors operators readers",
        "data_node": "pipeline",
        "fn": "types tensors operators readers pipeline",
        "math": "types pipeline fn",
        "auto_aug": "types pipeline fn math",
        "ops": "operators pipeline fn",
        "experimental": "types tensors operators pipeline fn math ops",
        "plugin": "types tensors readers pipeline fn ops",
    },
    "dali/pipeline": {"graph": "", "conditionals": "graph", "run": "graph"},
}

# Layers that run without torch and without a decoder: what else they may import when they are
# imported, and what inside a function.
PURE = {
    "errors": ((), ()),
    "machinery/views": (("numpy",), ("cv2",)),
    "machinery/system": ((), ()),
    "machinery/runtime": ((), ()),
    "machinery/workers": (("numpy",), ("av", "ray")),
    "codecs": (("numpy",), ("av",)),
    "sampling": (("numpy",), ()),
    "sources": (("numpy",), ("av", "obstore")),
    "indexing": (("numpy",), ("av", "cv2", "duckdb", "matplotlib", "polars", "pyarrow", "rich")),
}


def test_every_module_can_be_imported_without_extras():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "__main__.py":
            importlib.import_module(module_name(path, ROOT))


def test_every_module_is_in_a_layer():
    there = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix != ".typed"}
    assert there - {"__init__", "__main__", "__pycache__"} == set(LAYERS)


def test_contributing_names_each_layer_once_in_its_order():
    """Rows from the bottom up; several layers may share one."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| layer | what it is |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()]
    assert [name for row in rows for name in re.findall(r"`(\w+)/?`", row)] == list(LAYERS)


def names_below(names, folder=""):
    """The modules of some names in a folder of the package."""
    place = ["videoloader", *filter(None, folder.split("/"))]
    return [".".join([*place, name]) for name in names]


def wrong_imports(folder, allowed):
    """What a layer or room imports of this package beside what it may; the package itself too."""
    return [
        f"{path.relative_to(ROOT)}:{line}: imports {module} {when}"
        for path in modules(folder)
        for module, line, when in imports(path)
        if is_inside(module, ["videoloader"]) and not is_inside(module, allowed)
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_is_below_it(layer):
    names = list(LAYERS)
    below = LAYERS[layer].split()
    assert all(names.index(name) < names.index(layer) for name in below)
    assert not wrong_imports(layer, names_below([*below, layer]))


def test_nothing_below_imports_the_programming_model_of_dali():
    assert {name for name, below in LAYERS.items() if "dali" in below.split()} <= ABOVE_DALI
    package = [(PACKAGE / name) for name in ("__init__.py", "__main__.py")]
    assert not [each for path in package for each in imports(path) if "dali" in each[0]]


@pytest.mark.parametrize("layer", LAYERS["dali"].split()[1:])
def test_dali_imports_of_a_layer_what_the_layer_lists_for_it(layer):
    """And the layer lists no more; its package itself, where it has public names, always."""
    text = ast.get_docstring(tree_of(PACKAGE / layer / "__init__.py"))
    listed = re.search(r"For `videoloader\.dali`: ([^.]+\.py`(?:,\s+`[\w/]+\.py`)*)\.", text)
    listed = {
        f"videoloader.{layer}.{name.replace('/', '.')}"
        for name in re.findall(r"`([\w/]+)\.py`", listed[1])
    }
    taken = {
        other
        for name, others in import_graph(ROOT, PACKAGE, with_types=True).items()
        for other in others
        if is_inside(name, ["videoloader.dali"]) and is_inside(other, [f"videoloader.{layer}"])
    }
    assert taken - {f"videoloader.{layer}"} == listed


@pytest.mark.parametrize(
    ("layer", "room"), [(layer, room) for layer in ROOMS for room in ROOMS[layer]]
)
def test_a_room_imports_only_rooms_below_it(layer, room):
    names = list(ROOMS[layer])
    below = ROOMS[layer][room].split()
    assert all(names.index(name) < names.index(room) for name in below)
    beside = names_below(names, layer)
    allowed = names_below([*below, room], layer)
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {module} {when}"
        for path in modules(f"{layer}/{room}")
        for module, line, when in imports(path)
        if is_inside(module, beside) and not is_inside(module, allowed)
    ]
    assert not wrong


def test_every_room_is_listed():
    for layer in ("machinery", "dali"):
        there = {path.name.removesuffix(".py") for path in (PACKAGE / layer).iterdir()}
        assert there - {"__init__", "__pycache__"} == set(ROOMS[layer])


def test_the_package_has_few_entries():
    there = {path.name for path in PACKAGE.iterdir()}
    assert len(there - {"__init__.py", "__main__.py", "__pycache__", "py.typed"}) <= 16


def test_a_pipeline_is_made_of_parts_and_inherits_from_no_class_beside_it():
    trees = [tree_of(path) for path in modules("dali/pipeline")]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names = {each.name for each in classes}
    bases = {(each.name, ast.unparse(base)) for each in classes for base in each.bases}
    assert not {pair for pair in bases if pair[1] in names}
    assert not [node for tree in trees for node in ast.walk(tree) if is_stub(node)]


def is_stub(node):
    """Whether a statement says that a subclass has the method."""
    return isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node)


@pytest.mark.parametrize("layer", PURE)
def test_a_pure_layer_imports_no_heavy_library(layer):
    allowed, lazily = PURE[layer]
    wrong = []
    for path in modules(layer):
        for module, line, when in imports(path):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top == "videoloader" or is_inside(module, allowed):
                continue
            if when == "in a function" and is_inside(module, lazily):
                continue
            if when == "for types only" and top in ("numpy", *lazily):
                continue
            wrong.append(f"{path.relative_to(ROOT)}:{line}: imports {module} {when}")
    assert not wrong


def test_what_is_neutral_in_iterators_imports_no_framework():
    for name in ("iteration", "epoch_plan", "base_iterator"):
        tops = {module for module, _, _ in imports(PACKAGE / "dali" / "plugin" / f"{name}.py")}
        assert not [
            module
            for module in tops
            if module.split(".")[0] in ("torch", "jax", "tensorflow")
            or module.startswith("videoloader.dali.plugin.pytorch")
        ]


def test_the_layer_law_sees_every_kind_of_import(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import torch.nn\n"
        "from videoloader import sampling\n"
        "if TYPE_CHECKING:\n    import cv2\nelse:\n    import cupy\n"
        "def read():\n    import av\n"
        "try:\n    from numpy import fft\nexcept ImportError:\n    pass\n"
    )
    assert imports(path) == [
        ("torch.nn", 1, "at import"),
        ("videoloader.sampling", 2, "at import"),
        ("cv2", 4, "for types only"),
        ("cupy", 6, "at import"),
        ("av", 8, "in a function"),
        ("numpy", 10, "at import"),
    ]


def lines_testing(tree, names):
    """Lines where one of some names is compared, looked up or listed.

    A name may be given: as the value in a dictionary (`b"avc1": "h264"`), as an argument, in an
    assignment or returned. It may not be tested: in a comparison, as a pattern, as the key or
    index of a dictionary, in a set, list or tuple, or as what `startswith` and the like look for.
    """
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    ]
    if not found:
        return []
    given = {
        id(child)
        for node in ast.walk(tree)
        for child in (
            node.values
            if isinstance(node, ast.Dict)
            else node.args[1:]
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "fromkeys"
            else [node.value, *getattr(node, "elts", [])]
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.keyword)
            else [n for n in node.args if not isinstance(node.func, ast.Attribute)]
            if isinstance(node, ast.Call)
            else []
        )
        if child is not None
    }
    pairs = {
        id(item)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
        for item in getattr(node.value, "elts", [])
    }
    return [node.lineno for node in found if id(node) not in given | pairs]


def names_tested_outside(names, *rooms):
    there = {path: path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))}
    return [
        f"{name}:{line}"
        for path, name in there.items()
        if not name.startswith(rooms)
        for line in lines_testing(tree_of(path), names)
    ]


def test_no_codec_is_tested_by_its_name_outside_codecs():
    wrong = names_tested_outside(CODECS, "codecs/")
    assert not wrong, "ask codec_of(name) instead of testing the name"


def test_no_container_is_tested_by_its_name_outside_containers():
    names = {name for one in CONTAINERS for name in (one.name, one.demuxer)} - {None}
    # The frames of FLAC are numbered in its own files and in Ogg.
    wrong = names_tested_outside(names, "indexing/containers/", "audio/flac.py")
    assert not wrong, "ask container_of(name) instead of testing the name"


def test_the_law_of_codec_names_sees_tests_and_lets_data_pass():
    tested = [
        'if codec == "h264": pass',
        'x = "h264" if codec in ("vp9", other) else 1',
        'LENGTHS = {"hevc": 2}',
        "match codec:\n    case 'av1':\n        pass",
        'x = sizes["mjpeg"]',
        'KNOWN = frozenset({"vp8"})',
        'codec.startswith("mpeg4")',
    ]
    for code in tested:
        assert lines_testing(ast.parse(code), CODECS), code
    data = [
        'TAGS = {b"avc1": "h264", **dict.fromkeys(MORE, "hevc")}',
        'codec, size = "h264", 2',
        'tag = Tag("flv1", codec="av1")',
        'def f():\n    return "vp9"',
    ]
    for code in data:
        assert not lines_testing(ast.parse(code), CODECS), code


def test_importing_the_package_loads_nothing_heavy():
    heavy = ("torch", "cv2", "av", "pyarrow", "cupy", "multiprocessing", "concurrent", "asyncio")
    heavy += (
        "subprocess",
        "socket",
        "ssl",
        "http",
        "videoloader.machinery.workers",
        "videoloader.decoding",
    )
    heavy += ("videoloader.indexing.dataset", "videoloader.dali.pipeline", "videoloader.dali.fn")
    code = f"import sys, videoloader; print(*(m for m in {heavy} if m in sys.modules))"
    assert run_python("-c", code).split() == []


def test_what_is_imported_later_is_an_attribute_from_the_beginning():
    code = "import videoloader as vl; print(vl.indexing.dataset.index_dataset is vl.index_dataset)"
    assert run_python("-c", code).strip() == "True"


# Everything that follows happens where only numpy and PyAV can be found, and torch is refused.
INDEX_WITHOUT_TORCH = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "cv2", "pyarrow"):
            raise ModuleNotFoundError(f"{name} is not to be imported here", name=name)

package, libraries, clip = sys.argv[1:]
sys.meta_path.insert(0, Refuse())
sys.path[:0] = [package, libraries]
import videoloader
assert videoloader.__file__.startswith(package), videoloader.__file__
with open(clip, "rb") as file:
    index = videoloader.index_video(file.read())
assert "torch" not in sys.modules
print(*index.pts)
"""


@pytest.fixture(scope="session")
def wheel(run_folder, tmp_path_factory):
    """The wheel, built from a copy of the tree so that the tree stays as it is."""

    def build(out):
        tree = tmp_path_factory.mktemp("tree")
        for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py"):
            shutil.copy(ROOT / name, tree)
        shutil.copytree(PACKAGE, tree / "videoloader", ignore=shutil.ignore_patterns("__pycache__"))
        run_python("-m", "build", "--wheel", "--no-isolation", "--outdir", out, tree)

    (path,) = made_once(run_folder, "wheel", build).glob("*.whl")
    return path


def test_a_wheel_indexes_a_video_where_torch_is_not(wheel, tmp_path):
    package, libraries = tmp_path / "package", tmp_path / "libraries"
    pip = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps")
    run_python(*pip, "--disable-pip-version-check", "--target", package, wheel)
    libraries.mkdir()
    for name in ("numpy", "av"):
        location = Path(importlib.import_module(name).__file__).parent
        for folder in (location, location.with_name(f"{name}.libs")):
            if folder.exists():
                (libraries / folder.name).symlink_to(folder)
    clip = encode_video(tmp_path / "clip.mp4", frames=12, size=(64, 48), fps=25)
    pts = run_python("-I", "-S", "-c", INDEX_WITHOUT_TORCH, package, libraries, clip)
    expected = np.arange(12) * 512  # MP4 counts at least 10,000 ticks a second: 25 * 512 = 12,800
    assert [int(tick) for tick in pts.split()] == expected.tolist()


def test_a_wheel_holds_every_module_the_marker_and_the_licence(wheel):
    names = set(run_python("-m", "zipfile", "-l", wheel).split())
    for path in itertools.chain.from_iterable(map(PACKAGE.rglob, ("*.py", "*.pyi", "*.cu"))):
        assert path.relative_to(ROOT).as_posix() in names
    assert "videoloader/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    data = ("datasets/report/page.html", "datasets/report/page.start.js", "cli/doctor.mp4")
    assert {f"videoloader/{name}" for name in data} <= names
    tops = {name.partition("/")[0] for name in names if "/" in name}
    assert {top.partition("-")[0] for top in tops} == {"videoloader"}


def test_a_wheel_is_small(wheel):
    assert wheel.stat().st_size < 3e6


def test_the_version_is_the_same_wherever_it_is_told():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert project["version"] == videoloader.__version__


@pytest.mark.parametrize("address", ["", "https://example.org/team/videoloader/"])
def test_links_of_the_readme_lead_somewhere_from_a_registry(tmp_path, address):
    for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "videoloader").mkdir()
    (tmp_path / "videoloader" / "__init__.py").touch()
    if address:
        project = (tmp_path / "pyproject.toml").read_text()
        urls = f'[project.urls]\nRepository = "{address}"\n\n[project.scripts]'
        (tmp_path / "pyproject.toml").write_text(project.replace("[project.scripts]", urls))
    command = "from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel('.')"
    subprocess.run([sys.executable, "-c", command], cwd=tmp_path, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.dist-info/METADATA")
    shown = path.read_text(encoding="utf-8")
    own = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", own)
    assert len(links) > 30
    for place in links:
        assert (ROOT / place).exists()
        kind = "raw" if place.endswith(".svg") else "blob"
        version = videoloader.__version__
        wanted = f"{address}{kind}/v{version}/{place}" if address else place
        assert f"]({wanted})" in shown


def test_the_extra_cuda_is_that_of_the_newest_cuda():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras["cuda"] == extras["cuda13"]
    assert [each.replace("13", "12") for each in extras["cuda13"]] == extras["cuda12"]


def test_the_links_at_the_root_lead_into_the_package():
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    for name in ("indexing", "sampling"):
        assert (ROOT / name).resolve() == PACKAGE / name


def test_no_file_holds_a_path_of_this_machine():
    corpus = os.environ.get("VIDEOLOADER_CORPUS")
    places = {str(ROOT), sys.prefix, sys.base_prefix, *([corpus] if corpus else [])}
    places = {place for place in places if place.count("/") > 1}  # "/usr" is nobody's own
    pattern = re.compile(rf"(?<![\w.~-])({'|'.join(map(re.escape, sorted(places)))})(?![\w-])")
    wrong = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        wrong += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in pattern.finditer(text)]
    assert not wrong


def repository_files():
    """The files that git tracks or would."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    git = ("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = [ROOT / name for name in names if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def run_python(*arguments):
    """Standard output of this Python; its standard error is in the failure, if it fails."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout
