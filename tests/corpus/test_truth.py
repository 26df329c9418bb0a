"""The corpus is what its labels say: every recipe is followed in a copy of its skill."""

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tomllib
import wave
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parent
TRUTH: Mapping[str, Mapping[str, Any]] = tomllib.loads((CORPUS / "truth.toml").read_text())
SKILLS: Mapping[str, dict[str, Any]] = TRUTH["skills"]
FOLLOWED = sorted(name for name, truth in SKILLS.items() if "follow" in truth)

AT_ONCE = 4
VERDICTS = {"passed", "failed", "inconclusive"}
REQUIRED = {
    "is": str,
    "shape": str,
    "shows": list,
    "documents_commands": bool,
    "works_for_a_person": bool | str,
    "needs": list,
    "rehearsal": str,
    "model": str,
}
OPTIONAL = {
    "ask": str,
    "cause": str,
    "cause_also": list,
    "rightly_inconclusive": str,
    "met": str,
    "network": str,
    "defects": list,
    "model_cause": str,
    "follow": list,
    "inputs": list,
    "expect": list,
    "makes": list,
    "ends": int,
    "documented": str,
}
BROKEN_WHEN_RUN = {
    "bad-flag",
    "crash",
    "hang",
    "missing-file",
    "syntax-error",
    "undeclared-dependency",
    "wrong-output",
}
PROGRAMS = ("git", "node", "npm")
"""What a recipe may need besides Python, bash and coreutils."""


def format_errors(folder: Path) -> list[str]:
    """What the format check refuses in a skill."""
    from assay_skillkit.check import check_folder

    return [finding.message for finding in check_folder(folder).errors]


# -- the labels ------------------------------------------------------------------------------------


def test_every_skill_has_its_truth_and_the_other_way_round() -> None:
    folders = {path.parent.name for path in CORPUS.glob("*/SKILL.md")}

    assert folders == set(SKILLS)
    assert folders == {path.name for path in CORPUS.iterdir() if path.is_dir()} - {"__pycache__"}
    assert len(folders) >= 64


def test_every_shape_is_there_often_enough() -> None:
    shapes = Counter(truth["shape"] for truth in SKILLS.values())

    assert shapes["works"] >= 24
    assert shapes["broken"] >= 12
    assert shapes["words"] >= 12
    assert shapes["precondition"] >= 12
    assert shapes["packages"] >= 6
    assert shapes["network"] >= 3
    assert shapes["limit"] >= 3


@pytest.mark.parametrize("vocabulary", ["shapes", "causes", "defects", "needs", "shows"])
def test_every_word_is_explained_and_used(vocabulary: str) -> None:
    keys = {
        "shapes": ("shape",),
        "causes": ("cause", "cause_also", "model_cause"),
        "defects": ("defects",),
        "needs": ("needs",),
        "shows": ("shows",),
    }[vocabulary]
    used: set[str] = set()
    for truth in SKILLS.values():
        for key in keys:
            value = truth.get(key, [])
            used.update([value] if isinstance(value, str) else value)

    assert used == set(TRUTH[vocabulary])


@pytest.mark.parametrize("name", sorted(SKILLS))
def test_the_format_is_right(name: str) -> None:
    assert format_errors(CORPUS / name) == []


@pytest.mark.parametrize("name", sorted(SKILLS))
def test_a_label_is_whole(name: str) -> None:
    truth = SKILLS[name]

    assert set(REQUIRED) <= set(truth) <= set(REQUIRED) | set(OPTIONAL)
    for key, kind in (REQUIRED | OPTIONAL).items():
        assert isinstance(truth.get(key, kind() if isinstance(kind, type) else ""), kind), key
    assert {truth["rehearsal"], truth["model"], truth.get("met", "passed")} <= VERDICTS
    assert ("cause" in truth) == (truth["rehearsal"] != "passed")
    assert ("model_cause" in truth) == (truth["model"] != "passed")
    assert truth.get("network", "none") in {"none", "fallback", "calls-home", "needed"}


@pytest.mark.parametrize("name", sorted(SKILLS))
def test_a_label_agrees_with_itself(name: str) -> None:
    truth = SKILLS[name]
    works, needs = truth["works_for_a_person"], set(truth["needs"])

    if truth["rehearsal"] == "passed":
        assert works is True
        assert truth["documents_commands"]
    if not truth["documents_commands"]:
        assert truth["cause"] == "nothing-to-try"
    if needs - set(PROGRAMS):
        assert truth["rehearsal"] == "inconclusive"
    if isinstance(works, str):
        assert works.startswith("needs ")
        assert needs - set(PROGRAMS)
    if works is True and truth["documents_commands"]:
        assert "follow" in truth, "a skill that works is followed"
    if truth["rehearsal"] == "failed" and truth["cause"] in BROKEN_WHEN_RUN:
        assert "follow" in truth, "a skill that is broken is seen to be"
    assert ("documented" in truth) == (truth.get("cause") == "wrong-output")
    if "ask" in truth:
        assert name not in truth["ask"].lower()
    manual = (CORPUS / name / "SKILL.md").read_text()
    for script in re.findall(r"scripts/[\w.-]+", "\n".join(truth.get("follow", ()))):
        assert script in manual, "a recipe runs what is documented"


# -- the recipes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def followed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[tuple[Path, int, str]]]]:
    """The recipes of the chosen tests, several at a time."""
    wanted = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if item.path == request.path
        and isinstance(item, pytest.Function)
        and "followed" in item.fixturenames
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(follow, name, tmp_path_factory.mktemp(name) / name) for name in wanted
        }


@pytest.mark.parametrize("name", FOLLOWED)
def test_following_it_shows_what_its_label_says(
    name: str, followed: Mapping[str, Future[tuple[Path, int, str]]]
) -> None:
    truth = SKILLS[name]
    missing = [tool for tool in PROGRAMS if tool in truth["needs"] and shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not on this machine")
    folder, code, output = followed[name].result()

    assert code == truth.get("ends", 0), output
    for text in truth.get("expect", ()):
        assert text in output
    for path in truth.get("makes", ()):
        assert (folder / path).stat().st_size > 0, output
    if "documented" in truth:
        assert truth["documented"] in (CORPUS / name / "SKILL.md").read_text()
        assert truth["documented"] not in output


def follow(name: str, folder: Path) -> tuple[Path, int, str]:
    """Carry out a skill's recipe in a copy of it; the copy, the exit code and the output."""
    truth = SKILLS[name]
    shutil.copytree(CORPUS / name, folder)
    for path in truth.get("inputs", ()):
        make_sample(folder / path)
    home = folder.parent / "home"
    home.mkdir()
    # The interpreter below the virtual environment: what we installed is not there for skills.
    python = Path(sys.executable).resolve().parent
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(truth["follow"])],
        cwd=folder,
        env={
            "PATH": f"{python}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PORT": str(free_port()),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_UPDATE_NOTIFIER": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return folder, done.returncode, done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_sample(path: Path) -> None:
    """A small good file of the kind that the name asks for."""
    {".pdf": _pdf, ".docx": _docx, ".png": _png, ".wav": _wav}[path.suffix](path)


def _pdf(path: Path) -> None:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>",
        page,
        page,
    ]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(data)
    path.write_bytes(data + b"xref\n0 5\n0000000000 65535 f \n" + table + trailer)


def _docx(path: Path) -> None:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    heading = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>A heading</w:t></w:r></w:p>'
    )
    text = "<w:p><w:r><w:t>Some words.</w:t></w:r></w:p>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "word/document.xml",
            f"<w:document {space}><w:body>{heading}{text}</w:body></w:document>",
        )


def _png(path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)
    pixels = zlib.compress(2 * (b"\0" + 3 * b"\xc4\x51\x2d"))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def _wav(path: Path) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"".join(struct.pack("<h", (n % 80 - 40) * 200) for n in range(4000)))
