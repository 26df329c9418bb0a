"""The format check, whole: an upload in, every finding and the skill out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from assay_contracts.skills import Dependencies, FileEntry, Finding, SkillManifest
from assay_skillkit.archive.read import read_archive
from assay_skillkit.command_problems import command_problems
from assay_skillkit.commands import commands_as_written
from assay_skillkit.dependencies import declared_dependencies
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.folder import read_folder
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.locate import find_skill
from assay_skillkit.rules import RULES
from assay_skillkit.rules import skill as skill_rules
from assay_skillkit.skill_md.markdown import Markdown, read_markdown
from assay_skillkit.skill_md.read import SkillMd, read_skill_md
from assay_skillkit.skill_md.references import reference_problems
from assay_skillkit.tree import SkillTree, Tree, read_start

_SECRET_NAMES: Final = frozenset({".env", ".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519"})
_SECRET_SUFFIXES: Final = frozenset({".pem", ".p12", ".pfx", ".key"})
_ORDER: Final = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSkill:
    """The outcome of a check. `manifest` and `files` are there when nothing is an error."""

    findings: tuple[Finding, ...]
    """Errors first, then warnings, then notes; within each as found."""
    manifest: SkillManifest | None = None
    files: SkillTree | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def archive_is_bad(self) -> bool:
        """Whether the archive itself, not only the skill in it, is to be refused."""
        return any(RULES[finding.code].area == "archive" for finding in self.errors)


def check_archive(
    file: BinaryIO, *, filename: str = "", strict: bool = False, limits: Limits = LIMITS
) -> CheckedSkill:
    """Check the zip in `file`. Never raises for anything the zip holds.

    Args:
        file: Can be sought in; must stay open while `CheckedSkill.files` is read.
        filename: What the uploader calls it; only used to say what it is not.
        strict: Whether warnings count as errors.
        limits: How much it may hold.
    """
    read = read_archive(file, limits)
    findings = [_named(finding, filename) for finding in read.findings]
    if read.tree is None:
        return _concluded(findings, strict=strict)
    return _skill_checked(read.tree, read.folders, findings, strict=strict, limits=limits)


def check_folder(path: Path, *, strict: bool = False, limits: Limits = LIMITS) -> CheckedSkill:
    """Check a skill's folder in place. Its own name must be the skill's, as in an archive.

    Raises:
        OSError: Something in the folder cannot be read.
    """
    root = path.resolve()
    if not root.is_dir():
        return _concluded(
            [skill_rules.NOT_A_FOLDER.at("There is no such folder.", str(path))], strict=strict
        )
    findings, tree, folders = read_folder(root, limits)
    return _skill_checked(
        tree, folders, findings, strict=strict, limits=limits, folder_name=root.name
    )


def _named(finding: Finding, filename: str) -> Finding:
    if finding.code != "not-a-zip" or not filename:
        return finding
    return finding.model_copy(update={"path": PurePosixPath(filename).name[:100]})


def _skill_checked(
    tree: Tree,
    folders: frozenset[str],
    findings: list[Finding],
    *,
    strict: bool,
    limits: Limits,
    folder_name: str | None = None,
) -> CheckedSkill:
    sound = not any(finding.severity == "error" for finding in findings)
    located = find_skill(tree, folders)
    # Where files were refused, their absence is no news.
    if located.skill is not None or sound:
        findings.extend(located.findings)
    if located.skill is None:
        return _concluded(findings, strict=strict)
    skill = located.skill
    data = read_start(skill, SKILL_MD, limits.skill_md + 1)
    # A folder given by its path is named by that path, unless the skill lies one level below.
    skill_md = read_skill_md(data, folder=located.folder or folder_name, limits=limits)
    findings.extend(skill_md.findings)
    dependencies, problems = declared_dependencies(
        skill, skill_md.dependencies, skill_md.dependencies_line, limits
    )
    findings.extend(problems)
    findings.extend(_secret_files(skill.sizes))
    body = read_markdown(skill_md.body)
    if sound:
        findings.extend(reference_problems(body, skill_md.body_line, skill.sizes, SKILL_MD))
        findings.extend(command_problems(body, skill_md.body_line, skill, SKILL_MD, limits))
    concluded = _concluded(findings, strict=strict)
    if concluded.errors:
        return concluded
    manifest = _manifest(skill, skill_md, body, dependencies)
    return replace(concluded, manifest=manifest, files=skill)


def _manifest(
    skill: SkillTree, skill_md: SkillMd, body: Markdown, dependencies: Dependencies
) -> SkillManifest:
    return SkillManifest(
        name=skill_md.name,
        description=skill_md.description,
        license=skill_md.license,
        compatibility=skill_md.compatibility,
        allowed_tools=skill_md.allowed_tools,
        metadata=skill_md.metadata,
        other_fields=skill_md.other_fields,
        dependencies=dependencies,
        files=_file_entries(skill),
        commands=commands_as_written(body),
        body_lines=skill_md.body_lines,
        size=sum(skill.sizes.values()),
    )


def _file_entries(skill: SkillTree) -> tuple[FileEntry, ...]:
    return tuple(FileEntry(path=path, size=size) for path, size in sorted(skill.sizes.items()))


def _secret_files(paths: Iterable[str]) -> Iterator[Finding]:
    for path in sorted(paths):
        name = PurePosixPath(path)
        if name.name in _SECRET_NAMES or name.suffix.lower() in _SECRET_SUFFIXES:
            yield skill_rules.SECRET_FILE.at("The file looks like one that holds a secret.", path)


def _concluded(findings: list[Finding], *, strict: bool) -> CheckedSkill:
    if strict:
        findings = [
            finding.model_copy(update={"severity": "error"})
            if finding.severity == "warning"
            else finding
            for finding in findings
        ]
    return CheckedSkill(
        findings=tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity]))
    )
