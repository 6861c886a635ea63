"""Serves TLS with a certificate that is read again when its files change, without a restart."""

from __future__ import annotations

import logging
import os
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, final

from cryptography import x509

from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_time

SECONDS = 0.5
"""Seconds between two looks at the files. What has changed is read once it stays the same for as long."""
WARN_DAYS = 14
"""Days before a certificate ends, from which on this is logged once a day."""

_DAY = 86400.0
_Stamp = tuple[tuple[int, int, int], ...]
"""The number, the size and the time of each file: another one where it was replaced or written."""

_log = logging.getLogger("deniable.collect")


@final
class Certificate:
    """A certificate with its key; connections that are open keep the one they began with."""

    def __init__(self, chain: Path, key: Path, clock: Callable[[], float] = time.time) -> None:
        """Read both, or say in plain words what is wrong with them."""
        self._chain, self._key, self._clock = chain, key, clock
        self._stamp = self._seen = self._look()
        self._current, self.expires = _read_pair(chain, key)
        self._warned = -_DAY
        # the protocol's settings are those of this context, the certificate that of the current one
        self.context = _read_pair(chain, key)[0]
        self.context.sni_callback = self._choose
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the files from now on."""
        self._thread = threading.Thread(target=self._work, name="deniable-certificate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Watch them no more."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def renew(self) -> None:
        """Read the files again if they changed and were left alone since the last look.

        The files are written one after the other: between the two they do not fit.
        """
        before, self._seen = self._seen, self._look()
        if self._seen == before != self._stamp:
            self._stamp = self._seen
            try:
                self._current, self.expires = _read_pair(self._chain, self._key)
            except DeniableError as problem:
                _log.error("the certificate was not renewed, and the one before is served: %s", problem)
            else:
                self._warned = -_DAY
                _log.warning("the certificate was renewed; it ends at %s", format_time(self.expires))
        self._warn()

    def _work(self) -> None:
        self._warn()
        while not self._end.wait(SECONDS):
            self.renew()

    def _warn(self) -> None:
        """Log that the certificate ends soon, once a day."""
        now = self._clock()
        if self.expires - now >= WARN_DAYS * _DAY or now - self._warned < _DAY:
            return
        self._warned = now
        verb = "ends" if self.expires > now else "ended"
        _log.warning(
            "the certificate in %s %s at %s; renew it: a running collector reads the new one by itself",
            *(self._chain, verb, format_time(self.expires)),
        )

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _look(self) -> _Stamp:
        stamps = []
        for file in (self._chain, self._key):
            try:
                state = os.stat(file)
            except OSError:
                stamps.append((0, 0, 0))
            else:
                stamps.append((state.st_ino, state.st_size, state.st_mtime_ns))
        return tuple(stamps)


def _read_pair(chain: Path, key: Path) -> tuple[ssl.SSLContext, float]:
    """What serves this certificate, and when it ends."""
    expires = _read_end(chain)
    try:
        key.read_bytes()
    except OSError as problem:
        raise InvalidParameter(f"the key {key} cannot be read: {problem.strerror}") from None

    def refuse_password() -> NoReturn:
        raise InvalidParameter(
            f"the key {key} is encrypted, and nobody is there to type its password when the collector "
            "starts; write it without one, readable by the collector alone"
        )

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(chain, key, refuse_password)
    except ssl.SSLError as problem:
        if problem.reason == "KEY_VALUES_MISMATCH":
            text = (
                f"the key {key} does not fit the certificate in {chain}; name the two that were made together"
            )
        else:
            text = f"{key} holds no private key that can be used here (PEM); is it the right file?"
        raise InvalidParameter(text) from None
    return context, expires


def _read_end(chain: Path) -> float:
    """When the first certificate of a chain ends, which is the server's own."""
    try:
        certificates = x509.load_pem_x509_certificates(chain.read_bytes())
    except OSError as problem:
        raise InvalidParameter(f"the certificate {chain} cannot be read: {problem.strerror}") from None
    except ValueError:
        raise InvalidParameter(
            f"{chain} holds no certificate (PEM, with -----BEGIN CERTIFICATE-----); name the file of the "
            "whole chain, such as fullchain.pem"
        ) from None
    return certificates[0].not_valid_after_utc.timestamp()
