"""What is installed, and what is there from the start, alike in every sandbox."""

from assay_sandboxes.conformance.under_test import MADE_UP, NOTES, ProviderUnderTest
from assay_sandboxes.port import SEALED_AT


async def installed_packages_are_listed(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        assert MADE_UP not in await sandbox.packages()
        assert (await sandbox.execute(subject.dialect.install("made-up", "1.2.3"))).exit_code == 0
        after = await sandbox.packages()
        assert MADE_UP in after
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


async def an_environment_is_there_from_the_start(subject: ProviderUnderTest) -> None:
    environment = await subject.environment()
    async with subject.open(environment=environment) as sandbox:
        assert MADE_UP in await sandbox.packages()
        assert await sandbox.download([NOTES]) == [b"kept"]
        proof = sandbox.proof()
        assert (proof.base, proof.environment) == (environment.name, environment.digest)
    async with subject.open() as sandbox:
        assert MADE_UP not in await sandbox.packages()


async def what_came_later_is_told_from_the_environment(subject: ProviderUnderTest) -> None:
    async with subject.open(environment=await subject.environment()) as sandbox:
        await sandbox.upload([("/home/agent/new.txt", b"later")])
        files = {file.path: file for file in await sandbox.home_files()}
    assert files["new.txt"].size == len(b"later")
    assert files["new.txt"].changed_at != SEALED_AT
    assert files["notes/tool.txt"].changed_at == SEALED_AT


async def a_sandbox_does_not_change_the_environment_it_started_from(
    subject: ProviderUnderTest,
) -> None:
    async with subject.open(environment=await subject.environment()) as sandbox:
        assert await sandbox.upload([(NOTES, b"changed")]) == [None]
        assert await sandbox.download([NOTES]) == [b"changed"]
    async with subject.open(environment=await subject.environment()) as sandbox:
        assert await sandbox.download([NOTES]) == [b"kept"]


async def the_base_is_known_by_what_it_has(subject: ProviderUnderTest) -> None:
    base = await subject.provider.base()
    assert base == await subject.provider.base()
    assert "python3" in base.commands
    assert base.name.startswith(f"{subject.provider.kind}:")


async def skills_are_those_of_now_and_not_those_of_before(subject: ProviderUnderTest) -> None:
    (subject.skills / "parter" / "scripts").mkdir(parents=True)
    (subject.skills / "parter" / "scripts" / "bye.sh").write_text("echo bye")
    environment = await subject.environment()
    async with subject.open(environment=environment) as sandbox:
        assert (await sandbox.execute("cat skills/parter/scripts/bye.sh")).stdout == "echo bye"
    (subject.skills / "parter" / "scripts" / "bye.sh").unlink()
    (subject.skills / "greeter" / "SKILL.md").write_text("# Greeter, second edition\n")
    async with subject.open(environment=environment) as sandbox:
        assert (await sandbox.execute("cat skills/greeter/SKILL.md")).stdout == (
            "# Greeter, second edition\n"
        )
        assert (await sandbox.execute("cat skills/parter/scripts/bye.sh")).exit_code != 0
