"""HTTPS of the collector itself: over real sockets, with certificates that are renewed, broken or old."""

from __future__ import annotations

import logging
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509

from deniable.collect import certificates
from deniable.collect.certificates import Certificate
from deniable.errors import InvalidParameter
from tests.certificates import Authority
from tests.collector import BINARY, Running, collecting, small_plan, some_reports
from tests.running import Run

PLAN = small_plan()
AUTHORITY = Authority()
DAY = 86400.0


def serial(running: Running, version: ssl.TLSVersion | None = None) -> int:
    """The number of the certificate that a new connection gets."""
    context = ssl.create_default_context(cafile=str(running.folder / "chain.pem"))
    if version is not None:
        context.minimum_version = context.maximum_version = version
    host, _, port = running.url.removeprefix("https://").partition(":")
    with (
        socket.create_connection((host, int(port)), timeout=10) as plain,
        # by an address, so without SNI: renewals must not depend on it
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        found = secure.getpeercert(binary_form=True)
        assert found is not None
        return x509.load_der_x509_certificate(found).serial_number


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline, "it did not happen in 20 seconds"
        time.sleep(0.05)


@pytest.mark.long
def test_https_survives_renewals_and_broken_files(tmp_path: Path) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    first = AUTHORITY.write(chain, key)
    reports = some_reports(PLAN, 3)
    with collecting(tmp_path, [PLAN], "--certificate", str(chain), "--key", str(key)) as running:
        assert running.url.startswith("https://127.0.0.1:")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            assert serial(running, version) == first
        with (
            pytest.warns(DeprecationWarning, match="TLSv1_1"),
            pytest.raises((ssl.SSLError, ConnectionError)),
        ):
            serial(running, ssl.TLSVersion.TLSv1_1)

        context = ssl.create_default_context(cafile=str(chain))
        host, _, port = running.url.removeprefix("https://").partition(":")
        with (
            socket.create_connection((host, int(port)), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as kept,
        ):

            def send(body: bytes) -> bytes:
                head = f"POST /reports HTTP/1.1\r\nHost: a\r\nContent-Type: {BINARY['Content-Type']}\r\n"
                kept.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                answer = b""
                while not answer.endswith(b"}"):
                    answer += kept.recv(4096) or pytest.fail("the connection was dropped")
                return answer.split(b"\r\n")[0]

            assert send(reports[0].to_bytes()) == b"HTTP/1.1 201 Created"
            # a key alone does not fit: what is served stays, and it is said once
            AUTHORITY.write(tmp_path / "other.pem", key)
            until(lambda: "does not fit the certificate" in running.errors())
            assert serial(running) == first
            second = AUTHORITY.write(chain, key, days=10)
            until(lambda: serial(running) == second)
            assert send(reports[1].to_bytes()) == b"HTTP/1.1 201 Created"
            until(lambda: "ends at 20" in running.errors())
        assert running.errors().count("was not renewed") == running.errors().count("was renewed") == 1
        assert running.errors().count("renew it") == 1, "what ends in 90 days is no trouble, in 10 days it is"
        answer = running.http.post(f"{running.url}/reports", content=reports[2].to_bytes(), headers=BINARY)
        assert answer.status_code == 201
        ends = running.metrics()["deniable_certificate_end_timestamp_seconds"]
        assert abs(ends - time.time() - 10 * DAY) < 3600
        assert running.stop() == 0


def test_a_handshake_that_does_not_go_on_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a loop of this process, with less patience."""
    import asyncio

    from deniable.collect import serving

    AUTHORITY.write(tmp_path / "chain.pem", tmp_path / "key.pem")
    context = Certificate(tmp_path / "chain.pem", tmp_path / "key.pem").context
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)

    async def wait() -> bytes:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                return await asyncio.wait_for(reader.read(), 10)
            except ConnectionError:
                return b""
            finally:
                writer.close()

    with asyncio.Runner(loop_factory=serving._make_loop) as runner:
        assert runner.run(wait()) == b""


def test_what_is_wrong_with_the_files_is_said_in_plain_words(run: Run, tmp_path: Path) -> None:
    chain, key, other = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "other.pem"
    AUTHORITY.write(chain, other)
    AUTHORITY.write(chain, key, password=b"secret")
    empty = tmp_path / "empty.pem"
    empty.touch()
    PLAN.write(tmp_path / "plan.json")
    serve = ("serve", str(tmp_path / "plan.json"))
    for options, problem in [
        (("--certificate", chain), "name both, with --certificate and --key, or none"),
        (("--key", key), "name both, with --certificate and --key, or none"),
        (("--certificate", chain, "--key", key), "is encrypted, and nobody is there to type its password"),
        (
            ("--certificate", chain, "--key", other),
            f"the key {other} does not fit the certificate in {chain}",
        ),
        (("--certificate", chain, "--key", "no.pem"), "the key no.pem cannot be read: No such file"),
        (("--certificate", "no.pem", "--key", key), "the certificate no.pem cannot be read: No such file"),
        (("--certificate", empty, "--key", other), f"{empty} holds no certificate (PEM"),
        (("--certificate", other, "--key", other), f"{other} holds no certificate (PEM"),
        (("--certificate", chain, "--key", chain), f"{chain} holds no private key"),
    ]:
        outcome = run(*serve, *map(str, options))
        assert (outcome.code, problem in outcome.err) == (2, True), outcome.err
    assert not Path("reports.db").exists(), "nothing is made before the files are right"


def test_a_certificate_that_ends_soon_is_logged_once_a_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    AUTHORITY.write(chain, key, days=20)
    now = time.time()
    watched = Certificate(chain, key, lambda: now)
    with caplog.at_level(logging.WARNING, "deniable.collect"):
        for days, lines in [(5.9, 0), (6.1, 1), (6.9, 1), (7.2, 2), (20.5, 3)]:
            now = time.time() + days * DAY
            watched.renew()
            assert len(caplog.messages) == lines, days
    assert "renew it" in caplog.messages[1]
    assert " ended at " in caplog.messages[2]


def test_half_written_files_are_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The chain is new and the key not yet: nothing is read before both are left alone for a while."""
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    AUTHORITY.write(chain, key)
    watched = Certificate(chain, key)
    before = watched.expires
    AUTHORITY.write(chain, tmp_path / "new.pem", days=50)
    watched.renew()
    (tmp_path / "new.pem").replace(key)
    watched.renew()
    assert (watched.expires, caplog.messages) == (before, [])
    watched.renew()
    assert watched.expires < before
    key.unlink()
    for _ in range(3):
        watched.renew()
    assert len([line for line in caplog.messages if "cannot be read" in line]) == 1
    assert certificates.WARN_DAYS == 14


def test_a_pair_is_refused_before_it_is_served(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="cannot be read"):
        Certificate(tmp_path / "a", tmp_path / "b")
