"""Unpacking wheels and npm's tarballs into folders laid out as below a home folder.

Nothing in them is run. What the rules refuse is left out and told.
"""

import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Final

from installer import install
from installer.destinations import SchemeDictionaryDestination
from installer.exceptions import InstallerError
from installer.records import RecordEntry
from installer.sources import WheelFile
from installer.utils import Scheme
from packaging.utils import canonicalize_name
from packaging.version import Version

from assay_contracts.environments import LockedPackage
from assay_sandboxes.command_environment import HOME
from assay_sandboxes.environments import rules
from assay_sandboxes.port import Base

NODE_MODULES: Final = ".local/lib/node_modules"
_START: Final = rules.LONGEST_HOOK
_NO_PACKAGE: Final = (InstallerError, tarfile.TarError, zipfile.BadZipFile)
_PACKAGE_JSON: Final = 1 << 20


class UnusablePackage(Exception):
    """Its bytes are no package, or one that is too large."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one package may unpack to."""

    size: int = 8 * 1024**3
    files: int = 200_000


def unpack(
    archive: Path, package: LockedPackage, base: Base, target: Path, bounds: Bounds
) -> Mapping[str, str]:
    """Lay a package's files out in `target`, an empty folder.

    Returns:
        Why each file that was left out was, by its path below the home folder.

    Raises:
        UnusablePackage: it cannot be done.
    """
    unpacking = _Unpacking(package, base, target, bounds)
    try:
        if package.ecosystem == "pip":
            unpacking.wheel(archive)
        else:
            unpacking.tarball(archive)
    except (OSError, ValueError, KeyError, EOFError, *_NO_PACKAGE) as error:
        raise UnusablePackage(f"{type(error).__name__}: {error}") from error
    return unpacking.left_out


def top_modules(package_folder: Path, base: Base) -> Iterator[str]:
    """What a package that is unpacked there can be imported as."""
    modules = package_folder / _site_packages(base)
    for path in modules.iterdir() if modules.is_dir() else ():
        if not path.name.endswith((".dist-info", ".pth")):
            yield path.name.split(".", 1)[0]


def _site_packages(base: Base) -> str:
    return f".local/lib/python{base.python_version}/site-packages"


class _Destination(SchemeDictionaryDestination):
    """Writes a wheel's files where they belong, as far as the rules let it."""

    def __init__(
        self, package: LockedPackage, base: Base, target: Path, left_out: dict[str, str]
    ) -> None:
        site = f"{HOME}/{_site_packages(base)}"
        super().__init__(
            scheme_dict={
                "purelib": site,
                "platlib": site,
                "scripts": f"{HOME}/.local/bin",
                "data": f"{HOME}/.local",
                "headers": f"{HOME}/.local/include/{package.name}",
            },
            interpreter=base.python,
            script_kind="posix",
            destdir=str(target),
        )
        self._known_as = canonicalize_name(package.name) if package.source == "index" else ""
        self._base = base
        self._left_out = left_out

    def write_to_fs(
        self, scheme: Scheme, path: str, stream: BinaryIO, is_executable: bool
    ) -> RecordEntry:
        below = str(PurePosixPath(self.scheme_dict[scheme], path).relative_to(HOME))
        start = stream.read(_START)
        stream.seek(0)
        why = rules.refusal(below, start, self._known_as, self._base.commands)
        if why is not None:
            self._left_out[below] = why
        if why is not None or rules.is_cached_code(below):
            return RecordEntry(path, None, None)
        return super().write_to_fs(scheme, path, stream, is_executable)

    def write_script(self, name: str, module: str, attr: str, section: str) -> RecordEntry:
        below = f".local/bin/{name}"
        why = rules.refusal(below, b"", self._known_as, self._base.commands)
        if why is not None or "/" in name:
            self._left_out[below] = why or "it would lie outside the places of packages"
            return RecordEntry(name, None, None)
        return super().write_script(name, module, attr, section)  # type: ignore[arg-type]  # as it comes


@dataclass(slots=True)
class _Unpacking:
    """One package on its way into a folder."""

    package: LockedPackage
    base: Base
    target: Path
    bounds: Bounds
    left_out: dict[str, str] = field(default_factory=dict)

    def wheel(self, archive: Path) -> None:
        with zipfile.ZipFile(archive) as wheel:
            entries = wheel.infolist()
            _check(len(entries), sum(entry.file_size for entry in entries), self.bounds)
            # What reads wheels goes by the name of the file; ours is a digest.
            wheel.filename = f"{_distribution(wheel, self.package)}-py3-none-any.whl"
            destination = _Destination(self.package, self.base, self.target, self.left_out)
            install(WheelFile(wheel), destination, {})
        _lift(self.target / HOME.lstrip("/"), self.target)

    def tarball(self, archive: Path) -> None:
        folder = self.target / NODE_MODULES / self.package.place
        folder.mkdir(parents=True)
        count = size = 0
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                count, size = count + 1, size + member.size
                _check(count, size, self.bounds)
                _, *below = PurePosixPath(member.name).parts
                # Modules within are locked for themselves.
                if member.isreg() and below and not {"..", "node_modules"} & set(below):
                    content = tar.extractfile(member)
                    assert content is not None
                    _write(content, folder.joinpath(*below), runs=bool(member.mode & 0o100))
        self._link_commands(folder)

    def _link_commands(self, folder: Path) -> None:
        with (folder / "package.json").open("rb") as file:
            said = json.loads(file.read(_PACKAGE_JSON))
        if (said["name"], said["version"]) != (self.package.name, self.package.version):
            raise UnusablePackage(f"it is {said['name']} {said['version']}")
        place = self._place_of_commands()
        for name, program in _programs(said):
            path = folder / program
            inside = path.resolve().is_relative_to(folder.resolve()) and path.is_file()
            if "/" in name or name.startswith(".") or not inside:
                continue
            why = rules.refusal(f".local/bin/{name}", b"", self.package.name, self.base.commands)
            if why is not None:
                self.left_out[str(place / name)] = why
                continue
            path.chmod(0o755)
            link = self.target / place / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to("../" * len(place.parts) + str(path.relative_to(self.target)))

    def _place_of_commands(self) -> PurePosixPath:
        """Those of a package that only another one needs lie beside it."""
        within = PurePosixPath(self.package.place).parts
        if "node_modules" not in within:
            return PurePosixPath(".local/bin")
        own_parts = len(self.package.name.split("/"))
        return PurePosixPath(NODE_MODULES, *within[:-own_parts], ".bin")


def _write(content: IO[bytes], path: Path, *, runs: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(content, file)
    path.chmod(0o755 if runs else 0o644)


def _distribution(wheel: zipfile.ZipFile, package: LockedPackage) -> str:
    """The name and the version that a wheel gives itself, which have to be the package's."""
    tops = {name.split("/", 1)[0] for name in wheel.namelist()}
    (own,) = (top.removesuffix(".dist-info") for top in tops if top.endswith(".dist-info"))
    name, _, version = own.rpartition("-")
    wanted = canonicalize_name(package.name), Version(package.version)
    if (canonicalize_name(name), Version(version)) != wanted:
        raise UnusablePackage(f"it is a wheel of {own}")
    return own


def _lift(source: Path, target: Path) -> None:
    """Move what lies in a folder below `target` to `target` itself."""
    for path in list(source.iterdir()) if source.is_dir() else ():
        shutil.move(path, target / path.name)
    shutil.rmtree(target / PurePosixPath(HOME).parts[1], ignore_errors=True)


def _programs(said: dict[str, object]) -> Iterable[tuple[str, str]]:
    programs = said.get("bin")
    if isinstance(programs, str):
        return [(str(said["name"]).rpartition("/")[2], programs)]
    if isinstance(programs, dict):
        return [(str(name), str(path)) for name, path in programs.items()]
    return ()


def _check(files: int, size: int, bounds: Bounds) -> None:
    if files > bounds.files or size > bounds.size:
        raise UnusablePackage(f"it unpacks to {files} files and {size} bytes, which is too much")
