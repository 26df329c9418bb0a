"""Writing down what a sandbox with an open network reaches for."""

from assay_sandboxes.bubblewrap.host.call_ledger import CallLedger
from assay_sandboxes.bubblewrap.host.calling_processes import CallingProcesses
from assay_sandboxes.bubblewrap.host.dns_answers import addresses_in
from assay_sandboxes.guest.dns_questions import first_question
from assay_sandboxes.guest.socket_addresses import DNS_PORT, is_own, parse_address, written
from assay_sandboxes.guest.syscall_numbers import CONNECT
from assay_sandboxes.guest.waiting_calls import Message, WaitingCall
from assay_sandboxes.own_names import is_own_name

_MOST_ADDRESSES = 4096


class EgressWatch:
    """Enters connections and look-ups in a ledger: an address by the name that led to it."""

    def __init__(self, ledger: CallLedger) -> None:
        self.ledger = ledger
        self._callers = CallingProcesses()
        self._names: dict[str, str] = {}
        """By address, the name that it was found under."""

    def hear_call(self, call: WaitingCall, messages: list[Message]) -> None:
        """Enter where a call goes.

        Raises:
            OSError: its caller has ended.
        """
        for message in messages:
            place = parse_address(message.address, connecting=call.number == CONNECT)
            if place is None:
                continue
            host, port = place
            if not is_own(host):
                caller = self._callers.of(call.thread)
                name = self._names.get(str(host))
                # To look a name up and then go there is to try once.
                if name is None or not self.ledger.has_looked_up(name, caller):
                    self.ledger.address(name or written(host, port), caller)
            elif port == DNS_PORT:
                self._callers.turned_to_name_server(call.thread, self._callers.of(call.thread))

    def hear_question(self, question: bytes, port: int) -> None:
        """Enter a look-up that comes from a port."""
        parsed = first_question(question)
        if parsed is not None and not is_own_name(parsed[0]):
            self.ledger.lookup(parsed[0], parsed[1], self._callers.asking(port))

    def hear_answer(self, answer: bytes) -> None:
        """Remember which addresses a name led to."""
        name, addresses = addresses_in(answer)
        for address in addresses:
            if len(self._names) < _MOST_ADDRESSES or address in self._names:
                self._names[address] = self.ledger.meant(name)
