"""The `soccer/submission` loader: a contestant's folder, run as the competition's own runner (`sai_rl`) runs it.

For each observation: the class with `modify_state`, where the folder has one; the model; then the folder's
`action_function`. Without one, the runner reads what a model gives as shares of the task's bounds, -1 to 1, and clips
it there: a model that gives torques is then driven from bound to bound. That is what the official number is made of.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from proctor.errors import BREAKS, InputError
from proctor.policies.from_onnx import OnnxLoader, OnnxOptions
from proctor.policies.from_torch import TorchLoader, TorchOptions
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions, PreprocessorCfg
from proctor.policies.preprocess import Preprocessor
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, State, by_task
from proctor.policies.torch_tools import to_arrays, to_tensors, torch_device
from proctor.registry import import_file, signature_of
from proctor.spaces import OBSERVATION, is_handed
from proctor.suites.soccer.loaders.contents import Contents, Piece, read_contents
from proctor_host.trials import Trial


class SubmissionOptions(PolicyOptions):
    """`soccer/submission` loader. What is left out is found, where the folder has one of its kind."""

    info: bool = True
    module: str | None = None
    """`file.py:Name`: the class of the model. `none`: the file of weights is the model."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Of that class. Its only other argument is the path of the weights."""
    weights: str | None = None
    """The name of the file of weights."""
    preprocessor_class: str | None = None
    """`file.py:Name`: the class with `modify_state`. `none`: the model sees the environment's observation."""
    action_function: str | None = None
    """`file.py:Name`. `none`: what the model gives are shares of the task's bounds."""
    output: int = Field(default=0, ge=0, le=1000)
    """Where the actions are in a tuple that the model gives."""
    seed: int = Field(default=0, ge=0, le=2**63 - 1)
    """Of torch, while the model is made: some draw noise for their weights."""


@dataclass(frozen=True)
class Found:
    """What of a folder makes the agent."""

    module: Piece | None
    weights: Path | None
    preprocessor: Piece | None
    action_function: Piece | None

    def code(self) -> list[str]:
        """What would run when it is loaded and asked."""
        pieces = [str(p) for p in (self.module, self.preprocessor, self.action_function) if p is not None]
        return pieces + [p.name for p in (self.weights,) if p is not None and p.suffix != ".onnx"]


class SubmissionLoader(Loader):
    """A soccer task: a contestant's submission folder, as the competition's runner runs it."""

    name: ClassVar[str] = "soccer/submission"
    Options: ClassVar[type[PolicyOptions]] = SubmissionOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("torch", "torch"),)
    folders: ClassVar[bool] = True

    def load(self, agent: Any, options: SubmissionOptions, spaces: SpaceInfo, base: Path | None) -> Policy:
        path = self.checkpoint(agent, base)
        found = _found(read_contents(path), options)
        if found.code() and not options.trust:
            raise InputError(
                f'agent "{agent.name}": {path} holds code that would run on this machine with your rights '
                f"({', '.join(found.code())}); read it, then set options: {{trust: true}}"
            )
        preprocess, seen = _preprocessor(found.preprocessor, spaces)
        model = self._model(agent, options, found, SpaceInfo(seen, dict(spaces.action), spaces.briefing))
        actions = {task: _action_rule(found.action_function, spaces, task) for task in spaces.action}
        return SubmissionPolicy(model, preprocess, actions)

    def _model(self, agent: Any, options: SubmissionOptions, found: Found, spaces: SpaceInfo) -> Policy:
        if found.module is None and found.weights is not None and found.weights.suffix == ".onnx":
            asked = agent.model_copy(update={"checkpoint": str(found.weights)})
            return OnnxLoader().load(asked, OnnxOptions(), spaces, None)
        torch = self.require("torch")
        device = torch_device(agent.device)
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.manual_seed(options.seed)
            module = _module(options, found, device)
        return TorchModel(module.to(device).eval(), options.output, device)


def _found(contents: Contents, options: SubmissionOptions) -> Found:
    module = contents.piece("module", contents.modules, options.module)
    weights = contents.weights_file(options.weights)
    if module is None and weights is None:
        raise InputError(
            f"{contents.folder} holds no model: neither a class of torch modules nor a file that ends in .pt, .pth or "
            ".onnx. Name the folder that has them; a Stable-Baselines3 file is read with policy: sb3"
        )
    pieces = (contents.preprocessors, options.preprocessor_class), (contents.action_functions, options.action_function)
    (classes, wanted_class), (functions, wanted_function) = pieces
    preprocessor = None
    if options.preprocessor is None:
        preprocessor = contents.piece("preprocessor_class", classes, wanted_class)
    return Found(module, weights, preprocessor, contents.piece("action_function", functions, wanted_function))


def _module(options: SubmissionOptions, found: Found, device: Any) -> Any:
    """The torch module: TorchScript, or one of the folder's own class, which is told where the weights are, or gets
    them afterwards."""
    path = None if found.weights is None else found.weights.resolve()
    if found.module is None:
        assert path is not None
        return TorchLoader().module(path, TorchOptions(trust=True), device, None)
    made = getattr(import_file(found.module.file), found.module.name)
    needed = [
        p.name for p in signature_of(made, str(found.module)).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in options.kwargs
    ]  # fmt: skip
    if len(needed) > 1 or (needed and path is None):
        raise InputError(
            f"{found.module} takes {', '.join(needed)}, and nobody says what these are; a submission's model takes the "
            f"path of its weights alone. Give the rest with options: {{kwargs: {{{needed[0]}: ...}}}}"
        )
    if needed or path is None:
        return _made(made, found.module, {**options.kwargs, **{name: str(path) for name in needed}})
    target = f"{found.module.file.resolve()}:{found.module.name}"
    given = TorchOptions(trust=True, torchscript=False, module=target, kwargs=options.kwargs)
    return TorchLoader().module(path, given, device, None)


def _made(model: Any, piece: Piece, kwargs: Mapping[str, Any]) -> Any:
    """A model of the contestant's class. Whatever its lines raise is told with the file that they were given."""
    try:
        return model(**kwargs)
    except BREAKS as error:
        given = ", ".join(f"{key}={value}" for key, value in kwargs.items())
        raise InputError(
            f"{piece} could not be made with {given or 'no arguments'}: {error!r}. Is that file what the class reads?"
        ) from error


def _preprocessor(piece: Piece | None, spaces: SpaceInfo) -> tuple[Preprocessor | None, dict[str, Any]]:
    """What makes the model's observation, and the spaces that the model then sees."""
    observed: Mapping[str, Any] = spaces.observation
    if piece is None:
        return None, {task: s.spaces[OBSERVATION] if is_handed(s) else s for task, s in observed.items()}
    task = next(iter(observed))
    made = piece.made(spaces.action[task], observed[task])
    preprocess = Preprocessor(PreprocessorCfg(target=str(piece)), observed, None, made)
    return preprocess, {task: preprocess.space(task) for task in observed}


def _action_rule(piece: Piece | None, spaces: SpaceInfo, task: str) -> Callable[[np.ndarray], np.ndarray]:
    space = spaces.action[task]
    if piece is None:
        return lambda given: of_bounds(given, space)
    function = piece.made(space, spaces.observation[task])
    return lambda given: np.concatenate([np.asarray(function(row[None])) for row in given]).astype(space.dtype)


def of_bounds(given: np.ndarray, space: Any) -> np.ndarray:
    """Shares of the task's bounds, clipped to -1 and 1: the arithmetic of the competition's runner, to the last bit.
    Without bounds, what was given."""
    if not space.is_bounded():
        return given
    share = np.minimum(np.maximum((given + 1) / 2, 0), 1)
    return space.low + (space.high - space.low) * share


class TorchModel(Policy):
    """A torch module that gives actions, or a tuple with them."""

    def __init__(self, module: Any, output: int, device: Any):
        self._module, self._output, self._device = module, output, device

    def act(self, batch: Batch) -> np.ndarray:
        import torch

        with torch.inference_mode():
            answer = self._module(to_tensors(batch.observation, self._device))
        if isinstance(answer, tuple | list):
            if len(answer) <= self._output:
                raise TypeError(f"options.output is {self._output}, but the model gave a tuple of {len(answer)}")
            answer = answer[self._output]
        return to_arrays(answer)


class SubmissionPolicy(Policy):
    """Preprocessor, model, actions."""

    def __init__(self, model: Policy, preprocess: Preprocessor | None, actions: Mapping[str, Any]):
        self._model, self._preprocess, self._actions = model, preprocess, actions

    def reset(self, trials: Sequence[Trial]) -> State:
        return self._model.reset(trials)

    def act(self, batch: Batch) -> Actions:
        seen = batch.observation
        if self._preprocess is not None:
            seen = self._preprocess(seen, batch.trials)
        elif isinstance(seen, dict) and OBSERVATION in seen:
            seen = seen[OBSERVATION]
        answer = self._model.act(replace(batch, observation=seen))
        given = answer if isinstance(answer, Actions) else Actions(answer)
        values = np.asarray(given.actions)
        return Actions(by_task(batch.trials, lambda task, rows: self._actions[task](values[rows])), given.state)
