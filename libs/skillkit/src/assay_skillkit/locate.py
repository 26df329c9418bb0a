"""Where in an upload the skill is."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay_contracts.skills import Finding
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.rules import skill as rules
from assay_skillkit.show import shown
from assay_skillkit.tree import SkillTree, Tree

_LOWER_CASE = SKILL_MD.lower()


@dataclass(frozen=True, slots=True)
class LocatedSkill:
    """The skill found in an upload, if any, and what was odd about the place."""

    findings: tuple[Finding, ...]
    skill: SkillTree | None = None
    folder: str | None = None
    """The top folder that held it; None when it lay at the root."""


def find_skill(tree: Tree, folders: frozenset[str]) -> LocatedSkill:
    """The one skill of an upload: at its root, or in its one top folder."""
    paths = tree.sizes
    tops = sorted({path.split("/")[0] for path in paths if "/" in path})
    if _instructions(paths, "") is not None:
        return _located(tree, "")
    holders = [top for top in tops if _instructions(paths, f"{top}/") is not None]
    if len(holders) > 1:
        names = ", ".join(f"`{shown(name)}`" for name in holders[:5])
        return LocatedSkill(
            (rules.SEVERAL_SKILLS.at(f"There are {len(holders)} skills: {names}."),)
        )
    if not holders:
        return LocatedSkill((_why_missing(paths, folders),))
    beside = sorted(path for path in paths if not path.startswith(f"{holders[0]}/"))
    if beside:
        return LocatedSkill(
            (
                rules.SKILL_MD_NOT_AT_ROOT.at(
                    f"SKILL.md is in `{shown(holders[0])}`, but other files are beside it, "
                    f"such as `{shown(beside[0])}`.",
                    f"{holders[0]}/{SKILL_MD}",
                ),
            )
        )
    return _located(tree, f"{holders[0]}/")


def _instructions(paths: Mapping[str, int], prefix: str) -> str | None:
    return next(
        (f"{prefix}{name}" for name in (SKILL_MD, _LOWER_CASE) if f"{prefix}{name}" in paths), None
    )


def _located(tree: Tree, prefix: str) -> LocatedSkill:
    instructions = _instructions(tree.sizes, prefix)
    places = {
        SKILL_MD if path == instructions else path.removeprefix(prefix): path
        for path in tree.sizes
        if path.startswith(prefix)
    }
    sizes = {path: tree.sizes[there] for path, there in places.items()}
    findings = (
        ()
        if instructions == f"{prefix}{SKILL_MD}"
        else (rules.SKILL_MD_LOWER_CASE.at("The file is named `skill.md`.", instructions),)
    )
    return LocatedSkill(findings, SkillTree(tree, places, sizes), prefix.rstrip("/") or None)


def _why_missing(paths: Mapping[str, int], folders: frozenset[str]) -> Finding:
    for folder in sorted(folders | {path.rsplit("/", 1)[0] for path in paths if "/" in path}):
        if folder.rsplit("/", 1)[-1] == SKILL_MD:
            return rules.SKILL_MD_NOT_A_FILE.at("SKILL.md is a folder.", folder)
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        name = path.rsplit("/", 1)[-1]
        if name == SKILL_MD:
            return rules.SKILL_MD_NOT_AT_ROOT.at("SKILL.md is too deep inside.", path)
        if name.lower() == _LOWER_CASE:
            return rules.SKILL_MD_MISSING.at(
                f"There is no SKILL.md; `{shown(name)}` is not spelled like it.", path
            )
    return rules.SKILL_MD_MISSING.at("There is no SKILL.md.")
