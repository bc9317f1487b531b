"""The adapter for MineCLIP and STEVE-1's prior, on doubles that do what the genuine classes did."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.runtimes import specify
from proctor.suites.goals.models import GoalModelCfg, Surroundings, encoder_hash, home_of, make_goal_model
from proctor.suites.goals.protocol import GoalModel, goals_of, pictures_of, texts_of

torch = pytest.importorskip("torch")
import mineclip_double  # noqa: E402
from own_runtimes import make_venv  # noqa: E402

DOUBLE = Path(__file__).parents[2] / "support" / "mineclip_double.py"
TEXTS = ["chop tree", "hunt pig"]


def windows(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 16, 160, 256, 3), dtype=np.uint8)


# A function of the user's -----------------------------------------------------------------------------------------


@pytest.fixture
def words(tmp_path: Path) -> None:
    mineclip_double.use_tokenizer(mineclip_double.write_tokenizer(tmp_path))


def model(**kwargs: str) -> GoalModel:
    cfg = GoalModelCfg(target="mineclip", kwargs={"load": f"{DOUBLE}:load", **kwargs})
    return make_goal_model(cfg, Surroundings())


def test_shapes_spaces_and_window(words: None) -> None:
    made = model()
    assert (made.window, made.frame_size) == (16, (160, 256))
    goals, seen = goals_of(made, TEXTS, np.random.default_rng(0)), pictures_of(made, windows(2))
    assert goals.vectors.shape == seen.vectors.shape == (2, 512)
    assert goals.space == seen.space == "mineclip/video"
    texts = texts_of(made, TEXTS)
    assert texts is not None
    assert (texts.space, texts.vectors.dtype) == ("mineclip/text", np.float32)


def test_goals_come_from_the_generator_that_is_handed_in_and_from_no_other(words: None) -> None:
    made = model()
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first = made.embed_goal(TEXTS, np.random.default_rng(1))
    assert torch.rand(1) == expected
    assert (made.embed_goal(TEXTS, np.random.default_rng(1)) == first).all()
    assert (made.embed_goal(TEXTS, np.random.default_rng(2)) != first).any()


def test_a_function_like_steves_gives_the_same_goals(words: None) -> None:
    ours = model().embed_goal(TEXTS, np.random.default_rng(3))
    theirs = model(get_prior_embed=f"{DOUBLE}:get_prior_embed").embed_goal(TEXTS, np.random.default_rng(3))
    assert (ours == theirs).all()


def test_windows_are_encoded_in_blocks_that_change_nothing() -> None:
    made, many = model(), windows(10)
    alone = np.concatenate([made.encode_frames(many[i : i + 1]) for i in range(10)])
    assert made.encode_frames(many) == pytest.approx(alone, abs=1e-5)


def test_other_weights_have_other_spaces() -> None:
    assert model(space="mine").space == "mine/video"
    assert model(space="mine").text_space == "mine/text"


def test_frames_of_another_size_are_refused() -> None:
    with pytest.raises(InputError, match=r"takes uint8 windows \(16, 160, 256, 3\); found uint8 \(16, 64, 64, 3\)"):
        pictures_of(model(), np.zeros((1, 16, 64, 64, 3), np.uint8))


def test_a_loader_that_gives_one_model_is_told() -> None:
    with pytest.raises(InputError, match=r"load_one gave a MineCLIP; expected two models: \(mineclip, prior\)"):
        model(load=f"{DOUBLE}:load_one")
    with pytest.raises(InputError, match="gives both models with their weights; leave out the other kwargs"):
        model(prior="p.pt")


# Checkpoint files, and no function ------------------------------------------------------------------------------------


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doubles' packages on the path, as checkouts are; gone afterwards."""
    ours = ("mineclip", "steve1")
    monkeypatch.syspath_prepend(str(mineclip_double.CHECKOUT))
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        del sys.modules[name]


def of_files(kwargs: dict[str, Any], **cfg: Any) -> GoalModel:
    return make_goal_model(GoalModelCfg.model_validate({"target": "mineclip", "kwargs": kwargs, **cfg}), Surroundings())


@pytest.mark.usefixtures("checkout")
def test_checkpoints_of_both_models_need_no_loader(tmp_path: Path) -> None:
    files = mineclip_double.write_checkpoints(tmp_path)
    made = of_files(files)
    assert (made.space, made.text_space) == ("mineclip-attn/video", "mineclip-attn/text")
    goals = goals_of(made, TEXTS, np.random.default_rng(0)).vectors
    clip, prior = mineclip_double.mineclip(), mineclip_double.translator()
    clip.load_ckpt(torch.load(files["mineclip"]), strict=True)
    prior.load_state_dict(torch.load(files["prior"]))
    mineclip_double.use_tokenizer(Path(files["tokenizer"]))
    rng = np.random.default_rng(0)
    for text, goal in zip(TEXTS, goals, strict=True):
        torch.manual_seed(int(rng.integers(2**63)))
        assert (mineclip_double.get_prior_embed(text, clip, prior, "cpu")[0] == goal).all()
    assert pictures_of(made, windows(1)).vectors.shape == (1, 512)


@pytest.mark.usefixtures("checkout")
def test_the_pooling_follows_from_the_weights_and_other_weights_have_another_print(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    attn = mineclip_double.write_checkpoints(tmp_path)
    avg = mineclip_double.write_checkpoints(tmp_path / "other", "avg")
    one, other = of_files(attn), of_files(avg)
    assert (one.space, other.space) == ("mineclip-attn/video", "mineclip-avg/video")
    cfg = GoalModelCfg(target="mineclip", kwargs=attn)
    assert encoder_hash(cfg, one, None) != encoder_hash(cfg, other, None)
    assert of_files({**avg, "space": "mine"}).space == "mine/video"


class Bomb:
    def __reduce__(self) -> Any:
        return print, ("boom",)


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mineclip": None}, r"needs the checkpoint files of both models, kwargs: \{mineclip: ./attn.pth"),
        ({"mineclip": "gone.pth"}, r"no file gone.pth; name the checkpoint in kwargs"),
        ({"mineclip": "steve1_prior.pt"}, r"is no checkpoint of MineCLIP: it has no state_dict"),
        ({"prior": "attn.pth"}, r"is no checkpoint of STEVE-1's prior: it has no decoder.0.weight"),
        ({"prior": "bomb.pt"}, r"bomb.pt cannot be read as a file of weights: .*; save it again as a state_dict"),
        ({"prior": "cut.pt"}, r"the weights in .*cut.pt do not fit STEVE-1's prior: .*Missing key"),
        ({"mineclip": "cut.pth"}, r"the weights in .*cut.pth do not fit MineCLIP .*Missing key"),
        ({"config": {"hidden_dim": 256}}, r"MineCLIP does not take this config"),
        ({"tokenizer": "."}, r"has no tokenizer_config.json; expected a folder of openai/clip-vit-base-patch16"),
        ({"poolng": "avg"}, r"has no argument poolng; it takes mineclip, prior, config, tokenizer, load"),
    ],
)
def test_wrong_files_and_arguments_are_one_sentence(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    files: dict[str, Any] = mineclip_double.write_checkpoints(tmp_path)
    torch.save(Bomb(), tmp_path / "bomb.pt")
    prior, clip = torch.load(files["prior"]), torch.load(files["mineclip"])
    prior.pop("encoder.0.bias")
    clip["state_dict"].pop("model.clip_model.words.weight")
    torch.save(prior, tmp_path / "cut.pt")
    torch.save(clip, tmp_path / "cut.pth")
    for key, value in change.items():
        files[key] = str(tmp_path / value) if isinstance(value, str) and value not in ("gone.pth", "avg") else value
    with pytest.raises(InputError, match=words) as error:
        of_files(files)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("checkout")
def test_what_their_code_raises_is_one_sentence(tmp_path: Path) -> None:
    files = {key: file for key, file in mineclip_double.write_checkpoints(tmp_path).items() if key != "tokenizer"}
    expected = (
        r"^MineClipGoals.encode_text raised OSError: We couldn't connect to the hub .* \(tokenization.py, line \d+\)$"
    )
    with pytest.raises(InputError, match=expected):
        texts_of(of_files(files), TEXTS)


def test_without_their_code_it_says_what_to_install(tmp_path: Path) -> None:
    files = mineclip_double.write_checkpoints(tmp_path)
    home = home_of(GoalModelCfg(target="mineclip", kwargs=files))
    assert home is not None
    assert home.name == "steve1"
    with pytest.raises(InputError, match=r"proctor runtimes install steve1"):
        of_files(files)
    here = home_of(GoalModelCfg(target="mineclip", kwargs={"load": "mine:load"}))
    assert here is None


def test_checkpoints_in_a_runtime_give_the_bytes_that_they_give_here(
    tmp_path: Path, checkout: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = mineclip_double.write_checkpoints(tmp_path)
    here = of_files(files)
    python = make_venv(tmp_path / "venv")
    site = next((tmp_path / "venv" / "lib").glob("*/site-packages"))
    (site / "steve1.pth").write_text(f"{mineclip_double.CHECKOUT}\n")
    there = of_files(files, runtime={"python": str(python)})
    assert (there.space, there.text_space, there.fingerprint) == (here.space, here.text_space, here.fingerprint)
    rngs = np.random.default_rng(4), np.random.default_rng(4)
    ours, theirs = (goals_of(made, TEXTS, rng).vectors for made, rng in zip((here, there), rngs, strict=True))
    assert ours.tobytes() == theirs.tobytes()
    assert rngs[0].integers(2**63) == rngs[1].integers(2**63)
    assert pictures_of(there, windows(1)).vectors == pytest.approx(pictures_of(here, windows(1)).vectors, abs=1e-5)
    with pytest.raises(InputError, match=r"is no checkpoint of STEVE-1's prior"):
        of_files({**files, "prior": files["mineclip"]}, runtime={"python": str(python)})


# The recipe -----------------------------------------------------------------------------------------------------------


def test_the_recipe_puts_two_checkouts_on_the_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'the recipe "steve1" needs the option "mineclip", a checkout of MineDojo'):
        specify("steve1")
    double = str(mineclip_double.CHECKOUT)
    with pytest.raises(InputError, match=r"is no checkout of STEVE-1: it has no steve1/data/text_alignment/vae.py"):
        specify("steve1", {"mineclip": double, "steve1": str(tmp_path)})
    found = specify("steve1", {"mineclip": double, "steve1": double})
    assert found.path == (double, double)
    assert "x_transformers==0.27.1" in found.packages
