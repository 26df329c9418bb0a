"""How files come and go, alike in every sandbox."""

from assay_sandboxes.conformance.under_test import LIMITS, ProviderUnderTest
from assay_sandboxes.port import FileError


async def files_come_back_as_they_were_sent(subject: ProviderUnderTest) -> None:
    files = [("/workspace/a.txt", b"text"), ("/workspace/b/c/d.bin", bytes(range(256)) * 999)]
    async with subject.open() as sandbox:
        assert await sandbox.upload([*files, ("/workspace/empty", b"")]) == [None, None, None]
        found = await sandbox.download([path for path, _ in files])
        assert found == [content for _, content in files]
        assert await sandbox.download(["/workspace/empty"]) == [b""]


async def commands_and_transfers_see_the_same_files(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.upload([("/workspace/in.txt", b"from outside")])
        assert (await sandbox.execute("cat in.txt")).stdout == "from outside"
        await sandbox.execute("echo from inside > out.txt")
        assert await sandbox.download(["/workspace/out.txt"]) == [b"from inside\n"]


async def a_file_is_replaced_whole(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.upload([("/workspace/a", b"a long first version")])
        await sandbox.upload([("/workspace/a", b"short")])
        assert await sandbox.download(["/workspace/a"]) == [b"short"]


async def each_file_that_cannot_be_read_says_why(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.upload([("/workspace/folder/file", b"x")])
        paths = ["/workspace/none", "/workspace/folder", "relative", "/workspace/folder/file"]
        assert await sandbox.download(paths) == [
            FileError("/workspace/none", "file_not_found"),
            FileError("/workspace/folder", "is_directory"),
            FileError("relative", "invalid_path"),
            b"x",
        ]


async def each_file_that_cannot_be_written_says_why(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.upload([("/workspace/folder/file", b"x")])
        too_large = bytes(LIMITS.file_bytes + 1)
        answers = await sandbox.upload(
            [
                ("relative", b""),
                ("/workspace/folder", b""),
                ("/workspace/large", too_large),
                ("/usr/bin/python3", b"mine now"),
                ("/workspace/fine", b"fine"),
            ]
        )
        problems = [answer and answer.problem for answer in answers]
        expected = ["invalid_path", "is_directory", "too_large", "permission_denied", None]
        assert problems == expected
        assert await sandbox.download(["/workspace/fine"]) == [b"fine"]


async def nothing_asked_is_nothing_answered(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        assert await sandbox.upload([]) == []
        assert await sandbox.download([]) == []


async def many_files_come_and_go_in_one_call(subject: ProviderUnderTest) -> None:
    files = [(f"/workspace/many/{number:03}.txt", b"%d" % number) for number in range(200)]
    async with subject.open() as sandbox:
        assert await sandbox.upload(files) == [None] * len(files)
        found = await sandbox.download([path for path, _ in reversed(files)])
    assert found == [content for _, content in reversed(files)]


async def a_file_as_large_as_may_be_survives(subject: ProviderUnderTest) -> None:
    content = bytes(range(256)) * (LIMITS.file_bytes // 256)
    async with subject.open() as sandbox:
        assert await sandbox.upload([("/workspace/large", content)]) == [None]
        assert await sandbox.download(["/workspace/large"]) == [content]


async def skills_are_there_to_read(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        found = await sandbox.execute("cat skills/greeter/SKILL.md")
        assert found.stdout == "# Greeter\n"
        assert await sandbox.download(["/workspace/skills/greeter/SKILL.md"]) == [b"# Greeter\n"]


async def skills_are_not_there_to_write(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        (answer,) = await sandbox.upload([("/workspace/skills/greeter/SKILL.md", b"changed")])
        assert answer == FileError("/workspace/skills/greeter/SKILL.md", "permission_denied")
        assert (await sandbox.execute("echo x > skills/greeter/new")).exit_code != 0
    assert (subject.skills / "greeter" / "SKILL.md").read_text() == "# Greeter\n"
    assert [path.name for path in (subject.skills / "greeter").iterdir()] == ["SKILL.md"]
