"""Which part of the library may use which other: the layers that docs/architecture.md draws."""

import ast
import importlib
import pkgutil
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import hedgerow
from tools.fit_path import SCREENFUL, fit_files

NATIVE = Path(__file__).parents[1] / "native"

# A folder of native/, and the folders whose headers it may include beside its own.
INCLUDES = {
    "shared": set(),
    "core": {"shared"},
    "table": {"core", "shared"},
    "gradient": {"core", "shared", "table"},
    "tree": {"core", "gradient", "shared", "table"},
    "hist": {"core", "gradient", "shared", "table", "tree"},
    "exact": {"core", "shared", "table", "tree"},
    "cart": {"core", "shared", "table", "tree"},
    "predict": {"core", "shared", "table"},
    "explain": {"core", "predict", "shared", "table"},
    "neighbors": {"core", "shared"},
    "svm": {"core", "shared"},
}
FOLDERS = sorted(path.name for path in NATIVE.iterdir() if path.is_dir())


def included_by(folder, marks='""'):
    """Yield each file of a folder with a header that it includes, between these marks."""
    include = re.compile(rf"^\s*#\s*include\s*{marks[0]}([^{marks[1]}]+){marks[1]}", re.MULTILINE)
    for path in sorted(path for path in (NATIVE / folder).rglob("*") if path.is_file()):
        for header in include.findall(path.read_text(encoding="utf-8")):
            yield path.name, header


def test_every_native_folder_has_a_place_among_the_layers():
    assert sorted([*INCLUDES, "bind"]) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_native_files_name_headers_from_the_root(folder):
    wrong = [pair for pair in included_by(folder) if not (NATIVE / pair[1]).is_file()]
    assert not wrong


@pytest.mark.parametrize("folder", INCLUDES)
def test_native_folders_include_only_what_is_below_them(folder):
    allowed = {folder, *INCLUDES[folder]}
    wrong = [pair for pair in included_by(folder) if pair[1].partition("/")[0] not in allowed]
    assert not wrong


@pytest.mark.parametrize("folder", INCLUDES)
def test_kernels_know_nothing_of_python(folder):
    # Nor are headers of this project in angle brackets, where the tests above would not see them.
    for file, header in included_by(folder, "<>"):
        own = header.partition("/")[0] in (*FOLDERS, "nanobind")
        assert not own, (file, header)
        assert header != "Python.h" or file == "cpu.cpp"  # which is a module of its own


def test_headers_keep_what_depends_on_the_instruction_set_in_its_namespace():
    # A module links files of several levels: see core/compiler.hpp.
    for path in NATIVE.rglob("*.hpp"):
        text = path.read_text(encoding="utf-8")
        if "vector_size" in text or "__AVX" in text:
            assert "inline HEDGEROW_LEVEL {" in text or "namespace HEDGEROW_LEVEL {" in text, path
        if "HEDGEROW_LEVEL" in text and path.name != "compiler.hpp":
            assert re.search(r'"core/(compiler|float_lanes|lanes)\.hpp"', text), path


def test_files_compiled_for_each_level_throw_by_the_shared_library():
    # See core/errors.hpp.
    build = (NATIVE.parent / "CMakeLists.txt").read_text(encoding="utf-8")
    kernels = build.partition("set(KERNELS")[2].partition(")")[0].split()
    assert kernels
    throws = re.compile(r"^[^/]*\bthrow\b", re.MULTILINE)
    assert not [name for name in kernels if throws.search((NATIVE / name).read_text("utf-8"))]


def test_formulas_that_decide_bits_are_headers_that_need_nothing_else():
    # Another compiler, such as a GPU's, can use them as they are.
    assert {path.suffix for path in (NATIVE / "shared").iterdir()} == {".hpp"}
    known = {"algorithm", "array", "bit", "cmath", "cstddef", "cstdint", "limits", "type_traits"}
    assert {header for _, header in included_by("shared", "<>")} <= known


# ---- Python packages -----------------------------------------------------------------------------

SOURCE = Path(hedgerow.__file__).parent

# Modules of the root that packages of every layer may import, and the order of these modules: each
# may import those before it.
BASE = (
    *("exceptions", "_types", "_files", "_native", "_warning", "_spelling"),
    *("_peer_values", "_peers", "_params", "_arguments"),
    *("_phases", "_plain_values", "_collective", "_threads", "_progress"),
    *("_arithmetic", "_greedy_selection", "_links", "_result", "_curves"),
)

# A package above them, and the packages that it may import beside its own modules.
TABLES = {"_data"}
CONTRACT = {*TABLES, "_contract", "_estimator"}
TREES = {*CONTRACT, "_tree"}
FAMILIES = {"_adaboost", "_bagging", "_boosting", "_forest", "_neighbors", "_stagewise", "_svm"}
MODELS = {*TREES, *FAMILIES, "_decisions", "_ensemble"}
IMPORTS = {
    "_autodiff": set(),
    "_data": set(),
    "_contract": TABLES,
    "_estimator": {*TABLES, "_contract"},
    "_notebook": CONTRACT,
    "_tree": CONTRACT,
    "_cuda": TREES,
    "_svm": CONTRACT,
    "_neighbors": CONTRACT,
    "_forest": TREES,
    "_adaboost": TREES,
    "_bagging": {*TREES, "_forest"},  # a bag of trees is grown as a forest
    "_boosting": {*TREES, "_autodiff", "_cuda"},
    "_stagewise": {*TREES, "_boosting"},  # the same targets, holdouts and rounds
    "_decisions": {*TREES, "_boosting"},  # the default base estimator
    "_ensemble": {*TREES, *FAMILIES},  # models of every family
    "_model_file": {*MODELS, "hedgerow"},  # the version that writes a file
    "_export": {*MODELS, "_model_file", "hedgerow"},
    "_import": {*MODELS, "_model_file"},
    "_validation": MODELS,
    "explain": {*MODELS, "_validation"},
    "_shap_package": {"exceptions", "explain"},
    "theory": MODELS,
    "cluster": {*MODELS, "_model_file"},
    "dask": {*CONTRACT, "_model_file", "cluster", "explain", "hedgerow"},
    "plot": {*MODELS, "_validation", "explain", "theory"},
    "_reporting": {
        *MODELS,
        *("_export", "_import", "_model_file", "_validation", "explain", "plot"),
    },
    "_cli": {
        *MODELS,
        *("_export", "_import", "_model_file", "_validation", "_reporting", "explain", "hedgerow"),
    },
    "callbacks": MODELS,
    "mlflow": {*MODELS, "hedgerow"},
    "skl2onnx": {"_export", "_model_file"},
    "skops": {*CONTRACT, "_model_file", "hedgerow"},
    "__main__": {"_cli"},
}

# Imports against the layers. All of them wait until they are needed, or are for type checkers.
UPWARD = {
    ("_contract", "_tree"),  # the type of a sum of trees
    ("_estimator", "_tree"),
    ("_estimator", "_model_file"),  # save
    ("_estimator", "_export"),  # export
    ("_estimator", "_notebook"),  # what a notebook shows
    ("_boosting", "_model_file"),  # checkpoints, and a file as init_model
    ("_result", "plot"),  # results draw themselves
}


def imported_modules(path):
    """Yield the name of each module of the library that a file imports, lazily or not."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name} has a relative import"
            is_root = node.module == "hedgerow"
            names = [f"hedgerow.{a.name}" for a in node.names] if is_root else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        yield from (name for name in names if name.split(".")[0] == "hedgerow")


def imports_of(path):
    """Yield the top-level part of the library that each import names; "hedgerow" for the whole."""
    yield from (name.split(".")[:2][-1] for name in imported_modules(path))


def package_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def edges():
    """Return every pair of top-level parts of which the first imports the second."""
    files = [
        path for path in SOURCE.rglob("*.py") if package_of(path) not in ("__init__", "_native")
    ]
    pairs = {(package_of(path), name) for path in files for name in imports_of(path)}
    return sorted((a, b) for a, b in pairs if a != b and b != "__version__")


def is_downward(importer, imported):
    if importer in BASE:
        return imported in BASE[: BASE.index(importer)]
    return imported in BASE or imported in IMPORTS[importer]


def test_every_python_package_has_a_place_among_the_layers():
    found = {package_of(path) for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert found == {*BASE, *IMPORTS}


def test_python_packages_import_only_what_is_below_them():
    assert {pair for pair in edges() if not is_downward(*pair)} == UPWARD


def test_explanations_do_not_know_how_they_are_drawn():
    assert "plot" not in {b for a, b in edges() if a == "explain"}


def test_no_family_imports_another_for_a_helper():
    between = {(a, b) for a, b in edges() if a in FAMILIES and b in FAMILIES}
    # These are built on the other family as a whole: see IMPORTS.
    assert between == {("_bagging", "_forest"), ("_stagewise", "_boosting")}


def test_the_layers_have_no_cycle():
    for package, below in IMPORTS.items():
        assert not any(package in IMPORTS.get(other, ()) for other in below), package


def test_a_default_fit_passes_through_few_files():
    # Each of them is a place that a reader of the fit has to know.
    used = fit_files()
    assert len(used) <= 36
    to_read = [file for file, use in used.items() if len(use.lines) >= SCREENFUL]
    path = MAP.partition("**The path of a default fit.**")[2].partition("\n## ")[0]
    native = set(re.findall(r"`native/(\w+/\w+)\.[ch]pp`", path))  # as tools.fit_path finds them
    assert len(native) > 20
    assert len(to_read) + len(native) <= 45


# ---- one name, one class -------------------------------------------------------------------------


def class_names():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name


def test_no_two_classes_have_the_same_name():
    assert {name for name, count in Counter(class_names()).items() if count > 1} == set()


NATIVE_CLASS = re.compile(
    r"^\s*(?:class|struct|enum class|enum|union) (?:alignas\(\w+\) )?([A-Z]\w*)(?: final)?"
    r"(?: : [^;{]+)? \{",
    re.MULTILINE,
)


def test_no_two_native_files_define_a_class_of_the_same_name():
    # Within a file a name may come twice: one definition for each instruction set.
    files = {}
    for path in sorted(NATIVE.rglob("*.[ch]pp")):
        for name in NATIVE_CLASS.findall(path.read_text(encoding="utf-8")):
            files.setdefault(name, set()).add(path.relative_to(NATIVE).as_posix())
    assert len(files) > 200
    assert {name: places for name, places in files.items() if len(places) > 1} == {}


# ---- the public face -----------------------------------------------------------------------------

PUBLIC = {
    *("hedgerow", "hedgerow.callbacks", "hedgerow.cluster", "hedgerow.dask"),
    *("hedgerow.exceptions", "hedgerow.explain", "hedgerow.mlflow", "hedgerow.plot"),
    *("hedgerow.skl2onnx", "hedgerow.skops", "hedgerow.theory"),
}


def modules():
    yield "hedgerow"
    for module in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
        yield module.name


def test_every_module_is_public_and_documented_or_has_an_underscore():
    unmarked = {name for name in modules() if not any(part[0] == "_" for part in name.split("."))}
    assert unmarked == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_modules_say_what_is_public(name):
    if name in ("hedgerow.mlflow", "hedgerow.skl2onnx"):
        pytest.importorskip(name.removeprefix("hedgerow."))
    module = importlib.import_module(name)
    assert module.__all__
    for exported in module.__all__:
        assert getattr(module, exported) is not None


# ---- the map of docs/architecture.md -------------------------------------------------------------

MAP = (NATIVE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_map_has_every_folder_and_root_module():
    for name in {*BASE, *IMPORTS, *FOLDERS} - {"_native", "__main__"}:
        assert re.search(rf"^\| .*`{name}`.* \|", MAP, re.MULTILINE), name


def test_files_that_the_map_names_exist():
    roots = (NATIVE.parent, SOURCE)
    named = set(re.findall(r"`([\w.]+(?:/[\w.]+)+)`", MAP))
    assert len(named) > 20
    assert not [path for path in named if not any((root / path).exists() for root in roots)]
