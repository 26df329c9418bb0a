"""Equal questions asked at the same time are asked once, and nobody is shown old answers."""

import asyncio
from uuid import uuid4

import pytest

from assay_contracts.base import Model
from assay_contracts.rpc import GetStatus, ListSkills, Problem, ProblemError, Rpc
from assay_gateway.use_cases.coalesced_reads import CoalescedReads

PATIENCE_S = 20.0


class Records:
    """Answers when a test says so, with what was known when it was asked."""

    def __init__(self) -> None:
        self.known = b"{}"
        self.asked: asyncio.Queue[tuple[Rpc[Model], asyncio.Future[bytes]]] = asyncio.Queue()

    async def ask_json(self, question: Rpc[Model], *, timeout_s: float) -> bytes:
        assert timeout_s == PATIENCE_S
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        known = self.known
        await self.asked.put((question, answer))
        await answer
        return known

    async def next(self) -> asyncio.Future[bytes]:
        return (await asyncio.wait_for(self.asked.get(), PATIENCE_S))[1]


def reading(reads: CoalescedReads, question: Rpc[Model]) -> asyncio.Task[bytes]:
    return asyncio.create_task(reads(question, timeout_s=PATIENCE_S))


async def all_have_asked() -> None:
    """Tasks begin in the order they were made; this one's turn comes after theirs."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_all_who_ask_at_the_same_moment_share_one_answer() -> None:
    records = Records()
    reads = CoalescedReads(ask_json=records.ask_json)
    asking = [reading(reads, ListSkills()) for _ in range(5)]
    (await records.next()).set_result(b"")
    assert await asyncio.gather(*asking) == [b"{}"] * 5
    assert records.asked.empty()


async def test_who_asks_while_the_same_is_under_way_shares_the_next_answer() -> None:
    records = Records()
    reads = CoalescedReads(ask_json=records.ask_json)
    first = reading(reads, ListSkills())
    under_way = await records.next()
    later = [reading(reads, ListSkills()) for _ in range(5)]
    await all_have_asked()
    assert records.asked.empty()
    under_way.set_result(b"")
    assert await first == b"{}"
    (await records.next()).set_result(b"")
    assert await asyncio.gather(*later) == [b"{}"] * 5
    assert records.asked.empty()


async def test_who_reads_after_a_write_sees_it_however_many_are_reading() -> None:
    records = Records()
    reads = CoalescedReads(ask_json=records.ask_json)
    before = reading(reads, ListSkills())
    readers: list[tuple[bytes, asyncio.Task[bytes]]] = []
    for number in range(4):
        under_way = await records.next()
        # The question under way was asked before this write; whoever reads now may know of it.
        records.known = str(number).encode()
        readers += [(records.known, reading(reads, ListSkills())) for _ in range(3)]
        await all_have_asked()
        under_way.set_result(b"")
    (await records.next()).set_result(b"")
    assert await before == b"{}"
    assert [await reader for _, reader in readers] == [written for written, _ in readers]


async def test_other_questions_do_not_wait() -> None:
    records = Records()
    reads = CoalescedReads(ask_json=records.ask_json)
    skill_id = uuid4()
    different = (
        ListSkills(),
        ListSkills(page=2),
        GetStatus(skill_id=skill_id),
        GetStatus(skill_id=uuid4()),
    )
    asking = [reading(reads, question) for question in different]
    for _ in different:
        (await records.next()).set_result(b"")
    assert await asyncio.gather(*asking) == [b"{}"] * 4


async def test_who_leaves_does_not_take_the_answer_along() -> None:
    records = Records()
    reads = CoalescedReads(ask_json=records.ask_json)
    first = reading(reads, ListSkills())
    under_way = await records.next()
    leaving, staying = reading(reads, ListSkills()), reading(reads, ListSkills())
    await all_have_asked()
    first.cancel()
    leaving.cancel()
    under_way.set_result(b"")
    (await records.next()).set_result(b"")
    assert await staying == b"{}"
    assert leaving.cancelled()


async def test_a_refusal_is_told_to_all_and_the_next_question_is_asked_again() -> None:
    records = Records()
    reads = CoalescedReads(ask_json=records.ask_json)
    refusal = ProblemError(Problem(code="SERVICE_UNAVAILABLE", message="later"))
    first = reading(reads, ListSkills())
    under_way = await records.next()
    waiting = [reading(reads, ListSkills()) for _ in range(2)]
    await all_have_asked()
    under_way.set_exception(refusal)
    (await records.next()).set_exception(refusal)
    for reader in (first, *waiting):
        with pytest.raises(ProblemError) as told:
            await reader
        assert told.value.problem == refusal.problem
    again = reading(reads, ListSkills())
    (await records.next()).set_result(b"")
    assert await again == b"{}"


async def test_a_defect_is_told_to_all_and_blocks_nobody() -> None:
    records = Records()
    reads = CoalescedReads(ask_json=records.ask_json)
    first = reading(reads, ListSkills())
    under_way = await records.next()
    waiting = reading(reads, ListSkills())
    await all_have_asked()
    under_way.set_exception(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await first
    (await records.next()).set_result(b"")
    assert await waiting == b"{}"
