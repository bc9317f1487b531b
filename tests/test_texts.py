"""Text as bytes in an array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.texts import bytes_to_text, text_to_bytes


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=16))
def test_there_and_back(text: str) -> None:
    row = text_to_bytes(text, 64)
    assert row.dtype == np.uint8
    assert row.shape == (64,)
    assert bytes_to_text(row) == text


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match='the text "öffne" takes 6 bytes; there are 5 bytes for text'):
        text_to_bytes("öffne", 5)
    with pytest.raises(InputError, match="holds a zero character"):
        text_to_bytes("a\0b", 8)
    with pytest.raises(InputError, match=r"found float64 \(3,\); expected a text as uint8 \(length,\)"):
        bytes_to_text(np.zeros(3))
    with pytest.raises(InputError, match="no UTF-8 text"):
        bytes_to_text(np.array([255, 254], np.uint8))
