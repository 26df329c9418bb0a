"""Every reason to refuse or to question a skill. The codes are public: they only get added to."""

from typing import Final

from assay_contracts.skills import Severity
from assay_skillkit.rules.rule import Rule

_NAME: Final = (
    "Use 1 to 64 lower-case letters, digits and single hyphens, such as `csv-analyzer`, "
    "and give the folder the same name."
)
_TEXT: Final = "Save SKILL.md as plain UTF-8 text without a byte order mark."


def _rule(code: str, fix: str, severity: Severity = "error") -> Rule:
    return Rule(code=code, area="skill", severity=severity, fix=fix)


def _warning(code: str, fix: str) -> Rule:
    return _rule(code, fix, "warning")


# Where the skill is
SKILL_MD_MISSING: Final = _rule(
    "skill-md-missing", "Put a file named exactly SKILL.md into the skill's folder."
)
SKILL_MD_NOT_AT_ROOT: Final = _rule(
    "skill-md-not-at-root", "Put SKILL.md at the archive's root, or into its one top folder."
)
SKILL_MD_NOT_A_FILE: Final = _rule("skill-md-not-a-file", "Make SKILL.md a plain file.")
SKILL_MD_LOWER_CASE: Final = _warning("skill-md-lower-case", "Rename the file to SKILL.md.")
SEVERAL_SKILLS: Final = _rule("several-skills", "Upload each skill as an archive of its own.")
NOT_A_FOLDER: Final = _rule("not-a-folder", "Name the skill's folder, or a zip of it.")

# SKILL.md as text
SKILL_MD_TOO_LARGE: Final = _rule(
    "skill-md-too-large",
    "Move details into files beside it, which agents read when they need them.",
)
SKILL_MD_ENCODING: Final = _rule("skill-md-encoding", _TEXT)
SKILL_MD_BOM: Final = _rule("skill-md-bom", _TEXT)
SKILL_MD_CONTROL: Final = _rule("skill-md-control-character", "Delete the control character.")
SKILL_MD_HIDDEN_TEXT: Final = _warning(
    "skill-md-hidden-text", "Delete the invisible characters: people cannot review what they hide."
)

# Frontmatter
FRONTMATTER_MISSING: Final = _rule(
    "frontmatter-missing",
    "Start SKILL.md with a line `---`, then `name:` and `description:`, then a line `---`.",
)
FRONTMATTER_NOT_CLOSED: Final = _rule(
    "frontmatter-not-closed", "End the frontmatter with a line that is `---` and nothing else."
)
FRONTMATTER_TOO_LARGE: Final = _rule(
    "frontmatter-too-large", "Move what is not needed to choose the skill into the body."
)
FRONTMATTER_YAML: Final = _rule(
    "frontmatter-invalid-yaml",
    "Use plain `key: value` lines; put quotes around values with `: `, `#`, `[` or `{` in them.",
)
FRONTMATTER_NOT_A_MAPPING: Final = _rule(
    "frontmatter-not-a-mapping", "Write the frontmatter as `key: value` lines."
)
FRONTMATTER_CONTROL: Final = _rule(
    "frontmatter-control-character", "Take the control character out of the value."
)
UNKNOWN_KEY: Final = _warning(
    "frontmatter-unknown-key", "Move it under `metadata:`, which may hold any key, or take it out."
)
FLOW_STYLE: Final = _warning(
    "frontmatter-flow-style", "Write one `- item` or `key: value` on each line, without brackets."
)

# Fields
NAME_MISSING: Final = _rule("name-missing", _NAME)
NAME_EMPTY: Final = _rule("name-empty", _NAME)
NAME_TOO_LONG: Final = _rule("name-too-long", _NAME)
NAME_NOT_LOWER_CASE: Final = _rule("name-not-lower-case", _NAME)
NAME_HYPHEN_EDGE: Final = _rule("name-hyphen-at-edge", _NAME)
NAME_HYPHEN_DOUBLE: Final = _rule("name-double-hyphen", _NAME)
NAME_CHARACTERS: Final = _rule("name-characters", _NAME)
NAME_RESERVED: Final = _rule("name-reserved", "Choose a name that is no device on Windows.")
NAME_FOLDER: Final = _rule(
    "name-folder-mismatch", "Give the folder and the field `name` the same name."
)
DESCRIPTION_MISSING: Final = _rule(
    "description-missing", "Say in `description` what the skill does and when to use it."
)
DESCRIPTION_EMPTY: Final = _rule(
    "description-empty", "Say in `description` what the skill does and when to use it."
)
DESCRIPTION_TOO_LONG: Final = _rule(
    "description-too-long", "Shorten it to 1024 characters; details belong in the body."
)
COMPATIBILITY_NOT_TEXT: Final = _rule(
    "compatibility-not-text", "Write `compatibility` as one line of text."
)
COMPATIBILITY_TOO_LONG: Final = _rule(
    "compatibility-too-long", "Shorten it to 500 characters; details belong in the body."
)
COMPATIBILITY_EMPTY: Final = _warning(
    "compatibility-empty", "Say what the skill needs, or take the field out."
)
LICENSE_NOT_TEXT: Final = _warning("license-not-text", "Write `license` as one line of text.")
ALLOWED_TOOLS_NOT_TEXT: Final = _warning(
    "allowed-tools-not-text", "Write `allowed-tools` as names with spaces between them."
)
METADATA_NOT_A_MAPPING: Final = _warning(
    "metadata-not-a-mapping", "Write `metadata` as `key: value` lines below it."
)
METADATA_NESTED: Final = _warning(
    "metadata-nested", "Give every key under `metadata` one line of text."
)

# Body and files
BODY_EMPTY: Final = _warning(
    "body-empty", "Write the instructions an agent needs below the frontmatter."
)
BODY_TOO_LONG: Final = _warning(
    "body-too-long", "Move details into files beside it, which agents read when they need them."
)
REFERENCE_MISSING: Final = _warning("reference-missing", "Add the file, or correct its name.")
REFERENCE_OUTSIDE: Final = _warning(
    "reference-outside", "Put the file into the skill's folder; nothing outside it is taken along."
)
COMMAND_DOUBLED_WORD: Final = _warning(
    "command-doubled-word", "Write the program once: as it stands, the command cannot work."
)
OPTION_UNKNOWN: Final = _warning(
    "option-unknown", "Document an option that the script takes, or teach the script this one."
)
SECRET_FILE: Final = _warning(
    "secret-file", "Take the file out, and replace the secret if it was a real one."
)

# Dependencies
REQUIREMENTS_MISSING: Final = _warning(
    "requirements-missing", "List the packages in requirements.txt, so that they can be installed."
)
REQUIREMENTS_UNREADABLE: Final = _warning(
    "requirements-unreadable", "Save requirements.txt as UTF-8 text of at most 1 MB."
)
REQUIREMENTS_OPTION: Final = _warning(
    "requirements-option", "List plain packages: options for pip are not followed."
)
PACKAGE_JSON_INVALID: Final = _warning(
    "package-json-invalid", "Make package.json one JSON object whose `dependencies` are text."
)
PACKAGE_JSON_SCRIPT: Final = _warning(
    "package-json-install-script", "Let nothing run by itself when packages are installed."
)
DEPENDENCIES_UNCLEAR: Final = _warning(
    "dependencies-unclear",
    "Write `dependencies` as a list of packages, or as lists under `pip:` and `npm:`.",
)
