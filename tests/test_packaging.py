"""The package list is the folders, and nothing of ours is importable under a bare name."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("dsl", "stdlib", "compiler", "runtime")
FACADE = ROOT / "runtime" / "_streamq"

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def folders_with_init() -> set[str]:
    found = {"streamq"}
    for room in ROOMS:
        for init in (ROOT / room).rglob("__init__.py"):
            if init.parent != FACADE:
                found.add("streamq." + ".".join(init.parent.relative_to(ROOT).parts))
    return found


def test_the_package_list_is_the_folders() -> None:
    listed = SETTINGS["tool"]["setuptools"]["packages"]
    assert len(listed) == len(set(listed))
    assert set(listed) == folders_with_init()


def test_every_folder_with_code_is_a_package() -> None:
    packages = folders_with_init()
    for room in ROOMS:
        for module in (ROOT / room).rglob("*.py"):
            if module.parent != FACADE:
                name = "streamq." + ".".join(module.parent.relative_to(ROOT).parts)
                assert name in packages, f"{module} lies in a folder without __init__.py"


def test_data_files_are_packaged() -> None:
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]["*"]
    endings = {Path(pattern).suffix or pattern for pattern in patterns}
    for room in ROOMS:
        for file in (ROOT / room).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".py":
                assert file.suffix in endings or file.name in patterns, f"{file} is in no wheel"
    assert files("streamq.runtime.spark").joinpath("log4j2-quiet.properties").is_file()


def test_no_bare_name_is_imported() -> None:
    """Run from the repository root, where ``import compiler`` would work by accident.

    Every module that needs no JVM to import is imported in a fresh interpreter.
    """
    modules = sorted(
        "streamq." + ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if file.name != "__init__.py" and file.parent != FACADE
    )
    assert len(modules) > 50
    script = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"bare = sorted(set({ROOMS!r}) & {{m.partition('.')[0] for m in sys.modules}})\n"
        "assert not bare, f'imported under a bare name: {bare}'\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_root_holds_no_python_file() -> None:
    assert list(ROOT.glob("*.py")) == []
