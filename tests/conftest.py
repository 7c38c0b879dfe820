"""The whole suite is offline and steady: loopback sockets only, no keys from outside, no random examples."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

_connect = socket.socket.connect


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _connect_to_loopback(sock: socket.socket, address: Any) -> None:
    if sock.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
        raise AssertionError(f"a test tried to reach {address[0]}: the suite is offline")
    _connect(sock, address)


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """The command line sets up logging for its process; here that must not outlive a test or a fixture."""
    root, ours = logging.getLogger(), logging.getLogger("screentest")
    root.handlers[:] = [handler for handler in root.handlers if type(handler) is not logging.StreamHandler]
    level = root.level
    ours.setLevel(logging.NOTSET)
    yield
    root.setLevel(level)


@pytest.fixture(autouse=True, scope="session")
def offline() -> Iterator[None]:
    """No socket beyond loopback, and no key to use there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _connect_to_loopback)
        for name in [name for name in os.environ if name.endswith("_API_KEY")]:
            patch.delenv(name)
        yield
