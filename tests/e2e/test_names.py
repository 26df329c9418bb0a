"""Names in any script through the whole of Assay, from the upload to the download."""

import asyncio
import io
import os
import sys
import unicodedata
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from uuid import UUID

import pytest
import pytest_asyncio

from assay_cli.embedded.stack import Stack
from assay_testkit.servers import private_folder

if TYPE_CHECKING:
    from tests.e2e.conftest import Admin

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

ASSAY = Path(sys.executable).parent / "assay"
FRENCH, CHINESE = "données-csv", "技能"
COLUMNS = """\
import csv, json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
summary = {"lignes": len(rows), "colonnes": list(rows[0]) if rows else []}
with open(sys.argv[3], "w", encoding="utf-8") as file:
    json.dump(summary, file, ensure_ascii=False)
print(json.dumps(summary, ensure_ascii=False))
"""
LINES = """\
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
counts = {"行数": len(text.splitlines()), "字数": len(text)}
with open(sys.argv[3], "w", encoding="utf-8") as file:
    json.dump(counts, file, ensure_ascii=False)
print(json.dumps(counts, ensure_ascii=False))
"""
FRENCH_MD = f"""\
---
name: {FRENCH}
description: >-
  Compte les lignes et les colonnes d'un tableau CSV et écrit un résumé en JSON. À utiliser quand
  quelqu'un demande la taille ou les colonnes d'un tableau exporté.
---

# Résumer un tableau

Compter les lignes et nommer les colonnes d'un tableau exporté :

```bash
python3 scripts/résumer.py ventes.csv --output résumé.json
```

`ventes.csv` :

```csv
région,produit,quantité
nord,thé,12
sud,café,5
```
"""
CHINESE_MD = f"""\
---
name: {CHINESE}
description: 统计文本文件的行数和字数，并把统计结果写成报告。当有人想知道一篇文章有多长时使用。
---

# 统计文本

统计一个文本文件的行数和字数：

```bash
python3 scripts/统计.py 文章.txt --output 结果.json
```

`文章.txt`：

```text
春眠不觉晓
处处闻啼鸟
```
"""


def zipped(folder: str, skill_md: str, script: tuple[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{folder}/SKILL.md", skill_md)
        archive.writestr(f"{folder}/scripts/{script[0]}", script[1])
    return buffer.getvalue()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(
    open_admin: Callable[[Stack], AbstractAsyncContextManager["Admin"]],
) -> AsyncIterator["Admin"]:
    with private_folder() as data:
        async with Stack(data) as stack, open_admin(stack) as admin:
            yield admin


async def passed(admin: "Admin", content: bytes) -> UUID:
    skill_id = await admin.submit(content)
    status = await admin.ended(skill_id)
    assert status.verdict == "passed", await admin.markdown(skill_id)
    return skill_id


async def test_both_pass_and_each_is_tested_again_for_the_other(admin: "Admin") -> None:
    chinese = await passed(admin, zipped(CHINESE, CHINESE_MD, ("统计.py", LINES)))
    answer = await admin.http.post(f"/api/admin/skills/{chinese}/approve")
    assert answer.status_code == 200, answer.text

    # As macOS spells the folder: its letters and their accents apart.
    folder = unicodedata.normalize("NFD", FRENCH)
    french = await passed(admin, zipped(folder, FRENCH_MD, ("résumer.py", COLUMNS)))

    report = await admin.report(french)
    assert report.skill_name == FRENCH
    assert report.scores is not None
    assert report.scores.trigger == 100
    assert [run.kind for run in report.runs] == ["online", "offline"]
    assert {each.skill_name: each.passed for each in report.regressions} == {CHINESE: True}
    for run in report.runs:
        for outcome in run.outcomes:
            assert {use.skill for use in outcome.skills_used} == {FRENCH}
    assert all(CHINESE not in task.prompt for task in (await admin.report(chinese)).tasks)
    assert (await admin.markdown(french)).startswith(f"# PASSED: {FRENCH}")


@pytest.mark.parametrize("name", [FRENCH, CHINESE])
async def test_what_is_known_of_it_is_found_by_its_name(admin: "Admin", name: str) -> None:
    listed = (await admin.http.get("/api/admin/skills", params={"q": name})).json()["skills"]
    assert [skill["name"] for skill in listed] == [name]
    skill = f"/api/admin/skills/{listed[0]['skill_id']}"
    for form in ("json", "markdown", "html", "junit"):
        report = await admin.http.get(f"{skill}/report", params={"format": form})
        assert name in report.text
    bundle = await admin.http.get(f"{skill}/bundle")
    assert bundle.status_code == 200
    disposition = bundle.headers["content-disposition"]
    assert unquote(disposition.rpartition("''")[2]) == f"{name}-1.zip"
    with zipfile.ZipFile(io.BytesIO(bundle.content)) as archive:
        assert f"{name}/SKILL.md" in archive.namelist()


async def test_the_command_takes_it_in_any_spelling(admin: "Admin") -> None:
    process = await asyncio.create_subprocess_exec(
        *(ASSAY, "skills", "show", unicodedata.normalize("NFD", FRENCH)),
        env={
            "PATH": os.environ["PATH"],
            "ASSAY_URL": admin.stack.url,
            "ASSAY_ADMIN_TOKEN": admin.stack.admin_token,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert FRENCH in said.decode()
