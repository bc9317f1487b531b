"""Preprocessing of pictures: a batch is its pictures one by one, and each is what Pillow makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from proctor.errors import InputError
from proctor.images import resize, resize_with_padding, rotate_180

SIDES = st.integers(1, 40)


def pictures(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def padded_by_pillow(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """One picture, as a policy's own client would do it."""
    ratio = max(picture.shape[1] / width, picture.shape[0] / height)
    inner = max(1, int(picture.shape[0] / ratio)), max(1, int(picture.shape[1] / ratio))
    small = Image.fromarray(picture).resize((inner[1], inner[0]), Image.Resampling.BILINEAR)
    canvas = Image.new("RGB", (width, height), 0)
    canvas.paste(small, ((width - inner[1]) // 2, (height - inner[0]) // 2))
    return np.asarray(canvas)


@settings(max_examples=60, deadline=None)
@given(SIDES, SIDES, SIDES, st.booleans(), st.integers(0, 99))
def test_one_side_resized_equals_pillow(height: int, width: int, wanted: int, upright: bool, seed: int) -> None:
    picture = pictures(seed, height, width)
    size = (wanted, width) if upright else (height, wanted)
    expected = np.asarray(Image.fromarray(picture).resize((size[1], size[0]), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(resize(picture, size), expected)


@settings(max_examples=40, deadline=None)
@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 99))
def test_a_batch_is_its_pictures_one_by_one(height: int, width: int, to_height: int, to_width: int, seed: int) -> None:
    batch = pictures(seed, 2, 3, height, width)
    size = (to_height, to_width)
    together = resize_with_padding(rotate_180(batch), size)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(together[i, j], resize_with_padding(np.rot90(batch[i, j], 2), size))
        alone = padded_by_pillow(np.rot90(batch[i, j], 2), to_height, to_width)
        assert np.abs(together[i, j].astype(int) - alone).max() <= 1


@pytest.mark.parametrize("shape", [(256, 256), (480, 640), (128, 128)])
def test_the_usual_sizes_equal_pillow(shape: tuple[int, int]) -> None:
    batch = pictures(0, 2, *shape)
    np.testing.assert_array_equal(
        resize_with_padding(batch, (224, 224)), np.stack([padded_by_pillow(picture, 224, 224) for picture in batch])
    )


def test_a_wide_picture_has_black_above_and_below() -> None:
    white = np.full((10, 20, 3), 255, np.uint8)
    square = resize_with_padding(white, (9, 10))
    assert square.shape == (9, 10, 3)
    assert square[2:7].min() == 255
    assert square[:2].max() == square[7:].max() == 0


def test_turning_twice_is_nothing_and_a_fitting_picture_stays() -> None:
    batch = pictures(1, 4, 5, 6)
    np.testing.assert_array_equal(rotate_180(rotate_180(batch)), batch)
    assert resize_with_padding(batch, (5, 6)) is batch
    assert resize_with_padding(batch[:0], (8, 8)).shape == (0, 8, 8, 3)


@pytest.mark.parametrize("wrong", [np.zeros((4, 4, 3)), np.zeros((4, 4), np.uint8)])
def test_what_is_no_picture_is_refused(wrong: np.ndarray) -> None:
    for work in (rotate_180, lambda images: resize_with_padding(images, (2, 2))):
        with pytest.raises(InputError, match=r"expected pictures of uint8 \(\.\.\., height, width, channels\)"):
            work(wrong)


def test_no_picture_has_an_empty_side() -> None:
    with pytest.raises(InputError, match="0 x 4 pixels was asked for; a side has at least 1"):
        resize_with_padding(pictures(0, 4, 4), (0, 4))
