"""`assay images`: the runtime versions that approvals made."""

from assay_cli.client import AssayClient, parsed, with_client
from assay_cli.commands.skills import make_sure
from assay_cli.config import Connection
from assay_cli.outcome import Exit
from assay_cli.output import moment, say, say_document, show_table
from assay_contracts.base import Model
from assay_contracts.runtime import RuntimeVersions
from assay_reporting.text import one_line


class RolledBack(Model):
    """What a rollback does, or would do."""

    message: str = ""
    affected_skills: tuple[str, ...]
    restored_skills: tuple[str, ...]


def list_images(to: Connection, *, as_json: bool) -> Exit:
    """Raises CommandError or Interrupted, as every command here."""
    content = with_client(to, lambda client: client.get("/images"))
    if as_json:
        say_document(content)
        return Exit.PASSED
    show_table(
        ("version", "", "skill", "built on", "made", "by"),
        [
            (
                each.version,
                "current" if each.is_current else "" if each.is_available else "gone",
                one_line(each.skill_name or "–"),
                each.built_on or "–",
                moment(each.created_at),
                one_line(each.created_by),
            )
            for each in parsed(content, RuntimeVersions).versions
        ],
    )
    return Exit.PASSED


def roll_back(to: Connection, version: str, *, sure: bool, as_json: bool) -> Exit:
    """Make another version current, once whoever asks has seen what it will do."""

    async def preview(client: AssayClient) -> RolledBack:
        return await client.read(f"/images/{version}/rollback-preview", RolledBack)

    would = with_client(to, preview)
    make_sure(
        f"Make {version} current? Hidden from agents: {_names(would.affected_skills)};"
        f" approved again: {_names(would.restored_skills)}.",
        sure=sure,
    )
    content = with_client(
        to, lambda client: client.send("POST", "/images/rollback", {"target_version": version})
    )
    if as_json:
        say_document(content)
    else:
        say(one_line(parsed(content, RolledBack).message))
    return Exit.PASSED


def _names(skills: tuple[str, ...]) -> str:
    return ", ".join(map(one_line, skills)) or "none"
