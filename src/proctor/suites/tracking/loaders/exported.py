"""The `tracking/mjlab` loader: a tracking policy as mjlab exports it, an ONNX file whose metadata say what it observes,
of which robot, and what its output means. Exporters of Isaac Lab that follow BeyondMimic write the same.

The file's network has the inputs `obs` and, for the motion that is bundled with it, `time_step`, on which its actions
do not depend; the reference comes from the task's motions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from proctor.errors import InputError
from proctor.policies.from_onnx import CLOCK, OnnxLoader, in_blocks, port_of
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, State, by_task
from proctor.policies.robot_metadata import ActionMap, RobotMetadata, robot_of
from proctor.policies.robot_terms import FREE, Term
from proctor.suites.tracking.loaders.terms import Terms
from proctor_host.trials import Trial

OBSERVED, ACTIONS = "obs", "actions"


class ExportedOptions(PolicyOptions):
    """`tracking/mjlab` loader."""

    imu_pos_m: tuple[float, float, float] | None = None
    """Where the inertial sensor sits in the root's frame. None: the model's site `imu_in_pelvis`, or where the G1 has
    it."""
    threads: int = Field(default=1, ge=1, le=1024)


class ExportedLoader(OnnxLoader):
    """A tracking policy that mjlab exported: ONNX with its robot's metadata."""

    name: ClassVar[str] = "tracking/mjlab"
    Options: ClassVar[type[PolicyOptions]] = ExportedOptions
    suffixes: ClassVar[tuple[str, ...]] = ()

    def load(self, agent: Any, options: Any, spaces: SpaceInfo, base: Path | None) -> Policy:
        path, where = self.checkpoint(agent, base), f'agent "{agent.name}"'
        session = self.session(path, agent.device, options.threads)
        said = session.get_modelmeta().custom_metadata_map
        metadata = RobotMetadata.read(said, path)
        names = metadata.observation_names
        if names is None or metadata.joint_names is None:
            raise InputError(
                f"{where}: {path.name} does not say what it observes and of which robot (no observation_names and "
                "joint_names in its metadata): it was not exported by mjlab. Run it with policy: onnx, and say so there"
            )
        assert metadata.terms is not None
        terms, maps = {}, {}
        for task in spaces.observation:
            briefing = spaces.briefing[task]() if task in spaces.briefing else None
            robot = robot_of(briefing)
            if robot is None:
                raise InputError(f'{where}: task "{task}" tells of no robot; expected one of the suite tracking')
            maps[task] = ActionMap.between(metadata, *robot, where=f'{where}: task "{task}"')
            terms[task] = Terms.of(briefing, task, options.imu_pos_m)
            _check_terms(names, terms[task], f"{where}: {path.name}")
        sizes = terms[next(iter(terms))].sizes()
        scales = _scales(metadata.terms, sizes, f"{where}: {path.name}")
        _check_inputs(session, sum(sizes[name] for name in names), f"{where}: {path.name}")
        return ExportedPolicy(session, Shown(names, scales, terms), maps)


def _check_terms(names: Sequence[str], terms: Terms, where: str) -> None:
    unknown = [name for name in names if name not in terms.sizes()]
    if unknown:
        raise InputError(
            f"{where} observes {', '.join(unknown)}, which a tracking task does not have (it has "
            f"{', '.join(terms.sizes())}); a policy of another kind runs with policy: onnx"
        )


def _scales(said: Sequence[Term], sizes: Mapping[str, int], where: str) -> list[np.ndarray]:
    """The factors of each term. Raises InputError for a history or a clip of a term, which are not made here."""
    for term in said:
        if term.steps > 1 or term.clip != FREE:
            clip = ";".join(f"{bound:g}" for bound in term.clip)
            raise InputError(
                f"{where} observes {term.name} with a history of {term.history} steps and clipped to {clip}; only "
                "terms of the current step without a clip are made here"
            )
        if term.scale.size not in (1, sizes[term.name]):
            raise InputError(
                f"{where} has {term.scale.size} scales of {term.name}, which has {sizes[term.name]} entries"
            )
    return [term.scale for term in said]


def _check_inputs(session: Any, width: int, where: str) -> None:
    ports = {value.name: port_of(value, 0) for value in session.get_inputs()}
    outputs = [value.name for value in session.get_outputs()]
    if not {OBSERVED} <= set(ports) <= {OBSERVED, CLOCK} or ACTIONS not in outputs:
        raise InputError(
            f"{where} has the inputs {', '.join(ports)} and the outputs {', '.join(outputs)}; an export of mjlab has "
            f"{OBSERVED} (and maybe {CLOCK}), and {ACTIONS}"
        )
    if not ports[OBSERVED].fits((width,)):
        raise InputError(f"{where} wants {ports[OBSERVED]}; the terms that it names have {width} entries together")


@dataclass(frozen=True)
class Shown:
    """What a network is shown: terms by name, each times its scale, of the robot of each task."""

    names: tuple[str, ...]
    scales: Sequence[np.ndarray]
    terms: Mapping[str, Terms]

    def __call__(self, task: str, seen: Mapping[str, np.ndarray], last: np.ndarray) -> np.ndarray:
        parts = [self.terms[task].make(name, seen, last) for name in self.names]
        return np.concatenate([s * part for s, part in zip(self.scales, parts, strict=True)], -1).astype(np.float32)


class ExportedPolicy(Policy):
    """State: what the network gave last, (rows, J), before it was made an action."""

    def __init__(self, session: Any, shown: Shown, maps: Mapping[str, ActionMap]):
        self._session, self._shown, self._maps = session, shown, maps
        ports = [port_of(value, 0) for value in session.get_inputs()]
        self._clocked = any(port.name == CLOCK for port in ports)
        self._block = next((port.rows for port in ports if port.rows is not None), None)

    def reset(self, trials: Sequence[Trial]) -> State:
        return np.zeros((len(trials), self._shown.terms[trials[0].task].joints), np.float32)

    def act(self, batch: Batch) -> Actions:
        observed = by_task(batch.trials, lambda task, rows: self.observe(task, batch, rows))
        feed = {OBSERVED: observed}
        if self._clocked:
            feed[CLOCK] = np.zeros((len(batch), 1), np.float32)
        (given,) = in_blocks(lambda rows: self._session.run([ACTIONS], rows), feed, self._block)
        return Actions(by_task(batch.trials, lambda task, rows: self._maps[task](given[rows])), given)

    def observe(self, task: str, batch: Batch, rows: Any) -> np.ndarray:
        """What the network is shown, (rows, entries) float32."""
        seen = {key: value[rows] for key, value in batch.observation.items()}
        return self._shown(task, seen, np.asarray(batch.state)[rows])
