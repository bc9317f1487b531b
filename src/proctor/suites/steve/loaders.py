"""The loader `everl`: an actor of eve_rl from its checkpoint, without eve_rl and without a module of your own.

Such a checkpoint holds the configuration of the algorithm beside the weights. The actor is its `GaussianPolicy`: a head
(nothing, an LSTM or layers), a body of layers, and the mean, whose tanh is the action, in [-1, 1]. eve_rl asks the
network twice for each action of an evaluation, which moves an LSTM on twice; `double_step` does the same. eve_rl does
not reset an LSTM between the episodes of an evaluation; here each trial begins anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from proctor.errors import InputError
from proctor.policies.from_torch import TorchLoader, TorchOptions, TorchPolicy
from proctor.policies.options import PolicyOptions
from proctor.policies.outputs import ActionHead
from proctor.policies.protocol import Policy, SpaceInfo
from proctor.policies.torch_tools import fill_module, read_weights, torch_device
from proctor.suites.endovascular.checkpoints import observation_of


class EveRLOptions(TorchOptions):
    """`everl` loader: those of `torch` for a module of your own; without one, the actor is that of the checkpoint."""

    double_step: bool = False
    """Move an LSTM on twice for each action, as eve_rl's own evaluation does; false: once, as in its training."""


class EveRLLoader(TorchLoader):
    """A checkpoint of eve_rl: its SAC actor, or its weights in a module of yours."""

    name: ClassVar[str] = "everl"
    Options: ClassVar[type[PolicyOptions]] = EveRLOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("torch", "torch"),)
    suffixes: ClassVar[tuple[str, ...]] = (".everl",)

    def load(self, agent: Any, options: Any, spaces: SpaceInfo, base: Path | None) -> Policy:
        if options.module is not None:
            return super().load(agent, options, spaces, base)
        self.require("torch")
        device, path = torch_device(agent.device), self.checkpoint(agent, base)
        content = read_weights(path, str(path), device)
        actor = actor_of(content, options, str(path))
        width = actor.n_observations
        for task, space in spaces.observation.items():
            names = getattr(space, "spaces", None)
            if isinstance(names, dict) and actor.order is not None and set(names) != set(actor.order):
                trained, here = ", ".join(actor.order), ", ".join(names)
                raise InputError(
                    f'{path} was trained on {trained}, and task "{task}" observes {here}; set observed to the former, '
                    "or environment_file to this file"
                )
            if (found := _width(space)) != width:
                raise InputError(
                    f'{path} takes {width} numbers, and the observation of task "{task}" has {found}; set '
                    "tracking_points, tracking_memory and observed as in training, or environment_file to this file"
                )
        options = options.model_copy(update={"recurrent": actor.recurrent})
        return TorchPolicy(actor, options, ActionHead(spaces, options.discrete), device)


def actor_of(content: Any, options: Any, where: str) -> Any:
    """The actor in a checkpoint's content, a `torch.nn.Module`. Raises InputError where there is none that is known."""
    from proctor.suites.steve.actor import Actor

    try:
        weights, algo = content["network_state_dicts"]["policy"], content["algo"]
        head, body = algo["model"]["policy"]["head"], algo["model"]["policy"]["body"]
    except (KeyError, TypeError):
        raise InputError(
            f"{where} is no whole checkpoint of eve_rl's SAC (network_state_dicts.policy, algo.model.policy); for "
            "weights alone set options.module and options.state_dict_key"
        ) from None
    kinds = [str(part.get("_class", "")).rpartition(".")[2] for part in (head, body)]
    if kinds[0] not in ("Dummy", "LSTM", "MLP") or kinds[1] != "MLP":
        raise InputError(f"{where}: a head {kinds[0]} and a body {kinds[1]}; expected Dummy, LSTM or MLP, and MLP")
    order = None
    if isinstance(content.get("env_eval"), dict) and "observation" in content["env_eval"]:
        order = observation_of(content["env_eval"], where)["observed"]
    actor = Actor(weights, float(algo.get("action_scaling", 1.0)), order, options.double_step)
    fill_module(actor, weights, where, strict=True)
    return actor


def _width(space: Any) -> int:
    parts = getattr(space, "spaces", None)
    if parts is None:
        size = 1
        for axis in space.shape:
            size *= int(axis)
        return size
    return sum(_width(part) for part in (parts.values() if isinstance(parts, dict) else parts))
