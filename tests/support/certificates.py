"""Certificates of a test, in the forms that Java and other clients read: of an authority, a server and a client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.serialization import pkcs12

PASSWORD = 'tr;u{st} "me" \\1'
"""Opens all stores: with characters that some notation could stumble over."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files in ``folder``: stores for Java (PKCS 12), and the same as text (PEM)."""

    folder: Path

    @property
    def trusted(self) -> Path:
        return self.folder / "trusted.p12"

    def store(self, who: str) -> Path:
        return self.folder / f"{who}.p12"

    def text(self, name: str) -> Path:
        return self.folder / f"{name}.pem"


def certificates(folder: Path, host: str) -> Certificates:
    """Makes all of them: ``server`` is at ``host``, ``client`` may ask."""
    folder.mkdir(parents=True)
    made = Certificates(folder)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(made.text("authority"))
    lock = forms.BestAvailableEncryption(PASSWORD.encode())
    trusted = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(authority.cert_pem.bytes()), b"authority")
    made.trusted.write_bytes(pkcs12.serialize_java_truststore([trusted], lock))
    for who in ("server", "client"):
        issued = authority.issue_cert(host, common_name=who)
        issued.private_key_and_cert_chain_pem.write_to_path(made.text(who))
        key = forms.load_pem_private_key(issued.private_key_pem.bytes(), None)
        own = x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
        store = pkcs12.serialize_key_and_certificates(who.encode(), key, own, None, lock)  # type: ignore[arg-type]
        made.store(who).write_bytes(store)
    return made
