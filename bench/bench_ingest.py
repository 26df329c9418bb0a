"""Uploads: the format check beside the reference library, and the answer beside a bare endpoint."""

import asyncio
import io
import statistics
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
from skills_ref.validator import validate  # type: ignore[import-untyped]

from assay_cli.embedded.stack import Stack
from assay_skillkit.check import check_folder
from bench.bare import bare_app, held, quantile
from bench.report import Bench

EXAMPLES = Path(__file__).parents[1] / "examples/skills"
CHECK_ROUNDS = 30
AT_ONCE = 10
WARM_UP_WAVES = 3
WAVES = 20
CROWD = 100
UPLOAD = "/api/admin/skills/upload"
BARE = """
from fastapi import FastAPI, UploadFile

app = FastAPI()

@app.post("/upload")
async def upload(file: UploadFile) -> dict[str, int]:
    return {"size": len(await file.read())}
"""
FRONTMATTER = (
    "name: {name}\ndescription: Counts the words of a text file.\n",
    "name: {name}\ndescription: 'Counts: words, and lines.'\nlicense: MIT\n",
    "name: {name}\ndescription: >-\n  Counts the words\n  of a text file.\n",
    "name: {name}\ndescription: Counts.\nmetadata:\n  author: me\n  version: '1.0'\n",
    'name: {name}\ndescription: "Zählt Wörter 技"\ncompatibility: Linux\n',
)


async def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bench-", ignore_cleanup_errors=True) as folder:
        check_beside_reference(bench, Path(folder))
        async with (
            Stack(Path(folder) / "data") as stack,
            bare_app(BARE, Path(folder)) as bare_url,
            httpx.AsyncClient(base_url=bare_url, timeout=120) as bare,
            httpx.AsyncClient(
                base_url=stack.url,
                headers={"Authorization": f"Bearer {stack.admin_token}"},
                timeout=120,
                limits=httpx.Limits(max_connections=CROWD),
            ) as ours,
        ):
            # What uploads set off would take the processors from what is measured here.
            with held(stack.pid("judge"), stack.pid("sandbox-runner")):
                ratio = await answer_beside_bare_endpoint(bench, ours, bare, "at rest")
                bench.hold("upload to answer at p50, times the bare endpoint", ratio, 4.0, "x")
                await a_crowd(bench, ours)
            ratio = await answer_beside_bare_endpoint(bench, ours, bare, "validating")
            bench.show("the same while validations take the processors", f"{ratio:.2f} x")


# -- the check -------------------------------------------------------------------------------------


def check_beside_reference(bench: Bench, folder: Path) -> None:
    skills = [path.parent for path in sorted(EXAMPLES.glob("*/SKILL.md"))]
    for number, frontmatter in enumerate(FRONTMATTER):
        skill = folder / "skills" / f"words-{number}"
        skill.mkdir(parents=True)
        fields = frontmatter.format(name=skill.name)
        (skill / "SKILL.md").write_text(f"---\n{fields}---\n# Words\n\nCount them.\n")
        skills.append(skill)

    def checked(skill: Path) -> bool:
        return not check_folder(skill).errors

    def validated(skill: Path) -> bool:
        return not validate(skill)

    ours: list[float] = []
    reference: list[float] = []
    for _ in range(CHECK_ROUNDS):
        ours.append(_seconds(checked, skills))
        reference.append(_seconds(validated, skills))
    each = 1e3 / len(skills)
    bench.show("check of a folder, skills-ref", f"{statistics.median(reference) * each:.2f} ms")
    bench.show("check of a folder, assay", f"{statistics.median(ours) * each:.2f} ms")
    ratio = statistics.median(ours) / statistics.median(reference)
    bench.hold("check of a folder, times skills-ref", ratio, 1.0, "x")


def _seconds(is_sound: Callable[[Path], bool], skills: list[Path]) -> float:
    began = time.perf_counter()
    sound = [is_sound(skill) for skill in skills]
    took = time.perf_counter() - began
    assert all(sound)
    return took


# -- the answer ------------------------------------------------------------------------------------


async def answer_beside_bare_endpoint(
    bench: Bench, ours: httpx.AsyncClient, bare: httpx.AsyncClient, state: str
) -> float:
    """The ratio at p50; in turns, so that what else this machine does is done to both."""
    answers: list[float] = []
    reads: list[float] = []
    for wave in range(WARM_UP_WAVES + WAVES):
        contents = [small_skill(f"{state.replace(' ', '-')}-{wave}-{n}") for n in range(AT_ONCE)]
        read = await at_once(bare, "/upload", contents)
        answered = await at_once(ours, UPLOAD, contents)
        if wave >= WARM_UP_WAVES:
            reads += read
            answers += answered
    for name, times in (("bare endpoint", reads), (f"assay {state}", answers)):
        p50, p95 = (1e3 * quantile(times, q) for q in (0.5, 0.95))
        bench.show(f"{AT_ONCE} uploads at once, {name}", f"p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    return quantile(answers, 0.5) / quantile(reads, 0.5)


async def at_once(http: httpx.AsyncClient, path: str, contents: list[bytes]) -> list[float]:
    async def upload(content: bytes) -> float:
        began = time.perf_counter()
        answer = await http.post(path, files={"file": ("s.zip", content, "application/zip")})
        took = time.perf_counter() - began
        assert answer.status_code == httpx.codes.OK, answer.text
        return took

    return await asyncio.gather(*(upload(content) for content in contents))


async def a_crowd(bench: Bench, ours: httpx.AsyncClient) -> None:
    """A third is new, a third has a name in use, a third is broken."""
    taken = small_skill("taken")
    await at_once(ours, UPLOAD, [taken])
    kinds = [n % 3 for n in range(CROWD)]
    contents = [
        (small_skill(f"crowd-{n}"), taken, small_skill(f"Crowd-{n}"))[kind]
        for n, kind in enumerate(kinds)
    ]
    began = time.perf_counter()
    answers = await asyncio.gather(
        *(ours.post(UPLOAD, files={"file": ("s.zip", content)}) for content in contents)
    )
    took = time.perf_counter() - began
    bench.show(f"{CROWD} uploads at once, all answered after", f"{took:.2f} s")
    expected = {0: 200, 1: 409, 2: 400}
    right = sum(
        answer.status_code == expected[kind] for answer, kind in zip(answers, kinds, strict=True)
    )
    bench.reach("answered right", right, CROWD, f"of {CROWD}")


def small_skill(name: str) -> bytes:
    fields = FRONTMATTER[0].format(name=name)
    body = "# Words\n\n```bash\npython3 scripts/count.py notes.txt\n```\n"
    script = "import sys\nprint(len(open(sys.argv[1]).read().split()))\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/SKILL.md", f"---\n{fields}---\n{body}")
        archive.writestr(f"{name}/scripts/count.py", script)
    return buffer.getvalue()
