"""What every kind of sandbox does alike."""

import asyncio
from datetime import UTC, datetime

import pytest

from assay_contracts.runs import NetworkMode, Package
from assay_sandboxes.conformance.under_test import LIMITS, Kit
from assay_sandboxes.port import FileError, Limits, SandboxUnavailable, SnapshotMissing


async def test_a_command_gives_its_output_and_exit_code(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute("echo hello")
    assert (result.stdout, result.stderr, result.exit_code) == ("hello\n", "", 0)
    assert not result.timed_out
    assert not result.truncated
    assert 0 <= result.seconds < LIMITS.command_seconds


async def test_errors_come_apart_from_output_and_last_when_joined(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute("echo wrong >&2; echo right")
    assert (result.stdout, result.stderr) == ("right\n", "wrong\n")
    assert result.output == "right\nwrong\n"


async def test_an_exit_code_is_passed_on(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute("echo before; exit 7; echo after")
    assert (result.stdout, result.exit_code) == ("before\n", 7)


async def test_a_command_that_does_not_exist_fails_by_itself(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute("no-such-command")
        assert result.exit_code == 127
        assert "not found" in result.stderr
        assert (await sandbox.execute("true")).exit_code == 0


async def test_commands_start_in_the_workspace(kit: Kit) -> None:
    async with kit.open() as sandbox:
        assert (await sandbox.execute("pwd")).stdout == "/workspace\n"


async def test_commands_start_where_they_are_told(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.upload([("/workspace/deep/down/here.txt", b"found")])
        result = await sandbox.execute("cat here.txt", cwd="/workspace/deep/down")
    assert result.stdout == "found"


async def test_output_in_any_alphabet_survives(kit: Kit) -> None:
    async with kit.open() as sandbox:
        assert (await sandbox.execute("echo 你好 Straße")).stdout == "你好 Straße\n"


async def test_a_slow_command_is_stopped_in_time(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute("echo started; sleep 30", timeout_s=2)
        assert (result.timed_out, result.exit_code) == (True, 124)
        assert result.stdout == "started\n"
        assert 2 <= result.seconds < 20
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def test_no_call_gets_more_time_than_the_limits_allow(kit: Kit) -> None:
    limits = Limits(command_seconds=0.3)
    async with kit.open(limits=limits) as sandbox:
        assert (await sandbox.execute("sleep 15", timeout_s=60)).timed_out
        assert (await sandbox.execute("sleep 15")).timed_out


async def test_long_output_is_cut_in_the_middle_and_says_so(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute(f"echo first; {kit.speech.flood(100_000)}; echo last")
    assert result.truncated
    assert result.stdout.startswith("first\n")
    assert result.stdout.endswith("last\n")
    assert "bytes omitted" in result.stdout
    assert len(result.stdout) < LIMITS.output_bytes + 100
    assert result.exit_code == 0


async def test_output_just_within_the_limit_is_whole(kit: Kit) -> None:
    lines = LIMITS.output_bytes // len("line\n")
    async with kit.open() as sandbox:
        result = await sandbox.execute(kit.speech.flood(lines))
    assert not result.truncated
    assert result.stdout == "line\n" * lines


async def test_a_cancelled_command_leaves_the_sandbox_usable(kit: Kit) -> None:
    async with kit.open() as sandbox:
        task = asyncio.create_task(sandbox.execute("sleep 15"))
        await asyncio.sleep(0)  # let it start
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def test_commands_run_side_by_side(kit: Kit) -> None:
    async with kit.open() as sandbox:
        results = await asyncio.gather(
            *(sandbox.execute(f"sleep 1; echo {number}") for number in range(8))
        )
    assert [result.stdout for result in results] == [f"{number}\n" for number in range(8)]
    assert max(result.seconds for result in results) < 8


async def test_files_come_back_as_they_were_sent(kit: Kit) -> None:
    files = [("/workspace/a.txt", b"text"), ("/workspace/b/c/d.bin", bytes(range(256)) * 999)]
    async with kit.open() as sandbox:
        assert await sandbox.upload([*files, ("/workspace/empty", b"")]) == [None, None, None]
        found = await sandbox.download([path for path, _ in files])
        assert found == [content for _, content in files]
        assert await sandbox.download(["/workspace/empty"]) == [b""]


async def test_commands_and_transfers_see_the_same_files(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.upload([("/workspace/in.txt", b"from outside")])
        assert (await sandbox.execute("cat in.txt")).stdout == "from outside"
        await sandbox.execute("echo from inside > out.txt")
        assert await sandbox.download(["/workspace/out.txt"]) == [b"from inside\n"]


async def test_a_file_is_replaced_whole(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.upload([("/workspace/a", b"a long first version")])
        await sandbox.upload([("/workspace/a", b"short")])
        assert await sandbox.download(["/workspace/a"]) == [b"short"]


async def test_each_file_that_cannot_be_read_says_why(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.upload([("/workspace/folder/file", b"x")])
        paths = ["/workspace/none", "/workspace/folder", "relative", "/workspace/folder/file"]
        assert await sandbox.download(paths) == [
            FileError("/workspace/none", "file_not_found"),
            FileError("/workspace/folder", "is_directory"),
            FileError("relative", "invalid_path"),
            b"x",
        ]


async def test_each_file_that_cannot_be_written_says_why(kit: Kit) -> None:
    async with kit.open() as sandbox:
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


async def test_nothing_asked_is_nothing_answered(kit: Kit) -> None:
    async with kit.open() as sandbox:
        assert await sandbox.upload([]) == []
        assert await sandbox.download([]) == []


async def test_skills_are_there_to_read(kit: Kit) -> None:
    async with kit.open() as sandbox:
        found = await sandbox.execute("cat skills/greeter/SKILL.md")
        assert found.stdout == "# Greeter\n"
        assert await sandbox.download(["/workspace/skills/greeter/SKILL.md"]) == [b"# Greeter\n"]


async def test_skills_are_not_there_to_write(kit: Kit) -> None:
    async with kit.open() as sandbox:
        (answer,) = await sandbox.upload([("/workspace/skills/greeter/SKILL.md", b"changed")])
        assert answer == FileError("/workspace/skills/greeter/SKILL.md", "permission_denied")
        assert (await sandbox.execute("echo x > skills/greeter/new")).exit_code != 0
    assert (kit.skills / "greeter" / "SKILL.md").read_text() == "# Greeter\n"
    assert [path.name for path in (kit.skills / "greeter").iterdir()] == ["SKILL.md"]


async def test_installed_packages_are_listed(kit: Kit) -> None:
    package = Package(ecosystem="pip", name="made-up", version="1.2.3")
    async with kit.open() as sandbox:
        assert package not in await sandbox.packages()
        assert (await sandbox.execute(kit.speech.install("made-up", "1.2.3"))).exit_code == 0
        after = await sandbox.packages()
        assert package in after
        assert list(after) == list(await sandbox.packages())


async def test_packages_say_what_they_need_as_far_as_it_applies(kit: Kit) -> None:
    needs = (
        "Below_It>=1,<2",
        'beside[x]; extra == "more"',
        'never; sys_platform == "no-such-platform"',
        'always; python_version >= "3"',
    )
    async with kit.open() as sandbox:
        await sandbox.execute(kit.speech.install("top", "1.0", *needs))
        (top,) = [package for package in await sandbox.packages() if package.name == "top"]
    assert top.requires == ("Below_It<2,>=1", 'beside[x]; extra == "more"', "always")


async def test_of_one_package_the_newest_installation_counts(kit: Kit) -> None:
    async with kit.open() as sandbox:
        for version in ("1.0", "2.0"):
            await sandbox.execute(kit.speech.install("made-up", version))
        versions = [p.version for p in await sandbox.packages() if p.name == "made-up"]
        assert versions == ["2.0"]


async def test_a_snapshot_keeps_what_was_installed(kit: Kit) -> None:
    package = Package(ecosystem="pip", name="made-up", version="1.2.3")
    async with kit.open() as sandbox:
        await sandbox.execute(kit.speech.install("made-up", "1.2.3"))
        await sandbox.upload([("/home/agent/notes/tool.txt", b"kept")])
        await sandbox.snapshot("candidate")
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"
    async with kit.open(base="candidate") as sandbox:
        assert package in await sandbox.packages()
        assert await sandbox.download(["/home/agent/notes/tool.txt"]) == [b"kept"]
        assert sandbox.proof().base == "candidate"


async def test_a_snapshot_leaves_the_workspace_behind(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.upload([("/workspace/answer.txt", b"stale")])
        await sandbox.snapshot("candidate")
    async with kit.open(base="candidate") as sandbox:
        answer = await sandbox.download(["/workspace/answer.txt"])
        assert answer == [FileError("/workspace/answer.txt", "file_not_found")]


async def test_a_sandbox_does_not_change_the_snapshot_it_started_from(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.upload([("/home/agent/tool.txt", b"as kept")])
        await sandbox.snapshot("candidate")
    async with kit.open(base="candidate") as sandbox:
        await sandbox.upload([("/home/agent/tool.txt", b"changed")])
    async with kit.open(base="candidate") as sandbox:
        assert await sandbox.download(["/home/agent/tool.txt"]) == [b"as kept"]


async def test_a_snapshot_is_replaced_by_one_of_its_name(kit: Kit) -> None:
    async with kit.open() as sandbox:
        for content in (b"first", b"second"):
            await sandbox.upload([("/home/agent/tool.txt", content)])
            await sandbox.snapshot("candidate")
    async with kit.open(base="candidate") as sandbox:
        assert await sandbox.download(["/home/agent/tool.txt"]) == [b"second"]


async def test_a_snapshot_that_is_missing_is_said_to_be(kit: Kit) -> None:
    with pytest.raises(SandboxUnavailable, match="never-taken"):
        async with kit.open(base="never-taken"):
            pytest.fail("it was opened")


async def test_a_deleted_snapshot_is_gone_and_may_be_deleted_again(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.snapshot("candidate")
    await kit.provider.delete_snapshot("candidate")
    await kit.provider.delete_snapshot("candidate")
    with pytest.raises(SandboxUnavailable):
        async with kit.open(base="candidate"):
            pytest.fail("it was opened")


async def test_only_a_snapshot_that_exists_can_be_kept(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.snapshot("candidate")
    await kit.provider.keep_snapshot("candidate")
    await kit.provider.delete_snapshot("candidate")
    with pytest.raises(SnapshotMissing, match="candidate"):
        await kit.provider.keep_snapshot("candidate")


async def test_an_untouched_sandbox_has_made_no_calls(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.execute("echo nothing to see")
        assert await sandbox.network_calls() == []


async def test_each_call_is_listed_with_its_command_time_and_place(kit: Kit) -> None:
    before = datetime.now(UTC)
    by_name, by_address = kit.speech.look_up("one.example"), kit.speech.connect("192.0.2.7", 443)
    async with kit.open() as sandbox:
        assert (await sandbox.execute(by_name)).exit_code == 1
        assert (await sandbox.execute(by_address)).exit_code == 1
        calls = await sandbox.network_calls()
        assert await sandbox.network_calls() == calls
    assert [call.destination for call in calls] == ["one.example", "192.0.2.7:443"]
    assert [call.command for call in calls] == [by_name[:200], by_address[:200]]
    assert before <= calls[0].at <= calls[1].at <= datetime.now(UTC)


@pytest.mark.parametrize("network", ["open", "blocked"])
async def test_a_sandbox_says_in_which_mode_it_is_and_how_it_knows(
    kit: Kit, network: NetworkMode
) -> None:
    async with kit.open(network) as sandbox:
        proof = sandbox.proof()
    assert (proof.kind, proof.network, proof.base) == (kit.provider.kind, network, "base")
    assert proof.proof
    assert proof.observation


async def test_sandboxes_of_one_name_are_told_apart_and_kept_apart(kit: Kit) -> None:
    async with kit.open(name="twin") as one, kit.open(name="twin") as other:
        assert one.id != other.id
        await one.upload([("/workspace/secret", b"mine"), ("/home/agent/secret", b"mine")])
        found = await other.download(["/workspace/secret", "/home/agent/secret"])
        assert found == [
            FileError("/workspace/secret", "file_not_found"),
            FileError("/home/agent/secret", "file_not_found"),
        ]


async def test_a_closed_sandbox_takes_no_orders(kit: Kit) -> None:
    async with kit.open() as sandbox:
        pass
    with pytest.raises(SandboxUnavailable):
        await sandbox.execute("true")
    with pytest.raises(SandboxUnavailable):
        await sandbox.upload([("/workspace/a", b"")])
    with pytest.raises(SandboxUnavailable):
        await sandbox.snapshot("late")


async def test_an_error_in_its_use_passes_through_and_closes_it(kit: Kit) -> None:
    with pytest.raises(ZeroDivisionError):
        async with kit.open() as sandbox:
            raise ZeroDivisionError
    with pytest.raises(SandboxUnavailable):
        await sandbox.execute("true")


async def test_a_sweep_leaves_what_is_in_use(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.snapshot("candidate")
        assert await kit.provider.sweep() == []
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"
    async with kit.open(base="candidate") as sandbox:
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def test_a_command_that_reads_its_input_finds_nothing_there(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute("cat; echo done", timeout_s=5)
    assert (result.stdout, result.exit_code, result.timed_out) == ("done\n", 0, False)


async def test_a_command_that_leaves_something_running_is_not_held_up_by_it(kit: Kit) -> None:
    async with kit.open() as sandbox:
        result = await sandbox.execute(kit.speech.leave_running(15))
        assert (result.stdout, result.exit_code, result.timed_out) == ("started\n", 0, False)
        assert result.seconds < 10
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def test_a_command_out_of_time_does_no_more(kit: Kit) -> None:
    async with kit.open() as sandbox:
        late = await sandbox.execute("sleep 1; echo x > late.txt", timeout_s=0.2)
        assert late.timed_out
        await sandbox.execute("sleep 1.2")
        (found,) = await sandbox.download(["/workspace/late.txt"])
    assert found == FileError("/workspace/late.txt", "file_not_found")


async def test_a_cancelled_command_does_no_more(kit: Kit) -> None:
    async with kit.open() as sandbox:
        task = asyncio.create_task(sandbox.execute("sleep 1; echo x > late.txt"))
        await asyncio.wait([task], timeout=0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await sandbox.execute("sleep 1.2")
        (found,) = await sandbox.download(["/workspace/late.txt"])
    assert found == FileError("/workspace/late.txt", "file_not_found")


async def test_many_files_come_and_go_in_one_call(kit: Kit) -> None:
    files = [(f"/workspace/many/{number:03}.txt", b"%d" % number) for number in range(200)]
    async with kit.open() as sandbox:
        assert await sandbox.upload(files) == [None] * len(files)
        found = await sandbox.download([path for path, _ in reversed(files)])
    assert found == [content for _, content in reversed(files)]


async def test_a_file_as_large_as_may_be_survives(kit: Kit) -> None:
    content = bytes(range(256)) * (LIMITS.file_bytes // 256)
    async with kit.open() as sandbox:
        assert await sandbox.upload([("/workspace/large", content)]) == [None]
        assert await sandbox.download(["/workspace/large"]) == [content]


async def test_skills_are_those_of_now_and_not_those_of_the_snapshot(kit: Kit) -> None:
    (kit.skills / "parter" / "scripts").mkdir(parents=True)
    (kit.skills / "parter" / "scripts" / "bye.sh").write_text("echo bye")
    async with kit.open() as sandbox:
        assert (await sandbox.execute("cat skills/parter/scripts/bye.sh")).stdout == "echo bye"
        await sandbox.snapshot("candidate")
    (kit.skills / "parter" / "scripts" / "bye.sh").unlink()
    (kit.skills / "greeter" / "SKILL.md").write_text("# Greeter, second edition\n")
    async with kit.open(base="candidate") as sandbox:
        assert (await sandbox.execute("cat skills/greeter/SKILL.md")).stdout == (
            "# Greeter, second edition\n"
        )
        assert (await sandbox.execute("cat skills/parter/scripts/bye.sh")).exit_code != 0


async def test_sandboxes_are_opened_side_by_side(kit: Kit) -> None:
    async def use(number: int) -> tuple[str, str]:
        async with kit.open(name=f"side-{number}") as sandbox:
            return sandbox.id, (await sandbox.execute(f"echo {number}")).stdout

    used = await asyncio.gather(*(use(number) for number in range(4)))
    assert len({identity for identity, _ in used}) == 4
    assert [said for _, said in used] == [f"{number}\n" for number in range(4)]


async def test_one_that_is_cancelled_while_it_opens_leaves_nothing(kit: Kit) -> None:
    async def use() -> None:
        async with kit.open() as sandbox:
            await sandbox.execute("sleep 15")

    task = asyncio.create_task(use())
    await asyncio.wait([task], timeout=0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await kit.provider.sweep() == []


async def test_a_provider_may_be_closed_again(kit: Kit) -> None:
    async with kit.open() as sandbox:
        await sandbox.execute("true")
    await kit.provider.close()
    await kit.provider.close()
