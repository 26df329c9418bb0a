"""What is read out of a sound skill: commands, references, dependencies, and the way back."""

import io
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_contracts.skills import Dependencies, SkillManifest
from assay_skillkit.check import CheckedSkill, check_archive
from assay_skillkit.commands import commands_as_written
from assay_skillkit.skill_md.markdown import read_markdown
from assay_skillkit.skill_md.read import read_skill_md
from assay_skillkit.skill_md.write import render_skill_md
from assay_testkit.archives import SKILL_MD, Entry, raw_zip

HEAD = "---\nname: demo\ndescription: Does a thing.\n"


def checked(skill_md: str | bytes, **files: bytes) -> CheckedSkill:
    data = skill_md if isinstance(skill_md, bytes) else skill_md.encode()
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    entries = (Entry(name=f"demo/{name}", data=text) for name, text in named.items())
    return check_archive(io.BytesIO(raw_zip(Entry(name="demo/SKILL.md", data=data), *entries)))


def manifest(skill_md: str | bytes, **files: bytes) -> SkillManifest:
    result = checked(skill_md, **files)
    assert result.manifest is not None, result.findings
    return result.manifest


def codes(result: CheckedSkill) -> list[str]:
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    ("body", "commands"),
    [
        ("```bash\npython a.py\n```", ["python a.py"]),
        ("```sh\n# setup\npip install x\n\nmake\n```", ["pip install x", "make"]),
        ("```console\n$ ls\na  b\n$ pwd\n/tmp\n```", ["ls", "pwd"]),
        ("```shell\nme@host:~/x$ ls\nout\n```", ["ls"]),
        ("```console\nls\npwd\n```", ["ls", "pwd"]),
        ("```bash\na \\\n  --b \\\n  --c\nd\n```", ["a \\\n  --b \\\n  --c", "d"]),
        ("```bash\ncat x |\n  wc\n```", ["cat x |\n  wc"]),
        ("```bash\ntest -f x &&\n  echo y\n```", ["test -f x &&\n  echo y"]),
        (
            "```bash\nfor f in *; do\n  echo $f\ndone\nls\n```",
            ["for f in *; do\n  echo $f\ndone", "ls"],
        ),
        ("```bash\nif a; then b; fi\nc\n```", ["if a; then b; fi", "c"]),
        ("```bash\ncat <<'EOF' > x\nfor me\nEOF\nls\n```", ["cat <<'EOF' > x\nfor me\nEOF", "ls"]),
        ('```bash\necho "a\nb"\nls\n```', ['echo "a\nb"', "ls"]),
        ("```bash\necho it\\'s # don't\nls\n```", ["echo it\\'s # don't", "ls"]),
        ("- step:\n\n  ```bash\n  ls\n  ```\n", ["ls"]),
        ("~~~bash\nls\n~~~", ["ls"]),
        ("````bash\nls\n```\npwd\n````", ["ls", "```", "pwd"]),
        ("```{.bash}\nls\n```", ["ls"]),
        ("```bash\nls", ["ls"]),
        ("```python\nprint(1)\n```\n```\nls\n```\n```json\n{}\n```", []),
        ("no code", []),
    ],
)
def test_documented_commands(body: str, commands: list[str]) -> None:
    assert list(commands_as_written(read_markdown(body))) == commands


def test_an_endless_block_is_read_once() -> None:
    started = time.monotonic()

    commands_as_written(read_markdown("```bash\n" + 'echo "\n' * 100_001 + "```"))

    assert time.monotonic() - started < 5


def test_references_to_files_that_are_not_there() -> None:
    body = """---
# Demo
[there](references/a.md) [gone](references/b.md#part "title") ![gone](img.png)
[web](https://example.com/x.md) [mail](mailto:a@b.c) [anchor](#x) [folder](references/)
[out](../other/x.md) `scripts/run.py` `python scripts/gone.py --x` `scripts/<name>.py`
`[no](link.md)` <references/plain.md>

```bash
python scripts/run.py in.csv out/report.md
python ./scripts/missing.py
```
"""
    result = checked(HEAD + body, references__a_dot_md=b"x", scripts__run_dot_py=b"print(1)\n")

    found = [(f.code, f.message.split("`")[1], f.line) for f in result.findings]
    assert sorted(found) == [
        ("reference-missing", "img.png", 6),
        ("reference-missing", "references/b.md", 6),
        ("reference-missing", "scripts/gone.py", 8),
        ("reference-missing", "scripts/missing.py", 13),
        ("reference-outside", "../other/x.md", 8),
    ]


def test_dependencies_from_everywhere() -> None:
    skill_md = (
        HEAD + "dependencies:\n  pip: ['rich>=13']\n  npm: [left-pad]\n  system: [jq]\n---\nHi\n"
    )
    requirements = (
        b"# needed\npandas>=2.0  # fast\n\nnumpy \\\n  ==1.26\n-r other.txt\npandas>=2.0\n"
    )
    package = b'{"dependencies": {"d3": "^7"}, "scripts": {"postinstall": "x"}}'

    result = checked(skill_md, requirements_dot_txt=requirements, package_dot_json=package)

    assert result.manifest is not None
    assert result.manifest.dependencies == Dependencies(
        pip=("pandas>=2.0", "numpy   ==1.26", "rich>=13"),
        npm=("d3@^7", "left-pad"),
        other=("system:jq",),
        declared_in={
            "pandas>=2.0": "requirements.txt",
            "numpy   ==1.26": "requirements.txt",
            "d3@^7": "package.json",
            "rich>=13": "SKILL.md",
            "left-pad": "SKILL.md",
        },
    )
    assert codes(result) == [
        "frontmatter-flow-style",
        "requirements-option",
        "package-json-install-script",
    ]


@pytest.mark.parametrize(
    ("yaml", "pip"),
    [
        ("dependencies: [pandas, numpy>=1.2]\n", ("pandas", "numpy>=1.2")),
        ("dependencies:\n  - pandas\n", ("pandas",)),
        ("dependencies: pandas, numpy\n", ("pandas", "numpy")),
        ("dependencies:\n  python:\n    - x\n", ("x",)),
        ("dependencies: ''\n", ()),
    ],
)
def test_dependencies_in_the_frontmatter(yaml: str, pip: tuple[str, ...]) -> None:
    assert manifest(f"{HEAD}{yaml}---\nHi\n").dependencies.pip == pip


def test_dependencies_that_make_no_sense() -> None:
    result = checked(f"{HEAD}dependencies:\n  - a: b\n---\nHi\n")

    assert codes(result) == ["dependencies-unclear"]


def test_dependencies_below_the_root_in_comments_and_in_documents() -> None:
    body = (
        "Hi\n\n```bash\nuv pip install -q 'rich>=13' tabulate --upgrade\nnpm i -g prettier\n"
        "pip install -r requirements.txt\npip install <package>\npip install your-package\n"
        "npm install\n```\n\nOr `pip3 install pyyaml`. Never pip install what you do not know.\n"
    )
    found = manifest(
        f"{HEAD}---\n{body}",
        scripts__requirements_dot_txt=b"pandas\npython>=3.9\njson\n",
        templates__requirements_dot_txt=b"django\n",
        tool__pyproject_dot_toml=b"[project]\nname = 'x'\ndependencies = ['tabulate>=0.9']\n",
        scripts__a_dot_py=b"# /// script\n# dependencies = [\n#   'httpx',\n# ]\n# ///\n",
        references__more_dot_md=b"```sh\nnpm install chalk@5\n```\n",
    ).dependencies

    assert set(found.pip) == {"pandas", "tabulate>=0.9", "httpx"}
    assert set(found.other) == {"python>=3.9", "json"}
    assert found.shown_pip == ("rich>=13", "pyyaml")
    assert found.shown_npm == ("prettier", "chalk@5")
    assert found.declared_in["pandas"] == "scripts/requirements.txt"
    assert found.declared_in["httpx"] == "scripts/a.py"
    assert found.declared_in["chalk@5"] == "references/more.md"


@pytest.mark.parametrize(
    "text",
    [b"[]", b"{", b"\xff", b"[" * 100_000, b'{"dependencies": {"a": 1}}', b"1" * 10_000, b"NaN"],
)
def test_a_broken_package_json_is_a_warning(text: bytes) -> None:
    assert codes(checked(SKILL_MD, package_dot_json=text)) == ["package-json-invalid"]


def test_python_imports_that_nothing_declares() -> None:
    script = (
        b"import os, sys\nimport pandas as pd\nfrom helpers import x\nfrom numpy.linalg import y\n"
    )

    result = checked(SKILL_MD, scripts__a_dot_py=script, scripts__helpers_dot_py=b"x = 1\n")

    (finding,) = result.findings
    assert finding.code == "requirements-missing"
    assert "`numpy`, `pandas`" in finding.message
    assert not codes(
        checked(
            SKILL_MD, a_dot_py=script.replace(b"helpers", b"json"), requirements_dot_txt=b"pandas\n"
        )
    )
    assert not codes(
        checked(SKILL_MD, a_dot_py=b'# /// script\n# dependencies = ["x"]\n# ///\nimport x\n')
    )


@pytest.mark.parametrize(
    ("body", "code"), [("", "body-empty"), ("\n \n", "body-empty"), ("x\n" * 501, "body-too-long")]
)
def test_a_body_that_is_empty_or_too_long(body: str, code: str) -> None:
    assert codes(checked(f"{HEAD}---\n{body}")) == [code]


def test_a_body_of_500_lines_is_fine() -> None:
    result = checked(f"{HEAD}---\n" + "x\n" * 500)

    assert codes(result) == []
    assert result.manifest is not None
    assert result.manifest.body_lines == 500


def test_hidden_text_is_warned_of() -> None:
    assert codes(checked(f"{HEAD}---\nHi\U000e0041\n")) == ["skill-md-hidden-text"]


def test_the_manifest_holds_what_was_declared() -> None:
    skill_md = (
        HEAD
        + "license: MIT\ncompatibility: Linux\nallowed-tools:\n  - Bash\n  - Read\n"
        + "metadata:\n  a: b\nversion: 1.0\ntags:\n  - x\n  - y\n---\n```sh\nls\n```\n"
    )

    found = manifest(skill_md, data__x_dot_csv=b"1,2\n")

    assert found.license == "MIT"
    assert found.compatibility == "Linux"
    assert found.allowed_tools == "Bash Read"
    assert found.metadata == {"a": "b"}
    assert found.other_fields == {"version": "1.0", "tags": '["x", "y"]'}
    assert found.body_lines == 3
    assert found.size == len(skill_md) + 4
    assert found.commands == ("ls",)
    assert [(file.path, file.size) for file in found.files] == [
        ("SKILL.md", len(skill_md)),
        ("data/x.csv", 4),
    ]


TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t:#'\"[]{}-&*!|>%@`,?"),
    min_size=1,
    max_size=60,
).filter(lambda text: text.strip() == text and text.strip() != "")


@settings(max_examples=200, deadline=None)
@given(
    description=TEXT,
    license=TEXT | st.none(),
    metadata=st.dictionaries(TEXT.filter(lambda key: "\n" not in key), TEXT, max_size=3),
    body=TEXT,
)
def test_a_rendered_skill_md_reads_back_as_its_parts(
    description: str,
    license: str | None,  # noqa: A002 - the field's own name
    metadata: dict[str, str],
    body: str,
) -> None:
    text = render_skill_md(
        name="demo", description=description, license=license, metadata=metadata, body=body
    )

    found = read_skill_md(text.encode(), folder="demo")

    assert not [finding for finding in found.findings if finding.severity == "error"]
    assert (found.name, found.description, found.license) == ("demo", description, license)
    assert found.metadata == metadata
    assert found.body.strip("\n") == body
