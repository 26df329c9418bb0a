"""An environment: what a sandbox has beyond the base, as a lock that it can be built from anew."""

import hashlib
import json
from collections.abc import Collection
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, field_validator

from assay_contracts.base import Model
from assay_contracts.skills import Sha256

EnvironmentDigest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""Same digest, same environment: layers and results are shared by it."""
LockedEcosystem = Literal["pip", "npm"]
PackageSource = Literal["index", "bundle"]
"""Where its bytes came from: the package index, or the files of a skill."""
MOST_LISTED: Final = 50
"""Of a long list, a message carries so many; the rest is counted."""


class LockedPackage(Model):
    """One package at one version, known by the bytes it is installed from."""

    ecosystem: LockedEcosystem
    name: str = Field(max_length=300)
    version: str = Field(max_length=200)
    sha256: Sha256 = Field(pattern=r"^[0-9a-f]{64}$")
    """Of the wheel or the tarball."""
    source: PackageSource = "index"
    place: str = Field(default="", max_length=1000)
    """For npm, the folder below `node_modules` that it lies in."""
    skills: tuple[str, ...] = ()
    """Whose part of the lock it is: the skills that brought it or declare it. Not in the digest."""


class LockedFile(Model):
    """A data file that a run brought along. Only the runs of its own skill see it."""

    path: str = Field(max_length=1000)
    """Below the home folder."""
    size: int = Field(ge=0)
    sha256: Sha256 = Field(pattern=r"^[0-9a-f]{64}$")
    skill: str


class EnvironmentLock(Model):
    """All that an environment is made from; what stands here can be built anew, anywhere.

    In a stable order, each package once for each place, so that equal locks are equal.
    """

    base: str = Field(max_length=200)
    """What the packages were locked for: the provider and the digest of what its base has."""
    packages: tuple[LockedPackage, ...] = ()
    files: tuple[LockedFile, ...] = ()

    @field_validator("packages")
    @classmethod
    def _packages_in_order(cls, packages: tuple[LockedPackage, ...]) -> tuple[LockedPackage, ...]:
        return tuple(sorted(packages, key=_order_of))

    @field_validator("files")
    @classmethod
    def _files_in_order(cls, files: tuple[LockedFile, ...]) -> tuple[LockedFile, ...]:
        return tuple(sorted(files, key=lambda file: file.path))

    @property
    def digest(self) -> EnvironmentDigest:
        """Of the base, the packages by their bytes, and the files by theirs."""
        content = self.model_dump(mode="json")
        for package in content["packages"]:
            del package["skills"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def contents(self) -> frozenset[Sha256]:
        """The digests of all that it is made from."""
        made_from = (*(each.sha256 for each in self.packages), *(f.sha256 for f in self.files))
        return frozenset(made_from)

    def without(self, skills: Collection[str]) -> "EnvironmentLock":
        """What is left when the parts of these skills are taken away.

        A package that another skill brought or declares stays.
        """
        gone = frozenset(skills)
        if not gone:
            return self
        kept = (
            package.model_copy(
                update={"skills": tuple(each for each in package.skills if each not in gone)}
            )
            for package in self.packages
            if not package.skills or not gone.issuperset(package.skills)
        )
        files = (file for file in self.files if file.skill not in gone)
        return EnvironmentLock(base=self.base, packages=tuple(kept), files=tuple(files))

    def seen_by(self, skill: str) -> "EnvironmentLock":
        """What a run about that skill starts from: of the files, its own alone."""
        files = tuple(file for file in self.files if file.skill == skill)
        return EnvironmentLock(base=self.base, packages=self.packages, files=files)


def _order_of(package: LockedPackage) -> tuple[str, ...]:
    return (package.ecosystem, package.name.lower(), package.place, package.version)


class ChangedFile(Model):
    """A file that a run left outside its task folders."""

    path: str
    """Below the home folder."""
    size: int = Field(ge=0)


class NotSealed(Model):
    """Something that was installed and is not in the sealed environment, or not all of it."""

    what: str = Field(max_length=400)
    why: str = Field(max_length=400)


class SealedEnvironment(Model):
    """What came of sealing: what a later run starts from, and what was left behind.

    Lists are cut at `MOST_LISTED`.
    """

    digest: EnvironmentDigest
    added: tuple[LockedPackage, ...] = ()
    """Packages that the run added or replaced."""
    added_omitted: int = Field(default=0, ge=0)
    files: tuple[LockedFile, ...] = ()
    """Data files that came along."""
    not_sealed: tuple[NotSealed, ...] = ()
    left_behind: tuple[ChangedFile, ...] = ()
    """Every other file that changed; no later run sees it."""
    left_behind_omitted: int = Field(default=0, ge=0)
