# SPDX-License-Identifier: Apache-2.0
"""A webhook: JSON by POST, signed as in Standard Webhooks, for which receivers have libraries
(https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping

from bootscope.core.errors import UserError
from bootscope.posting.http import Secret, Server, StatusError, checked_address, patiently, secret_of, shown

KEY = "BOOTSCOPE_WEBHOOK_SECRET"
_PREFIX = "whsec_"
_LEAST_BYTES = 16
_MAKE = f"{KEY}=whsec_$(openssl rand -base64 32), the same for the receiver"


def key_of(environ: Mapping[str, str]) -> Secret:
    """The secret that a webhook is signed with. Raises UserError if there is none, or it is weak."""
    found = secret_of(environ, KEY, hint=_MAKE)
    if len(_key(found)) < _LEAST_BYTES:
        raise UserError(f"{KEY} is too short: {_LEAST_BYTES} bytes are the least", hint=_MAKE)
    return found


def _key(secret: Secret) -> bytes:
    if not secret.text.startswith(_PREFIX):
        raise UserError(f"{KEY} does not begin with {_PREFIX}", hint=_MAKE)
    try:
        return base64.b64decode(secret.text.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise UserError(f"{KEY} is not base64 after {_PREFIX}", hint=_MAKE) from None


def signature(secret: Secret, ident: str, sent_s: int, body: bytes) -> str:
    """The header `webhook-signature` of a delivery sent at `sent_s` seconds since 1970."""
    signed = f"{ident}.{sent_s}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(_key(secret), signed, hashlib.sha256).digest()).decode()}"


def send(url: str, body: bytes, secret: Secret) -> None:
    """POSTs a JSON document; at most three times, under one id.

    Raises UserError for an invalid address and if the receiver refuses, BusyError if it cannot be reached or
    is busy.
    """
    checked_address(url, "the webhook", secret=False)
    server = Server(f"the webhook at {shown(url)}", url, {}, secret)
    ident = f"msg_{secrets.token_hex(16)}"

    def once() -> None:
        sent_s = int(time.time())
        signed = signature(secret, ident, sent_s, body)
        headers = {"webhook-id": ident, "webhook-timestamp": str(sent_s), "webhook-signature": signed}
        server.call("POST", "", body, **{"Content-Type": "application/json"}, **headers)

    try:
        patiently(once)
    except StatusError as error:
        hint = f"is the address right, and {KEY} the receiver's? (bootscope help comments)"
        raise UserError(error.message, hint=hint) from error
