"""muster.pyz: what it unpacks, where to, whom it trusts there, and what it says where it cannot run."""

import ast
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from tests.support.git import git_environ
from tests.support.release import ROOT
from tests.support.release.packages import PYTHON, TAGS
from tests.support.release.pyz import pack

START: Final = ROOT / "deploy/pyz/__main__.py"
EPOCH: Final = 1_800_000_000
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders to another user")


@pytest.fixture(scope="module")
def start() -> ModuleType:
    """The program's start, as a module."""
    spec = importlib.util.spec_from_file_location("pyz_start", START)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pyz(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with muster alone inside, which is enough to say its version."""
    folder = tmp_path_factory.mktemp("pyz")
    zipfile.ZipFile(wheel).extractall(folder / "packages")
    pack(START, folder / "packages", folder / "muster.pyz", EPOCH)
    return folder / "muster.pyz"


def started(pyz: Path, home: Path) -> "subprocess.Popen[str]":
    environ = git_environ(home, XDG_CACHE_HOME="", PATH="/nowhere")
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, pyz, "--version"], env=environ, stdout=pipe, stderr=pipe, text=True)


def run(pyz: Path, home: Path) -> tuple[int, str]:
    """The code, and what it prints anywhere."""
    process = started(pyz, home)
    return process.returncode or process.wait(), "".join(process.communicate())


def cache(home: Path) -> Path:
    return home / ".cache/muster/pyz"


def test_the_bytes_depend_on_the_files_alone(pyz: Path, tmp_path: Path) -> None:
    packages = pyz.parent / "packages"
    for path in packages.rglob("*.py"):
        os.utime(path, (1, 1))
    pack(START, packages, tmp_path / "again", EPOCH)
    assert (tmp_path / "again").read_bytes() == pyz.read_bytes()
    (packages / "muster/more.py").write_text("")
    pack(START, packages, tmp_path / "other", EPOCH)
    (packages / "muster/more.py").unlink()
    digests = [zipfile.ZipFile(path).read("packages.sha256") for path in (pyz, tmp_path / "other")]
    assert digests[0] != digests[1]
    assert os.access(pyz, os.X_OK)


def test_processes_that_start_at_once_unpack_one_folder(pyz: Path, tmp_path: Path) -> None:
    processes = [started(pyz, tmp_path) for _ in range(5)]
    for process in processes:
        out, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
        assert out.startswith("muster, version ")
    (folder,) = cache(tmp_path).iterdir()
    assert folder.name == zipfile.ZipFile(pyz).read("packages.sha256").decode()
    assert [path.stat().st_mode & 0o777 for path in (cache(tmp_path), folder)] == [0o700, 0o700]
    before = folder.stat().st_mtime_ns
    assert run(pyz, tmp_path)[0] == 0
    assert folder.stat().st_mtime_ns == before


def test_what_a_killed_process_left_is_not_used(pyz: Path, tmp_path: Path) -> None:
    left = cache(tmp_path) / ".making-x/muster"
    left.mkdir(parents=True)
    (left / "__init__.py").write_text("raise SystemExit('left over')")
    assert run(pyz, tmp_path)[0] == 0


@pytest.mark.parametrize("mode", [0o755, 0o700, 0o1770])
def test_a_folder_that_was_there_is_not_trusted(mode: int, pyz: Path, tmp_path: Path) -> None:
    """Of another mode, or of one that a checkout could have made."""
    folder = cache(tmp_path) / zipfile.ZipFile(pyz).read("packages.sha256").decode()
    (folder / "muster").mkdir(parents=True)
    (folder / "muster/__main__.py").write_text("print('hostile')")
    folder.chmod(mode)
    code, printed = run(pyz, tmp_path)
    assert code == 1
    assert printed == (
        f"muster.pyz cannot use {cache(tmp_path)}: {folder} was not made by muster.pyz for this user; "
        "set XDG_CACHE_HOME to a folder of yours\n"
    )


def test_a_link_to_a_folder_is_not_trusted(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "elsewhere").chmod(0o1700)
    cache(tmp_path).mkdir(parents=True)
    (cache(tmp_path) / zipfile.ZipFile(pyz).read("packages.sha256").decode()).symlink_to(tmp_path / "elsewhere")
    code, printed = run(pyz, tmp_path)
    assert (code, "was not made by muster.pyz" in printed) == (1, True)


@as_root
def test_another_users_folder_is_not_trusted(start: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    folder.chmod(start.MODE)
    assert start.distrust(folder) == ""
    os.chown(tmp_path / "a", 1234, 1234)
    assert start.distrust(folder) == f"another user can write to {tmp_path / 'a'}"
    os.chown(folder, 1234, 1234)
    assert start.distrust(folder) == f"{folder} was not made by muster.pyz for this user"


@pytest.mark.parametrize(
    ("mode", "group", "trusted"),
    [(0o755, 0, True), (0o777, 0, False), (0o1777, 0, True), (0o775, 0, True), (0o775, 1, False), (0o1775, 1, True)],
)
@as_root
def test_others_must_not_be_able_to_replace_it(
    mode: int, group: int, trusted: bool, start: ModuleType, tmp_path: Path
) -> None:
    """`group`: of the folder above, beside the user's own."""
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    folder.chmod(start.MODE)
    os.chown(tmp_path / "a", os.geteuid(), os.getegid() + group)
    (tmp_path / "a").chmod(mode)
    assert (start.distrust(folder) == "") == trusted


def test_a_damaged_file_says_so(pyz: Path, tmp_path: Path) -> None:
    content = bytearray(pyz.read_bytes())
    content[len(content) // 2] ^= 1
    broken = tmp_path / "muster.pyz"
    broken.write_bytes(content)
    code, printed = run(broken, tmp_path)
    assert (code, printed.count("\n")) == (1, 1)
    assert "the file is damaged" in printed
    assert not cache(tmp_path).exists()


def test_a_home_that_cannot_be_written_to_is_named(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / ".cache").write_text("a file")
    code, printed = run(pyz, tmp_path)
    assert (code, printed.count("\n")) == (1, 1)
    assert printed.startswith(f"muster.pyz cannot use {cache(tmp_path)}: ")


NEEDED: Final = "muster.pyz needs CPython 3.11 on linux-x86_64 with glibc 2.28 or later, and this is "


@pytest.mark.parametrize(
    ("here", "said"),
    [
        (((3, 11, 2), "cpython", "linux", "x86_64", "glibc 2.36"), ""),
        (((3, 11, 2), "cpython", "linux", "x86_64", "glibc 2.28"), ""),
        (((3, 11, 2), "cpython", "linux", "x86_64", "glibc 2.17"), "cpython 3.11 on linux-x86_64 with glibc 2.17"),
        (((3, 13, 0), "cpython", "linux", "x86_64", "glibc 2.41"), "cpython 3.13 on linux-x86_64 with glibc 2.41"),
        (((3, 6, 8), "cpython", "linux", "x86_64", "glibc 2.28"), "cpython 3.6 on linux-x86_64 with glibc 2.28"),
        (((3, 11, 2), "pypy", "linux", "x86_64", "glibc 2.36"), "pypy 3.11 on linux-x86_64 with glibc 2.36"),
        (((3, 11, 2), "cpython", "linux", "aarch64", "glibc 2.36"), "cpython 3.11 on linux-aarch64 with glibc 2.36"),
        (((3, 11, 2), "cpython", "linux", "x86_64", ""), "cpython 3.11 on linux-x86_64 with another C library"),
        (((3, 11, 2), "cpython", "darwin", "arm64", ""), "cpython 3.11 on darwin-arm64 with another C library"),
    ],
)
def test_another_python_is_refused_in_one_sentence(
    here: tuple[tuple[int, ...], str, str, str, str], said: str, start: ModuleType
) -> None:
    assert start.refusal(*here) == (said and f"{NEEDED}{said}")


def test_it_asks_for_what_the_packages_inside_were_taken_for(start: ModuleType) -> None:
    assert start.PYTHON == PYTHON
    assert "--platform=manylinux_{}_{}_x86_64".format(*start.GLIBC) in TAGS


def test_the_pythons_that_it_refuses_can_read_it() -> None:
    ast.parse(START.read_text(), feature_version=(3, 6))
