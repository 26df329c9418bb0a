"""Whatever arrives, the answer is findings, never an exception."""

import io

import strictyaml  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay_skillkit.bundle import write_bundle
from assay_skillkit.check import CheckedSkill, check_archive
from assay_skillkit.rules import RULES
from assay_skillkit.skill_md.plain_yaml import read_plain_yaml
from assay_skillkit.skill_md.read import read_skill_md
from assay_testkit.archives import FOLDER, SKILL_MD, Entry, descriptor, raw_zip, skill_zip

QUICK = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SEEDS = (
    skill_zip(Entry(name="demo/x.py", data=b"print('hello')\n" * 20)),
    skill_zip(
        Entry(name="demo/d/", mode=FOLDER, method=0), Entry(name="demo/d/y", data=b"y", method=0)
    ),
    skill_zip(Entry(name="demo/x", data=b"xyz", flags=8, after=descriptor(b"xyz", 5))),
    raw_zip(Entry(name="SKILL.md", data=SKILL_MD), comment=b"hello"),
    skill_zip(Entry(name="demo/in.zip", data=raw_zip(Entry(name="a", data=b"a")), method=0)),
)


def is_sound(checked: CheckedSkill) -> None:
    assert all(finding.code in RULES for finding in checked.findings)
    assert (checked.manifest is None) == bool(checked.errors)
    for finding in checked.findings:
        finding.model_dump_json()
    if checked.manifest is not None and checked.files is not None:
        checked.manifest.model_dump_json()
        bundle = io.BytesIO()
        write_bundle(checked.files, checked.manifest.name, bundle)
        assert not check_archive(bundle).errors


@QUICK
@given(
    seed=st.sampled_from(SEEDS),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=4)), min_size=1, max_size=6
    ),
    cut=st.floats(0.5, 1),
)
def test_damaged_archives(seed: bytes, edits: list[tuple[float, bytes]], cut: float) -> None:
    data = bytearray(seed)
    for place, patch in edits:
        at = int(place * (len(data) - len(patch)))
        data[at : at + len(patch)] = patch
    kept = len(data) if cut > 0.75 else int(len(data) * cut)

    is_sound(check_archive(io.BytesIO(bytes(data[:kept]))))


@QUICK
@given(data=st.binary(max_size=200), start=st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06"]))
def test_noise(data: bytes, start: bytes) -> None:
    is_sound(check_archive(io.BytesIO(start + data)))


@QUICK
@given(
    names=st.lists(st.binary(max_size=20) | st.text(max_size=20), max_size=4),
    mode=st.integers(0, 0xFFFF),
    flags=st.integers(0, 0xFFFF),
    method=st.sampled_from([0, 8, 9, 12]),
)
def test_odd_entries(names: list[str | bytes], mode: int, flags: int, method: int) -> None:
    entries = [
        Entry(
            name=name if isinstance(name, bytes) else name.encode("utf-8", "replace"),
            data=b"x",
            mode=mode,
            flags=flags,
            method=method,
        )
        for name in names
    ]
    is_sound(check_archive(io.BytesIO(skill_zip(*entries))))


YAML_PIECES = st.sampled_from(
    (
        *("name: demo", "description: x", "dependencies:", "metadata:", "tags: [a]", "x: {b: c}"),
        *("\n", "\n  ", "  ", "\t", "- ", "? ", ": ", "[", "]", "{", "}", "&a ", "*a", "<<: *a"),
        *("!!", "|", ">", "'", '"', "#", "%", "@", "`", "---", "...", "<<", "~", "=", "\\"),
        *("\x00", "\x85", "é", "\u2028", "\ufeff", '"\\ud800"'),
    )
)


@QUICK
@given(pieces=st.lists(YAML_PIECES | st.text(max_size=6), max_size=25))
def test_odd_frontmatter(pieces: list[str]) -> None:
    text = "---\nname: demo\n" + "".join(pieces) + "\n---\nBody\n"
    data = text.encode("utf-8", "surrogatepass")

    is_sound(check_archive(io.BytesIO(skill_zip(skill_md=data))))


ROWS = st.builds(
    "{}{}:{}{}{}".format,
    st.sampled_from(["", "", "  ", "   "]),
    st.sampled_from(["name", "description", "a", "b", "a-b", "metadata", "1", "true"]),
    st.sampled_from(["", " ", "  ", "\t"]),
    st.sampled_from(
        ["", "'{}'", '"{}"', "null", "1e3", "2024-01-01", "0x1F", "a, b", "~", "y", "=", "'", "a'b"]
    )
    | st.text("aA1é技 .,;!?()'\"/+*&%=<>@$^~|-:#\\[]{}`\u00a0\u0301", max_size=8),
    st.sampled_from(["", "", " ", " # c", "  "]),
)


@QUICK
@given(rows=st.lists(ROWS, min_size=1, max_size=5))
def test_plain_frontmatter_is_read_as_strict_yaml_reads_it(rows: list[str]) -> None:
    yaml = "\n" + "\n".join(rows) + "\n"

    plain = read_plain_yaml(yaml)

    if plain is not None:
        assert plain[0] == strictyaml.load(yaml).data


@QUICK
@given(data=st.binary(max_size=300))
def test_odd_bytes_for_skill_md(data: bytes) -> None:
    for start in (b"", b"---\n", b"---\nname: demo\ndescription: x\n"):
        read_skill_md(start + data, folder="demo")
