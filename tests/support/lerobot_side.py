"""What a test has done by LeRobot, the genuine one or the double, in the interpreter that has it: `save` writes small
policies with random weights, `select` runs LeRobot's own `select_action` loop on recorded observations, one trial at a
time."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "host" / "src")]

from proctor_host.trials import Trial  # noqa: E402

if importlib.util.find_spec("proctor") is None:
    from proctor_host.child import serve_modules

    serve_modules(str(ROOT / "src"))

from proctor.suites.lerobot.agents.checkpoint import offer_operators  # noqa: E402

offer_operators()
import torch  # noqa: E402
from lerobot.configs.policies import PreTrainedConfig  # noqa: E402
from lerobot.configs.types import FeatureType, PolicyFeature  # noqa: E402
from lerobot.envs.utils import preprocess_observation  # noqa: E402
from lerobot.policies.act.configuration_act import ACTConfig  # noqa: E402
from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig  # noqa: E402
from lerobot.policies.factory import get_policy_class, make_pre_post_processors  # noqa: E402

SMALL: dict[str, dict[str, Any]] = {
    "act": {
        "chunk_size": 8, "n_action_steps": 6, "dim_model": 32, "n_heads": 2, "dim_feedforward": 32,
        "n_encoder_layers": 1, "n_decoder_layers": 1, "n_vae_encoder_layers": 1, "latent_dim": 4,
    },
    "diffusion": {
        "horizon": 8, "n_obs_steps": 2, "n_action_steps": 4, "down_dims": (16, 32), "diffusion_step_embed_dim": 8,
        "spatial_softmax_num_keypoints": 4, "crop_shape": None, "num_train_timesteps": 5,
    },
}  # fmt: skip
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "act": ("act", {}),
    "ensemble": ("act", {"n_action_steps": 1, "temporal_ensemble_coeff": 0.01}),
    "diffusion": ("diffusion", {}),
    "ddim": ("diffusion", {"noise_scheduler_type": "DDIM"}),
}


def save(folder: Path, size: str) -> None:
    """A checkpoint of each case for images of this size, with the statistics of made-up data."""
    inputs = {
        "observation.image": PolicyFeature(FeatureType.VISUAL, (3, int(size), int(size))),
        "observation.state": PolicyFeature(FeatureType.STATE, (2,)),
    }
    outputs = {"action": PolicyFeature(FeatureType.ACTION, (2,))}
    wide = {"mean": 250.0, "std": 100.0, "min": 0.0, "max": 512.0}
    spread = {key: torch.full((2,), value) for key, value in wide.items()}
    stats = {"observation.state": spread, "action": spread}
    narrow = {"mean": 0.5, "std": 0.25, "min": 0.0, "max": 1.0}
    stats["observation.image"] = {key: torch.full((3, 1, 1), value) for key, value in narrow.items()}
    for name, (kind, keys) in CASES.items():
        torch.manual_seed(len(name))
        config_class = {"act": ACTConfig, "diffusion": DiffusionConfig}[kind]
        common = {"input_features": inputs, "output_features": outputs, "device": "cpu"}
        known = {field.name for field in fields(config_class)}
        chosen = {key: value for key, value in {**SMALL[kind], **keys}.items() if key in known}
        config = config_class(**common, pretrained_backbone_weights=None, **chosen)
        policy = get_policy_class(kind)(config)
        for part in (policy.eval(), *make_pre_post_processors(config, dataset_stats=stats)):
            part.save_pretrained(folder / name)


def select(folder: Path, records_folder: str) -> None:
    """For each `INDEX-SEED.npz` of observations: the actions that LeRobot selects, as `INDEX-SEED.actions.npy`."""
    torch.set_num_threads(1)
    records = Path(records_folder)
    config = PreTrainedConfig.from_pretrained(folder)
    config.device = "cpu"
    policy = get_policy_class(config.type).from_pretrained(folder, config=config)
    before, after = make_pre_post_processors(policy.config, pretrained_path=str(folder))
    for file in sorted(records.glob("*.npz")):
        index, seed = map(int, file.stem.split("-"))
        rng = Trial("any", "pusht", index, seed).policy_rng()
        seen = np.load(file)
        policy.reset()
        actions = []
        for pixels, position in zip(seen["pixels"], seen["agent_pos"], strict=True):
            observation: Any = preprocess_observation({"pixels": pixels[None], "agent_pos": position[None]})
            observation["task"] = [""]
            with torch.inference_mode():
                action = policy.select_action(before(observation), **noise(policy, rng))
            actions.append(after(action).numpy()[0])
        np.save(file.with_suffix(".actions.npy"), np.stack(actions))


def noise(policy: Any, rng: np.random.Generator) -> dict[str, Any]:
    """The noise of a policy that needs some now: what it starts from, and a generator for what it draws on the way."""
    config = policy.config
    if config.type != "diffusion":
        return {}
    if len(policy._queues["action"]):
        return {"noise": None}
    start = rng.standard_normal((1, config.horizon, 2), dtype=np.float32)
    own = torch.Generator().manual_seed(int(rng.integers(1 << 63)))
    model = policy.diffusion
    model.conditional_sample = functools.partial(type(model).conditional_sample, model, generator=[own])
    return {"noise": torch.from_numpy(start)}


if __name__ == "__main__":
    verb, place, more = sys.argv[1:]
    {"save": save, "select": select}[verb](Path(place), more)
