"""Seeds of the matches of an official run."""

from __future__ import annotations

import hashlib
import hmac

MASTER_BYTES, INDEX_BYTES, SEED_BYTES = 32, 8, 8


def match_seed(master: int, index: int) -> int:
    """The seed of one match, below 2**64: HKDF-SHA256 of the master seed, with the index as its purpose. One block of
    the expansion has more bytes than a seed needs."""
    key = hmac.digest(bytes(hashlib.sha256().digest_size), master.to_bytes(MASTER_BYTES, "big"), "sha256")
    block = hmac.digest(key, index.to_bytes(INDEX_BYTES, "big") + b"\x01", "sha256")
    return int.from_bytes(block[:SEED_BYTES], "big")
