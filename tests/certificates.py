# SPDX-License-Identifier: Apache-2.0
"""Certificates for the TLS of a test: an authority of its own, and one certificate for all who talk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_DAY = timedelta(days=1)


def settings(folder: Path) -> dict[str, str]:
    """Makes certificates in a folder; returns Dask's settings that name them, as environment variables."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"authority of {folder.name}")])
    ca = _begun(name, name, authority).add_extension(x509.BasicConstraints(True, None), True)
    here = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    cert = _begun(subject, name, own).add_extension(here, False)
    _write(folder / "ca.pem", ca.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    _write(
        folder / "cert.pem", cert.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    key = own.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(folder / "key.pem", key)
    prefix = "DASK_DISTRIBUTED__COMM__"
    files = {"CERT": "cert.pem", "KEY": "key.pem"}
    own_files = {
        f"{prefix}TLS__{role}__{kind}": str(folder / file)
        for role in ("SCHEDULER", "WORKER", "CLIENT")
        for kind, file in files.items()
    }
    return {
        f"{prefix}REQUIRE_ENCRYPTION": "True", f"{prefix}TLS__CA_FILE": str(folder / "ca.pem"), **own_files,
    }  # fmt: skip


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)
