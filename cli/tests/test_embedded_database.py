"""The embedded database keeps what it was told and is closed to strangers."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from assay_cli.embedded.postgres import PostgresServer, socket_path_fits
from assay_cli.embedded.process import Child, StartFailed
from assay_testkit.servers import private_folder


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_folder() as folder:
        yield PostgresServer(data=folder / "postgres", sockets=folder / "sockets")


@contextmanager
def running(server: PostgresServer) -> Iterator[Child]:
    server.initialise()
    child = Child(server.process(server.sockets.parent / "log"))
    try:
        child.wait_ready()
        yield child
    finally:
        child.stop()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL, signal.SIGQUIT])
def test_what_was_committed_is_there_after_a_restart(
    server: PostgresServer, ending: signal.Signals
) -> None:
    with running(server) as child:
        server.ensure_database("assay")
        server.query("create table kept (word text)")
        server.query("insert into kept values ('still here')")
        os.kill(child.pid, ending)
        child.stop()
    with running(server):
        server.ensure_database("assay")
        assert server.query("select word from kept") == "still here"
        assert server.query("select count(*) from pg_database where datname = 'assay'") == "1"


async def test_it_stops_at_once_though_a_client_is_connected(server: PostgresServer) -> None:
    with running(server) as child:
        engine = create_async_engine(server.url("postgres"))
        async with engine.connect() as connection:
            await connection.execute(text("select 1"))
            child.stop()
            assert child.exit_code() == 0
            await connection.invalidate()
        await engine.dispose()


async def test_it_answers_where_its_url_says(database_url: str) -> None:
    engine = create_async_engine(database_url)
    async with engine.connect() as connection:
        for question, answer in {
            "show server_encoding": "UTF8",
            "show listen_addresses": "",
            "select count(*) from pg_tables where schemaname = 'public'": 0,
        }.items():
            assert await connection.scalar(text(question)) == answer
    await engine.dispose()


def test_durability_is_on_and_the_socket_is_private(server: PostgresServer) -> None:
    with running(server):
        assert server.query("show fsync") == "on"
        assert server.query("show synchronous_commit") == "on"
    assert server.sockets.stat().st_mode & 0o777 == 0o700
    assert server.data.stat().st_mode & 0o777 == 0o700


def test_a_lock_left_by_a_crash_whose_process_id_is_now_a_strangers(
    server: PostgresServer,
) -> None:
    server.initialise()
    # As after a power cut: the file names a process that lives, but is not a database.
    (server.data / "postmaster.pid").write_text(f"{os.getpid()}\n{server.data}\n")
    with running(server):
        assert server.query("select 1") == "1"


def test_a_first_start_that_was_cut_short_is_done_over(server: PostgresServer) -> None:
    unfinished = server.data.with_name("postgres.new")
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    with running(server):
        assert server.query("select 1") == "1"
    assert not unfinished.exists()


def test_an_error_of_the_server_is_told_in_one_line(postgres_server: PostgresServer) -> None:
    with pytest.raises(StartFailed, match=r"psql failed: .*nonsense") as raised:
        postgres_server.query("select nonsense")
    assert "\n" not in str(raised.value)


def test_how_long_a_sockets_path_may_be() -> None:
    assert socket_path_fits(Path("/tmp/assay"))
    assert not socket_path_fits(Path("/" + "deep/" * 30))
