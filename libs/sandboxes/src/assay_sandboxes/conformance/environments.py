"""What is installed, and how snapshots keep it, alike in every sandbox."""

from assay_contracts.runs import Package
from assay_sandboxes.conformance.expectations import Raises
from assay_sandboxes.conformance.under_test import ProviderUnderTest
from assay_sandboxes.port import FileError, SandboxUnavailable, SnapshotMissing


async def installed_packages_are_listed(subject: ProviderUnderTest) -> None:
    package = Package(ecosystem="pip", name="made-up", version="1.2.3")
    async with subject.open() as sandbox:
        assert package not in await sandbox.packages()
        assert (await sandbox.execute(subject.dialect.install("made-up", "1.2.3"))).exit_code == 0
        after = await sandbox.packages()
        assert package in after
        assert list(after) == list(await sandbox.packages())


async def packages_say_what_they_need_as_far_as_it_applies(subject: ProviderUnderTest) -> None:
    needs = (
        "Below_It>=1,<2",
        'beside[x]; extra == "more"',
        'never; sys_platform == "no-such-platform"',
        'always; python_version >= "3"',
    )
    async with subject.open() as sandbox:
        await sandbox.execute(subject.dialect.install("top", "1.0", *needs))
        (top,) = [package for package in await sandbox.packages() if package.name == "top"]
    assert top.requires == ("Below_It<2,>=1", 'beside[x]; extra == "more"', "always")


async def of_one_package_the_newest_installation_counts(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        for version in ("1.0", "2.0"):
            await sandbox.execute(subject.dialect.install("made-up", version))
        versions = [p.version for p in await sandbox.packages() if p.name == "made-up"]
        assert versions == ["2.0"]


async def a_snapshot_keeps_what_was_installed(subject: ProviderUnderTest) -> None:
    package = Package(ecosystem="pip", name="made-up", version="1.2.3")
    async with subject.open() as sandbox:
        await sandbox.execute(subject.dialect.install("made-up", "1.2.3"))
        await sandbox.upload([("/home/agent/notes/tool.txt", b"kept")])
        await sandbox.snapshot("candidate")
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"
    async with subject.open(base="candidate") as sandbox:
        assert package in await sandbox.packages()
        assert await sandbox.download(["/home/agent/notes/tool.txt"]) == [b"kept"]
        assert sandbox.proof().base == "candidate"


async def a_snapshot_leaves_the_workspace_behind(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.upload([("/workspace/answer.txt", b"stale")])
        await sandbox.snapshot("candidate")
    async with subject.open(base="candidate") as sandbox:
        answer = await sandbox.download(["/workspace/answer.txt"])
        assert answer == [FileError("/workspace/answer.txt", "file_not_found")]


async def a_sandbox_does_not_change_the_snapshot_it_started_from(
    subject: ProviderUnderTest,
) -> None:
    async with subject.open() as sandbox:
        await sandbox.upload([("/home/agent/tool.txt", b"as kept")])
        await sandbox.snapshot("candidate")
    async with subject.open(base="candidate") as sandbox:
        await sandbox.upload([("/home/agent/tool.txt", b"changed")])
    async with subject.open(base="candidate") as sandbox:
        assert await sandbox.download(["/home/agent/tool.txt"]) == [b"as kept"]


async def a_snapshot_is_replaced_by_one_of_its_name(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        for content in (b"first", b"second"):
            await sandbox.upload([("/home/agent/tool.txt", content)])
            await sandbox.snapshot("candidate")
    async with subject.open(base="candidate") as sandbox:
        assert await sandbox.download(["/home/agent/tool.txt"]) == [b"second"]


async def a_snapshot_that_is_missing_is_said_to_be(subject: ProviderUnderTest) -> None:
    with Raises(SandboxUnavailable, "never-taken"):
        async with subject.open(base="never-taken"):
            raise AssertionError("it was opened")


async def a_deleted_snapshot_is_gone_and_may_be_deleted_again(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.snapshot("candidate")
    await subject.provider.delete_snapshot("candidate")
    await subject.provider.delete_snapshot("candidate")
    with Raises(SandboxUnavailable):
        async with subject.open(base="candidate"):
            raise AssertionError("it was opened")


async def only_a_snapshot_that_exists_can_be_kept(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.snapshot("candidate")
    await subject.provider.keep_snapshot("candidate")
    await subject.provider.delete_snapshot("candidate")
    with Raises(SnapshotMissing, "candidate"):
        await subject.provider.keep_snapshot("candidate")


async def skills_are_those_of_now_and_not_those_of_the_snapshot(subject: ProviderUnderTest) -> None:
    (subject.skills / "parter" / "scripts").mkdir(parents=True)
    (subject.skills / "parter" / "scripts" / "bye.sh").write_text("echo bye")
    async with subject.open() as sandbox:
        assert (await sandbox.execute("cat skills/parter/scripts/bye.sh")).stdout == "echo bye"
        await sandbox.snapshot("candidate")
    (subject.skills / "parter" / "scripts" / "bye.sh").unlink()
    (subject.skills / "greeter" / "SKILL.md").write_text("# Greeter, second edition\n")
    async with subject.open(base="candidate") as sandbox:
        assert (await sandbox.execute("cat skills/greeter/SKILL.md")).stdout == (
            "# Greeter, second edition\n"
        )
        assert (await sandbox.execute("cat skills/parter/scripts/bye.sh")).exit_code != 0
