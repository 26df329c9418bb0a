"""Small skills, an object store in memory, and a runner put together from real parts, for tests."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from assay_contracts.base import Result
from assay_contracts.runs import MountedSkill, RunFinished, RunKind, RunRequested, Trace
from assay_contracts.skills import BundleRef
from assay_contracts.tasks import (
    Check,
    CommandCheck,
    FileCheck,
    PatternCheck,
    Task,
    TaskFile,
)
from assay_contracts.topology import BucketName
from assay_contracts.validations import CleanupRequested, KeepRequested, ValidationProgressed
from assay_rehearsal.conversation import Policy
from assay_rehearsal.executor import executor_policy
from assay_rehearsal.model import REHEARSAL_MODEL, RehearsalModel
from assay_sandbox_runner.adapters.bundles import BundlesOnDisk
from assay_sandbox_runner.adapters.deepagents_backend import OUTPUT_BYTES
from assay_sandbox_runner.adapters.document_reader import read_documents
from assay_sandbox_runner.adapters.executor import DeepAgentsForRun
from assay_sandbox_runner.adapters.neighbours import builtin_neighbours
from assay_sandbox_runner.adapters.patterns import find_passages, find_pattern
from assay_sandbox_runner.adapters.tools import lay_out_tools
from assay_sandbox_runner.domain.package_managers import package_managers
from assay_sandbox_runner.ports import StoreFailed
from assay_sandbox_runner.use_cases.carry_out_run import CarryOutRun
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandbox_runner.use_cases.clean_sandbox import CleanSandboxes
from assay_sandbox_runner.use_cases.find_obstacles import FindObstacles
from assay_sandbox_runner.use_cases.find_other_versions import FindOtherVersions
from assay_sandbox_runner.use_cases.install_declared import InstallDeclared
from assay_sandbox_runner.use_cases.install_packages import InstallPackages
from assay_sandbox_runner.use_cases.read_results import ReadResults
from assay_sandbox_runner.use_cases.try_near_misses import TryNearMisses
from assay_sandbox_runner.use_cases.work_on_task import WorkOnTask
from assay_sandboxes.environments.environments import Environments
from assay_sandboxes.port import SKILLS, Limits, SandboxProvider
from assay_servicekit.objects import ObjectMissing
from assay_testkit.environments import FolderStore

SnapshotWork = TypeVar("SnapshotWork", CleanupRequested, KeepRequested)

VALIDATION: Final = UUID(int=1)
SKILL: Final = UUID(int=2)
SNAPSHOT_TTL: Final = timedelta(days=1)

MANUAL: Final = """---
name: word-counter
description: Counts the words and lines of a text file and writes the count to a report.
---

# Word counter

```bash
python3 scripts/count.py notes.txt --output report.txt
```
"""
SCRIPT: Final = """#!/usr/bin/env python3
import pathlib, sys
text = pathlib.Path(sys.argv[1]).read_text()
report = f"words: {len(text.split())}\\nlines: {len(text.splitlines())}\\n"
pathlib.Path(sys.argv[3]).write_text(report)
print(report, end="")
"""
PROMPT: Final = (
    "Count the words and lines of the text file `notes.txt`. Write them to `report.txt`."
)
NOTES: Final = TaskFile(path="notes.txt", content="one two three\nfour five\n")
COUNTED: Final[tuple[Check, ...]] = (
    FileCheck(path="report.txt"),
    PatternCheck(pattern=r"^words: 5$", path="report.txt"),
    PatternCheck(pattern="lines: 2"),
    CommandCheck(command="grep -q words report.txt"),
)
"""Pass once the notes were counted."""


def bundle_of(name: str, files: Mapping[str, str]) -> bytes:
    """A bundle as ingest makes them: files below one folder; what starts with `#!` can be run."""
    return zipped(name, {path: content.encode() for path, content in files.items()})


def zipped(name: str, files: Mapping[str, bytes]) -> bytes:
    """As `bundle_of`, of files that may hold anything."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{name}/{path}")
            entry.external_attr = (0o100755 if content.startswith(b"#!") else 0o100644) << 16
            archive.writestr(entry, content)
    return target.getvalue()


def wheel(name: str, version: str, source: str, *needs: str) -> bytes:
    """A wheel made by hand, so that nothing has to be built or fetched."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
    return buffer.getvalue()


@dataclass
class Store:
    """Bundles and traces in memory, and whatever progress was said."""

    objects: dict[str, bytes] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)
    progressed: list[ValidationProgressed] = field(default_factory=list)
    refuses_traces: bool = False

    def add_skill(
        self, name: str = "word-counter", manual: str = MANUAL, script: str = SCRIPT
    ) -> MountedSkill:
        """Store a skill with one script and say where it lies."""
        data = bundle_of(name, {"SKILL.md": manual, "scripts/count.py": script})
        return self.add_bundle(name, data)

    def add_bundle(self, name: str, data: bytes) -> MountedSkill:
        digest = hashlib.sha256(data).hexdigest()
        self.objects[digest] = data
        bundle = BundleRef(key=digest, sha256=digest, size=len(data))
        return MountedSkill(name=name, bundle=bundle)

    async def get(self, bucket: BucketName, key: str) -> bytes:
        self.reads.append(key)
        try:
            return self.objects[key]
        except KeyError as error:
            raise ObjectMissing(f"reading {bucket}/{key}") from error

    async def keep(self, key: str, trace: Trace) -> None:
        if self.refuses_traces:
            raise StoreFailed(f"writing traces/{key}: the store is full")
        self.traces[key] = trace

    async def say(self, progress: ValidationProgressed) -> None:
        self.progressed.append(progress)


@dataclass(frozen=True)
class Runner:
    """The run use case with a sandbox provider, a policy for its model, and a store in memory."""

    provider: SandboxProvider
    folder: Path
    store: Store = field(default_factory=Store)

    def use_case(
        self,
        policy: Policy = executor_policy,
        *,
        model_calls: int = 25,
        task_seconds: float = 60.0,
    ) -> CarryOutRun:
        managers = package_managers(skills=SKILLS)
        limits = Limits(output_bytes=OUTPUT_BYTES)
        bundles = BundlesOnDisk(self.store, self.folder)
        return CarryOutRun(
            provider=self.provider,
            environments=self.environments,
            bundles=bundles,
            neighbours=builtin_neighbours(),
            traces=self.store,
            progress=self.store.say,
            agents_for_run=DeepAgentsForRun(
                model=RehearsalModel(policy=policy), label=REHEARSAL_MODEL, model_calls=model_calls
            ),
            clean_sandboxes=self.clean_sandboxes(),
            work_on_task=WorkOnTask(
                check=CheckTask(find_pattern=find_pattern, seconds=10.0),
                read_results=ReadResults(
                    read_documents=read_documents, find_passages=find_passages
                ),
                find_obstacles=FindObstacles(limits=limits),
                bundles=bundles,
            ),
            try_near_misses=TryNearMisses(),
            install_packages=InstallPackages(managers=managers),
            install_declared=InstallDeclared(managers=managers, seconds=60.0),
            find_other_versions=FindOtherVersions(managers=managers),
            limits=limits,
            task_seconds=task_seconds,
            snapshot_ttl=SNAPSHOT_TTL,
        )

    @property
    def environments(self) -> Environments:
        """Those that runs leave, below the runner's folder."""
        return Environments(
            self.folder / "environments",
            FolderStore(self.folder / "store"),
            self.provider,
            time_to_live=SNAPSHOT_TTL,
        )

    def clean_sandboxes(self) -> CleanSandboxes:
        return CleanSandboxes(
            provider=self.provider,
            tools=lay_out_tools(self.folder),
            limits=Limits(output_bytes=OUTPUT_BYTES),
        )

    def mounts(self) -> list[Path]:
        """The folders of skills that runs have laid out and not yet removed."""
        return list((self.folder / "mounts").glob("*"))


def finished(result: Result) -> RunFinished:
    """The result of a run that the platform could carry out."""
    assert isinstance(result, RunFinished)
    assert result.failure is None
    return result


def a_task(
    task_id: str = "t1",
    *checks: Check,
    prompt: str = PROMPT,
    files: tuple[TaskFile, ...] = (NOTES,),
) -> Task:
    return Task(
        task_id=task_id,
        prompt=prompt,
        files=files,
        success_criterion="The report gives the right counts.",
        checks=checks,
    )


def a_run(
    kind: RunKind,
    *skills: MountedSkill,
    tasks: tuple[Task, ...],
    base: str | None = None,
    capture: str | None = None,
    time_limit_s: float = 60.0,
) -> RunRequested:
    return RunRequested(
        validation_id=VALIDATION,
        step_id=f"{VALIDATION}.{kind}",
        attempt=1,
        skill_id=SKILL,
        skill_name=skills[0].name if skills else "none",
        kind=kind,
        tasks=tasks,
        skills=skills,
        base=base,
        capture=capture,
        time_limit_s=time_limit_s,
    )


def about_snapshots(work: type[SnapshotWork], *snapshots: str) -> SnapshotWork:
    """Asks for snapshots to be deleted or kept."""
    return work(
        validation_id=VALIDATION,
        step_id=f"{VALIDATION}.snapshots",
        attempt=1,
        skill_id=SKILL,
        skill_name="word-counter",
        snapshots=snapshots,
    )
