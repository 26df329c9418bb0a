"""Which addresses are outside, decided on the address that is connected to."""

import ipaddress
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import assay_sandboxes
from assay_sandboxes.bubblewrap.host.package_indexes import configured_indexes
from assay_sandboxes.bubblewrap.warden.egress_policy import EgressPolicy, is_this_machine
from assay_sandboxes.bubblewrap.warden.orders import NO_POLICY
from assay_sandboxes.egress import EgressRules
from assay_testkit.outside import policy_order as policy


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.9.9", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1"),
        *("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "0.1.2.3"),
        *("fd00:ec2::254", "fd20:ce::254", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "224.0.0.1"),
        *("255.255.255.255", "240.0.0.1", "::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::a00:1"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:a00:1::1", "2001:0:1::1", "::"),
    ],
)
def test_what_is_not_the_public_internet_is_not_reached_by_default(address: str) -> None:
    host = ipaddress.ip_address(address)
    assert EgressPolicy(NO_POLICY).refusal(host, 80, ()) is not None


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f::1", "172.32.0.1", "11.0.0.1"])
def test_the_public_internet_is_reached(address: str) -> None:
    host = ipaddress.ip_address(address)
    assert EgressPolicy(NO_POLICY).refusal(host, 80, ()) is None
    listed_only = EgressPolicy(policy(only_listed=True))
    assert listed_only.refusal(host, 80, ()) == "not on the list of what may be reached"


def test_lists_let_through_by_name_and_by_range_and_never_to_this_machine() -> None:
    rules = EgressPolicy(policy(names=["git.corp.example", ".lab.example"], ranges=["10.1.0.0/16"]))
    inside, elsewhere = ipaddress.ip_address("10.1.2.3"), ipaddress.ip_address("10.2.2.3")
    assert rules.refusal(inside, 80, ()) is None
    assert rules.refusal(elsewhere, 80, ()) == "an address of a private network"
    assert rules.refusal(elsewhere, 80, {"git.corp.example"}) is None
    assert rules.refusal(elsewhere, 80, {"a.b.lab.example"}) is None
    assert rules.refusal(elsewhere, 80, {"evil.example", "xlab.example"}) is not None
    everything = EgressPolicy(policy(ranges=["0.0.0.0/0", "::/0"], names=["me.example"]))
    for own in ("127.0.0.1", "127.9.9.9", "::1", "64:ff9b::7f00:1"):
        host = ipaddress.ip_address(own)
        assert everything.refusal(host, 80, {"me.example"}) == "an address of this machine"


def test_an_index_of_this_machine_is_let_through_at_its_port_alone() -> None:
    rules = EgressPolicy(policy(indexes=[("127.0.0.1", 3141), ("pkgs.corp.example", 443)]))
    here, private = ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("10.9.9.9")
    assert rules.refusal(here, 3141, ()) is None
    assert rules.refusal(here, 4222, ()) == "an address of this machine"
    assert rules.refusal(private, 443, {"pkgs.corp.example"}) is None
    assert rules.refusal(private, 22, {"pkgs.corp.example"}) is not None


def own_addresses() -> list[str]:
    """Every address of this machine, the second of an interface too."""
    four = Path("/proc/net/fib_trie").read_text().splitlines()
    listed = {
        above.split()[-1] for above, line in pairwise(four) if line.strip() == "/32 host LOCAL"
    }
    six = Path("/proc/net/if_inet6").read_text().split()[::6]
    return sorted(listed | {str(ipaddress.IPv6Address(int(each, 16))) for each in six})


def test_every_address_of_this_machine_is_known_for_one() -> None:
    addresses = own_addresses()
    assert "127.0.0.1" in addresses
    assert [each for each in addresses if not is_this_machine(ipaddress.ip_address(each))] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives an interface an address")
def test_the_second_address_of_an_interface_is_this_machine_too() -> None:
    """In a network namespace of the test's own: the kernel reaches it from the first address."""
    source = Path(assay_sandboxes.__file__).parents[1]
    program = (
        f"import ipaddress, sys\nsys.path.insert(0, {str(source)!r})\n"
        "from assay_sandboxes.bubblewrap.warden.egress_policy import is_this_machine\n"
        "print([is_this_machine(ipaddress.ip_address(each))\n"
        "       for each in ('203.0.113.5', '203.0.113.6', '198.51.100.9')])"
    )
    setup = (
        "ip link set lo up && ip addr add 203.0.113.5/24 dev lo"
        " && ip addr add 203.0.113.6/24 dev lo"
    )
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", f'{setup} && exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Operation not permitted" in done.stderr or "not found" in done.stderr:
        pytest.skip(f"no network namespace to try it in: {done.stderr}")
    assert done.stdout == "[True, True, False]\n", done.stderr


def test_rules_are_read_from_settings() -> None:
    rules = EgressRules.parsed("Git.Example, *.lab.example,10.1.2.3/16", only_listed=False)
    assert rules.names == ("git.example", ".lab.example")
    assert rules.ranges == ("10.1.0.0/16",)


@pytest.mark.parametrize("listed", ["https://a.example", "10.0.0.0/99", "a b", "10.1.2", "*."])
def test_what_is_neither_a_name_nor_a_range_is_refused(listed: str) -> None:
    with pytest.raises(ValueError, match="ASSAY_EGRESS_ALLOW"):
        EgressRules.parsed(listed, only_listed=False)


def test_indexes_are_read_from_where_package_managers_read_them(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/pip.conf").write_text(
        "[global]\nextra-index-url = file:///opt/x\n  https://a.example/simple\n"
    )
    (tmp_path / "home/me/.config/pip").mkdir(parents=True)
    (tmp_path / "home/me/.config/pip/pip.conf").write_text("not a settings file")
    (tmp_path / "home/me/.npmrc").write_text("@mine:registry=http://10.0.0.9:4873/\n//x/:_a=b\n")
    environment = {"HOME": "/home/me", "PIP_INDEX_URL": "http://127.0.0.1:3141/root"}
    environment |= {"UV_INDEX": "mine=https://b.example:8443/simple http://[::1"}
    assert configured_indexes(environment, tmp_path) == [
        ("127.0.0.1", 3141),
        ("b.example", 8443),
        ("a.example", 443),
        ("10.0.0.9", 4873),
    ]
