"""Takes every skill below a folder through lint and validation, without a language model.

    python -m tests.corpus.validate FOLDER [--out FILE] [--earlier FILE] [--only NAME...]

Prints a table of verdicts, causes, coverage and times; where the folder has a `truth.toml`, also
which verdicts are wrong. `--out` keeps the rows as JSON, `--earlier` compares with such a file.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.agents.conftest import Platform, files_below

from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_skillkit.check import check_folder

AT_ONCE = 4
COMMAND_SECONDS = 30.0
REASON_SHOWN = 150


@dataclass(frozen=True)
class Row:
    """One skill, and what came of it."""

    skill: str
    verdict: str
    """`refused` where the format check does."""
    reason: str
    errors: int
    warnings: int
    exercised: int
    documented: int
    trigger: float | None
    seconds: float
    right: bool | None
    """Whether the verdict is what the label says; none without a label."""


async def validate(
    folder: Path, provider: BubblewrapProvider, scratch: Path, truth: Mapping[str, Any]
) -> Row:
    began = time.perf_counter()
    linted = await asyncio.to_thread(check_folder, folder)
    counts = Counter(finding.severity for finding in linted.findings)
    verdict, reason, report = "refused", "; ".join(f.message for f in linted.errors), None
    if not linted.errors:
        platform = Platform(folder=scratch, provider=provider, command_seconds=COMMAND_SECONDS)
        report = (await platform.validate(folder.name, files_below(folder))).report
        verdict, reason = report.verdict, report.reason
    coverage = report.coverage if report else None
    return Row(
        skill=folder.name,
        verdict=verdict,
        reason=reason,
        errors=counts["error"],
        warnings=counts["warning"],
        exercised=coverage.exercised if coverage else 0,
        documented=coverage.total if coverage else 0,
        trigger=report.scores.trigger if report and report.scores else None,
        seconds=round(time.perf_counter() - began, 1),
        right=is_right(verdict, truth) if truth else None,
    )


def is_right(verdict: str, truth: Mapping[str, Any]) -> bool:
    """Whether a verdict is what is true of the skill, or rightly inconclusive."""
    if verdict in (truth["rehearsal"], truth.get("met")):
        return True
    return verdict == "inconclusive" and "rightly_inconclusive" in truth


async def validate_all(folders: Sequence[Path], truths: Mapping[str, Any]) -> list[Row]:
    slots = asyncio.Semaphore(AT_ONCE)
    with tempfile.TemporaryDirectory(prefix="assay-corpus-") as scratch:
        provider = BubblewrapProvider(Path(scratch) / "sandboxes")

        async def one(folder: Path) -> Row:
            async with slots:
                row = await validate(
                    folder, provider, Path(scratch) / folder.name, truths.get(folder.name, {})
                )
            print(shown(row), flush=True)  # noqa: T201
            return row

        return list(await asyncio.gather(*map(one, folders)))


def shown(row: Row) -> str:
    mark = {True: " ", False: "!", None: " "}[row.right]
    trigger = "-" if row.trigger is None else f"{row.trigger:g}"
    return (
        f"{mark} {row.skill:32.32} {row.verdict:12} {row.exercised:>3} of {row.documented:<4}"
        f"{trigger:>5} {row.errors}/{row.warnings:<3}{row.seconds:6.1f} s  "
        f"{row.reason[:REASON_SHOWN]}"
    )


def summary(rows: Sequence[Row]) -> str:
    verdicts = Counter(row.verdict for row in rows)
    judged = [row for row in rows if row.right is not None]
    right = sum(bool(row.right) for row in judged)
    share = f"; {right} of {len(judged)} as labelled" if judged else ""
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    exercised = sum(row.exercised for row in rows)
    documented = sum(row.documented for row in rows)
    return f"{len(rows)} skills: {told}{share}; {exercised} of {documented} documented items tried"


def differences(rows: Sequence[Row], earlier: Sequence[Mapping[str, Any]]) -> list[str]:
    before = {str(each["skill"]): each for each in earlier}
    return [
        f"{row.skill}: {before[row.skill]['verdict']} → {row.verdict}: {row.reason[:REASON_SHOWN]}"
        for row in rows
        if row.skill in before and before[row.skill]["verdict"] != row.verdict
    ]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--earlier", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args(arguments)
    labels = given.folder / "truth.toml"
    truths = tomllib.loads(labels.read_text()).get("skills", {}) if labels.is_file() else {}
    folders = [path.parent for path in sorted(given.folder.rglob("SKILL.md"))]
    chosen = [each for each in folders if not given.only or each.name in given.only]
    rows = asyncio.run(validate_all(chosen, truths))
    print(summary(rows))  # noqa: T201
    if given.earlier:
        changed = differences(rows, json.loads(given.earlier.read_text()))
        print("\n".join(changed) or "No verdict has changed.")  # noqa: T201
    if given.out:
        given.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 1 if any(row.right is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
