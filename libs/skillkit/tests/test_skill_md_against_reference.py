"""SKILL.md as people write it: our errors agree with `skills-ref`, case by case.

`AGREED` are the cases where both say the same. `DIFFERENT` are the ones where they do not, each
for a reason given in the decision record on reading SKILL.md.
"""

import time
import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from skills_ref.parser import read_properties  # type: ignore[import-untyped]
from skills_ref.validator import validate  # type: ignore[import-untyped]

from assay_skillkit.check import check_folder

BASE = "name: demo\ndescription: Does a thing.\n"


def doc(yaml: str, body: str = "# Demo\n\nDo it.\n") -> bytes:
    return f"---\n{yaml}---\n{body}".encode()


def folder_of(data: bytes) -> str:
    """The folder a careful author would choose: the name, where one can be read."""
    for row in data.decode("utf-8", "replace").replace("\r", "\n").split("\n"):
        if row.startswith("name:"):
            value = unicodedata.normalize("NFKC", row[5:].strip().strip("\"'"))
            return value if value and "/" not in value and len(value.encode()) < 200 else "demo"
    return "demo"


# Reference error texts are matched by what identifies them; ours by code.
PAIRS = {
    "Missing required file": {"skill-md-missing"},
    "must start with YAML frontmatter": {"frontmatter-missing"},
    "not properly closed": {"frontmatter-not-closed"},
    "Invalid YAML": {"frontmatter-invalid-yaml"},
    "must be a YAML mapping": {"frontmatter-not-a-mapping"},
    "Missing required field in frontmatter: name": {"name-missing"},
    "Missing required field in frontmatter: description": {"description-missing"},
    "Field 'name' must be": {"name-empty"},
    "character limit": {"name-too-long", "description-too-long", "compatibility-too-long"},
    "must be lowercase": {"name-not-lower-case"},
    "cannot start or end": {"name-hyphen-at-edge"},
    "consecutive hyphens": {"name-double-hyphen"},
    "invalid characters": {"name-characters"},
    "must match skill name": {"name-folder-mismatch"},
    "Field 'description' must be": {"description-empty"},
    "Field 'compatibility' must be": {"compatibility-not-text"},
    "Unexpected fields": {"frontmatter-unknown-key"},
}

AGREED: dict[str, bytes] = {
    "plain": doc(BASE),
    "all fields": doc(
        BASE
        + "license: MIT\ncompatibility: Python 3.11\nallowed-tools: Bash Read\n"
        + "metadata:\n  author: me\n"
    ),
    "quoted": doc("name: 'demo'\ndescription: \"Does: a thing\"\n"),
    "literal block": doc("name: demo\ndescription: |\n  Does a thing.\n\n  And another.\n"),
    "folded block": doc("name: demo\ndescription: >-\n  Does a thing\n  over two lines.\n"),
    "plain text over two lines": doc("name: demo\ndescription: Does a thing\n  and more.\n"),
    "comments": doc("# top\nname: demo # here\ndescription: Does a thing.\n"),
    "Windows line ends": doc(BASE).replace(b"\n", b"\r\n"),
    "old Mac line ends": doc(BASE).replace(b"\n", b"\r"),
    "blank lines": doc("\nname: demo\n\ndescription: Does a thing.\n\n"),
    "keys in another order": doc("description: Does a thing.\nname: demo\n"),
    "spaces around the name": doc("name:   demo  \ndescription: Does a thing.\n"),
    "fences with spaces behind": b"---  \nname: demo\ndescription: Does.\n---  \nBody\n",
    "no body": doc(BASE, ""),
    "closing fence ends the file": b"---\nname: demo\ndescription: Does.\n---",
    "rule in the body": doc(BASE, "One\n\n---\n\nTwo\n"),
    "fence in the body": doc(BASE, "```yaml\n---\nname: x\n---\n```\n"),
    "digits": doc("name: 2fa-99\ndescription: Does a thing.\n"),
    "name like a number": doc("name: 123\ndescription: Does a thing.\n"),
    "name like a boolean": doc("name: true\ndescription: Does a thing.\n"),
    "description like null": doc("name: demo\ndescription: null\n"),
    "description like a date": doc("name: demo\ndescription: 2024-01-01\n"),
    "Chinese": doc("name: 技能\ndescription: 处理 PDF 文件的专业技能\n"),
    "Cyrillic": doc("name: навык\ndescription: Делает дело.\n"),
    "superscript": doc("name: a²\ndescription: Does a thing.\n"),
    "full width": doc("name: ｄｅｍｏ\ndescription: Does a thing.\n"),
    "decomposed": doc(unicodedata.normalize("NFD", "name: café\ndescription: Does a thing.\n")),
    "emoji in the description": doc("name: demo\ndescription: Does 🎉 things.\n"),
    "angle brackets in the description": doc("name: demo\ndescription: Makes <b>bold</b>.\n"),
    "description of 1024": doc(f"name: demo\ndescription: {'x' * 1024}\n"),
    "description of 1024 emoji": doc(f"name: demo\ndescription: {'🎉' * 1024}\n"),
    "description of 1025": doc(f"name: demo\ndescription: {'x' * 1025}\n"),
    "name of 64": doc(f"name: {'a' * 64}\ndescription: Does a thing.\n"),
    "name of 65": doc(f"name: {'a' * 65}\ndescription: Does a thing.\n"),
    "compatibility of 500": doc(BASE + f"compatibility: {'x' * 500}\n"),
    "compatibility of 501": doc(BASE + f"compatibility: {'x' * 501}\n"),
    "empty compatibility": doc(BASE + "compatibility: ''\n"),
    "compatibility a list": doc(BASE + "compatibility:\n  - a\n"),
    "license a mapping": doc(BASE + "license:\n  name: MIT\n"),
    "allowed-tools a list": doc(BASE + "allowed-tools:\n  - Bash\n  - Read\n"),
    "metadata nested": doc(BASE + "metadata:\n  a:\n    b: c\n"),
    "metadata a word": doc(BASE + "metadata: hello\n"),
    "upper case": doc("name: Demo\ndescription: Does a thing.\n"),
    "Cyrillic upper case": doc("name: Навык\ndescription: Does a thing.\n"),
    "underscore": doc("name: my_demo\ndescription: Does a thing.\n"),
    "dot": doc("name: my.demo\ndescription: Does a thing.\n"),
    "space inside": doc("name: my demo\ndescription: Does a thing.\n"),
    "combining mark": doc("name: हिन्दी\ndescription: Does a thing.\n"),
    "hyphen first": doc("name: -demo\ndescription: Does a thing.\n"),
    "hyphen last": doc("name: demo-\ndescription: Does a thing.\n"),
    "two hyphens": doc("name: de--mo\ndescription: Does a thing.\n"),
    "everything wrong with a name": doc("name: -My__Demo--X-\ndescription: Does a thing.\n"),
    "name of another folder": doc("name: other\nname-is: x\ndescription: Does.\n").replace(
        b"name-is: x\n", b""
    ),
    "no name": doc("description: Does a thing.\n"),
    "no description": doc("name: demo\n"),
    "neither": doc("license: MIT\n"),
    "empty name": doc("name:\ndescription: Does a thing.\n"),
    "blank name": doc("name: '  '\ndescription: Does a thing.\n"),
    "empty description": doc("name: demo\ndescription:\n"),
    "blank description": doc("name: demo\ndescription: '   '\n"),
    "name a list": doc("name:\n  - demo\ndescription: Does a thing.\n"),
    "description a mapping": doc("name: demo\ndescription:\n  a: b\n"),
    "no frontmatter": b"# Demo\n\nHello\n",
    "empty file": b"",
    "newline first": b"\n" + doc(BASE),
    "not closed": b"---\nname: demo\ndescription: Does a thing.\n",
    "only a fence": b"---",
    "empty frontmatter": b"---\n---\nBody\n",
    "only a comment": b"---\n# hi\n---\nBody\n",
    "a list": doc("- a\n- b\n"),
    "a word": doc("hello\n"),
    "duplicate key": doc(BASE + "name: other\n"),
    "tab indent": doc(BASE + "metadata:\n\ta: b\n"),
    "unquoted colon": doc("name: demo\ndescription: Use when: always\n"),
    "unclosed quote": doc("name: demo\ndescription: 'Does\n"),
    "at sign": doc("name: demo\ndescription: @home\n"),
    "anchor": doc("name: demo\ndescription: &a Does\n"),
    "alias": doc("name: demo\ndescription: *a\n"),
    "tag": doc("name: demo\ndescription: !!str Does\n"),
    "allowed-tools in brackets": doc(BASE + "allowed-tools: [Bash, Read]\n"),
    "metadata in braces": doc(BASE + "metadata: {author: me}\n"),
    "name in brackets": doc("name: [demo]\ndescription: Does a thing.\n"),
    "inconsistent indent": doc(BASE + "metadata:\n  a: b\n   c: d\n"),
    "text behind the opening fence": b"--- # hi\nname: demo\ndescription: Does.\n---\nBody\n",
    "unknown keys, plain": doc(BASE + "version: 1.0\nauthor: me\n"),
    "unknown keys, a list": doc(BASE + "authors:\n  - me\n"),
    "unknown key and bad name": doc("name: Demo\ndescription: Does.\nlabels: a, b\n"),
}

Reference = Literal["crashes", "refuses", "accepts", "misreads"]

DIFFERENT: dict[str, tuple[bytes, Reference, set[str]]] = {
    "byte order mark": (b"\xef\xbb\xbf" + doc(BASE), "refuses", {"skill-md-bom"}),
    "Latin-1": (
        doc("name: demo\ndescription: café\n").decode().encode("latin-1"),
        "crashes",
        {"skill-md-encoding"},
    ),
    "UTF-16": (doc(BASE).decode().encode("utf-16"), "crashes", {"skill-md-encoding"}),
    "NUL in the frontmatter": (
        doc("name: demo\ndescription: a\0b\n"),
        "crashes",
        {"skill-md-control-character"},
    ),
    "bell in the frontmatter": (
        doc("name: demo\ndescription: a\x07b\n"),
        "crashes",
        {"skill-md-control-character"},
    ),
    "NUL in the body": (doc(BASE, "a\0b\n"), "accepts", {"skill-md-control-character"}),
    "NUL by escape": (
        doc('name: demo\ndescription: "a\\0b"\n'),
        "accepts",
        {"frontmatter-control-character"},
    ),
    "half a surrogate pair by escape": (
        doc('name: demo\ndescription: "a\\ud800b"\n'),
        "accepts",
        {"frontmatter-control-character"},
    ),
    "escape beyond Unicode": (
        doc('name: demo\ndescription: "\\UFFFFFFFF"\n'),
        "crashes",
        {"frontmatter-invalid-yaml"},
    ),
    "nested too deeply": (
        doc(BASE + "x:\n  " + "- " * 20_000 + "\n"),
        "crashes",
        {"frontmatter-invalid-yaml"},
    ),
    "fence inside a value": (
        doc("name: demo\ndescription: For A --- not for B\nlicense: MIT\n"),
        "misreads",
        set(),
    ),
    "fence inside a block": (
        doc("name: demo\ndescription: |\n  One\n  ---\n  Two\n"),
        "misreads",
        set(),
    ),
    "closed inside a line": (
        b"---\nname: demo\ndescription: Does. ---\nBody\n",
        "accepts",
        {"frontmatter-not-closed"},
    ),
    "closed by an indented fence": (
        b"---\nname: demo\ndescription: Does.\n  ---\nBody\n",
        "accepts",
        {"frontmatter-not-closed"},
    ),
    "unknown key in brackets": (doc(BASE + "tags: [pdf, document]\n"), "refuses", set()),
    "dependencies in brackets": (
        doc(BASE + 'dependencies:\n  pip: ["pandas>=2.0.0", "numpy"]\n  system: []\n'),
        "refuses",
        set(),
    ),
    "device on Windows": (
        doc("name: con\ndescription: Does a thing.\n"),
        "accepts",
        {"name-reserved", "name-folder-mismatch"},
    ),
    "frontmatter over 64 kB": (
        doc(BASE + f"metadata:\n  a: {'x' * 70_000}\n"),
        "accepts",
        {"frontmatter-too-large"},
    ),
    "SKILL.md over 1 MB": (doc(BASE, "x" * 1_100_000), "accepts", {"skill-md-too-large"}),
}


def reference_on(folder: Path) -> Reference:
    try:
        errors = validate(folder)
    except Exception:  # noqa: BLE001 - that it raises anything at all is the subject
        return "crashes"
    return "refuses" if errors else "accepts"


def written(root: Path, data: bytes, name: str | None = None) -> Path:
    folder = root / (name or folder_of(data))
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(data)
    return folder


def our_errors(folder: Path) -> set[str]:
    return {finding.code for finding in check_folder(folder).errors}


@pytest.mark.parametrize("case", AGREED)
def test_agrees_with_the_reference(case: str, tmp_path: Path) -> None:
    name = "demo" if case == "name of another folder" else None
    folder = written(tmp_path, AGREED[case], name)
    theirs = validate(folder)
    expected = [next(ours for text, ours in PAIRS.items() if text in error) for error in theirs]

    checked = check_folder(folder)
    codes = {finding.code for finding in checked.findings}

    assert all(codes & allowed for allowed in expected), (theirs, codes)
    # The one error of theirs that is a warning here by design.
    theirs_kept = [ours for ours in expected if ours != {"frontmatter-unknown-key"}]
    assert len(checked.errors) == len(theirs_kept), (theirs, codes)
    if not theirs:
        properties = read_properties(folder)
        assert checked.manifest is not None
        assert checked.manifest.name == unicodedata.normalize("NFKC", properties.name)
        assert checked.manifest.description == properties.description


@pytest.mark.parametrize("case", DIFFERENT)
def test_differs_where_the_reference_crashes_or_misreads(case: str, tmp_path: Path) -> None:
    data, reference, expected = DIFFERENT[case]
    folder = written(tmp_path, data, "demo")

    assert our_errors(folder) == expected
    if case != "device on Windows":
        assert reference_on(folder) == reference.replace("misreads", "accepts")


@pytest.mark.parametrize(
    "yaml",
    ["x: " + "[" * 400 + "]" * 400, "x: " + "[" * 40_000, "x: " + "{a: " * 10_000, "? " * 20_000],
)
def test_deep_nesting_is_an_error_not_a_crash(yaml: str, tmp_path: Path) -> None:
    started = time.monotonic()

    assert our_errors(written(tmp_path, doc(f"{BASE}{yaml}\n"))) == {"frontmatter-invalid-yaml"}
    assert time.monotonic() - started < 5


def test_a_value_with_a_fence_in_it_is_read_whole(tmp_path: Path) -> None:
    manifest = check_folder(written(tmp_path, DIFFERENT["fence inside a value"][0])).manifest

    assert manifest is not None
    assert manifest.description == "For A --- not for B"
    assert manifest.license == "MIT"


def test_skill_md_that_is_a_folder_or_a_link_or_misspelled(tmp_path: Path) -> None:
    (tmp_path / "a" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "SKILL.md").symlink_to("/etc/passwd")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "Skill.md").write_bytes(doc(BASE))

    assert our_errors(tmp_path / "a") == {"skill-md-not-a-file"}
    assert our_errors(tmp_path / "b") == {"entry-symlink"}
    assert our_errors(tmp_path / "c") == {"skill-md-missing"}
    assert our_errors(tmp_path / "none") == {"not-a-folder"}


def test_findings_name_their_line(tmp_path: Path) -> None:
    yaml = "name: demo\ndescription: Does.\ncompatibility:\n  - a\nlabels: x\n"
    data = doc(yaml, "\nSee [x](gone.md).\n")

    lines = {
        finding.code: finding.line for finding in check_folder(written(tmp_path, data)).findings
    }

    assert lines == {
        "compatibility-not-text": 4,
        "frontmatter-unknown-key": 6,
        "reference-missing": 9,
    }


def test_a_yaml_error_names_its_line(tmp_path: Path) -> None:
    (finding,) = check_folder(written(tmp_path, AGREED["unquoted colon"])).findings

    assert (finding.code, finding.line) == ("frontmatter-invalid-yaml", 3)


def test_the_corpus_is_large_enough() -> None:
    assert len(AGREED) >= 40
