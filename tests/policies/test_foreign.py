"""Models that no loader reads: the way to one that is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor import ConfigError, config_from_dict
from proctor.policies.files import conversion


@pytest.mark.parametrize(
    ("name", "argument"),
    [("net.h5", "--keras"), ("net.keras", "--keras"), ("net.KERAS", "--keras"), ("net.tflite", "--tflite")],
)
def test_files_of_tensorflow_and_keras_are_led_to_onnx(name: str, argument: str) -> None:
    said = conversion(f"models/{name}")
    assert said is not None
    assert f"python -m tf2onnx.convert {argument} models/{name} --output net.onnx" in said


def test_a_saved_model_is_known_by_its_content(tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()
    assert conversion("policy", tmp_path) is None
    (folder / "saved_model.pb").touch()
    for name in ("policy", "policy/saved_model.pb"):
        assert "tf2onnx.convert --saved-model policy --output policy.onnx" in (conversion(name, tmp_path) or "")


def test_other_files_are_left_to_the_loaders() -> None:
    assert conversion("net.onnx") is None
    assert conversion("net.pb") is None


def test_a_config_says_how(tmp_path: Path) -> None:
    (tmp_path / "net.keras").touch()
    with pytest.raises(ConfigError, match=r'"net.keras" is a model of TensorFlow or Keras.*checkpoint: net.onnx'):
        config_from_dict({"agents": [{"checkpoint": "net.keras"}], "tasks": ["CartPole-v1"]}, tmp_path)
