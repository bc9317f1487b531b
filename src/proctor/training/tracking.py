"""Evaluate motion tracking inside a training loop.

    evaluation = TrackingEvaluation(TrackingEvaluationCfg(motions=["motions/"], targets={"emd": 0.75}))
    metrics, log = evaluation.run(timestep=step, agent_or_model=agent, logger=logger)

`metrics` has every metric of every motion by name (means over the motion's episodes), `log` the mean `name` and the
population standard deviation `name#std` over motions. Nothing of training is changed by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proctor.errors import InputError
from proctor.policies.arrays import beside, is_tensor, to_host
from proctor.policies.protocol import SpaceInfo
from proctor.runs.loggers.base import Logger
from proctor.suites.tracking import rotations
from proctor.suites.tracking.metrics import Track, evaluate_tracks, summarize
from proctor.training.callback import Metrics, log_keys
from proctor.training.driving import LatentDriver, PolicyDriver, driver_for, extract_model
from proctor.training.keeping import undisturbed
from proctor.training.lent import LentEnvironment, MotionSource, Starts, fit
from proctor.training.options import TrackingEvaluationCfg
from proctor.training.own import OwnWorlds
from proctor.training.results import Measured, as_rows, by_motion, verdict
from proctor.training.rollout import Episode, run_episodes
from proctor.training.trajectories import write_trajectories
from proctor.training.venues import Venue, lent_venue, own_spaces, own_venue

_START_RAD = 0.1
"""How far a root may be turned from where it was put; a quaternion read in the wrong order is off by far more."""


class TrackingArena:
    """An environment in which a driven agent starts in the first frame of motions and follows the others. Of the
    bodies, only the tracked ones are kept."""

    def __init__(self, env: LentEnvironment, source: MotionSource, driver: PolicyDriver | LatentDriver):
        self._env, self._source, self._driver = env, source, driver
        self._fit = fit(env, source)
        self.num_worlds, self.partial_reset = env.num_worlds, env.partial_reset
        self._ended: Any = None

    def begin(self, worlds: np.ndarray, episodes: Sequence[Episode]) -> Any:
        motions = np.array([episode.item for episode in episodes], np.int64)
        seeds = np.array([episode.seed for episode in episodes])
        self._ended = None
        self._driver.begin(worlds, motions, seeds)
        qpos, qvel = self._source.start(motions)
        observation = self._env.reset(Starts(worlds, motions, *self._fit.outward(qpos, qvel), seeds))
        self._check_orientation(worlds, motions, qpos[:, 3:7])
        return observation

    def _check_orientation(self, worlds: np.ndarray, motions: np.ndarray, wanted: np.ndarray) -> None:
        """Raises InputError where a world does not start in the root orientation (n, 4) wxyz that it was to start in:
        joints alone would not tell that the robot lies on its side."""
        found = to_host(self._env.read().root_quat)[worlds][:, self._fit.quaternion].astype(np.float64)
        apart = 2.0 * np.arccos(np.clip(np.abs((found * wanted).sum(axis=1)), 0.0, 1.0))
        if (apart <= _START_RAD).all():
            return
        bad = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
        down, expected = (rotations.gravity_in(quat[None, bad])[0].round(2) + 0.0 for quat in (found, wanted))
        raise InputError(
            f'world {worlds[bad]} starts motion "{self._source.names[motions[bad]]}" with its root turned by '
            f"{apart[bad]:.2f} rad from the reference's first frame: gravity in the root's frame is {down.tolist()}, "
            f"the reference's is {expected.tolist()}. The environment takes or shows quaternions in another order than "
            "it says (wxyz, xyzw); correct its `quaternion`, or for HumanoidVerse lend "
            'HumanoidVerseEnvironment(env, written="wxyz" or "xyzw")'
        )

    def step(self, observation: Any, items: np.ndarray, frames: np.ndarray) -> Any:
        observation, self._ended = self._env.step(self._driver.act(observation, items, frames))
        return observation

    def read(self) -> dict[str, Any]:
        fields = {**self._env.read()._asdict(), "ended": self._ended}
        fields["body_pos"] = fields["body_pos"][:, beside(fields["body_pos"], self._fit.bodies)]
        return {name: values for name, values in fields.items() if values is not None}

    def track(self, fields: dict[str, np.ndarray]) -> Track:
        """The agent's track of an episode, in the motions' joint order and wxyz, up to where the environment has reset
        the world by itself."""
        ended = np.flatnonzero(fields.get("ended", False))
        until = {name: values[: ended[0]] if len(ended) else values for name, values in fields.items()}
        return Track(
            joint_pos=until["joint_pos"][:, self._fit.joints],
            body_pos=until["body_pos"],
            root_pos=until["root_pos"],
            root_quat=until["root_quat"][:, self._fit.quaternion],
            anchor_quat=until["anchor_quat"][:, self._fit.quaternion],
            observed=until["observed_joint_pos"][:, self._fit.joints] if "observed_joint_pos" in until else None,
        )


class _Kept(NamedTuple):
    """Worlds of our own, and the lent environment that they were made for; None: for nobody's."""

    made_for: Any
    worlds: OwnWorlds
    source: MotionSource


class TrackingEvaluation:
    """A tracking evaluation that can be run again and again; its own environment and motions are made at the first run
    and kept."""

    def __init__(self, cfg: TrackingEvaluationCfg):
        self.cfg = cfg
        self._kept: _Kept | None = None

    def run(
        self, *, timestep: int, agent_or_model: Any, logger: Logger | None = None, env: Any = None, **_: Any
    ) -> tuple[Metrics, dict[str, float]]:
        """Evaluate all motions and log the result at `timestep`. `env`: an environment that the caller lends (see
        `proctor.training.lent`; HumanoidVerse environments and Proctor's vector environment are adapted); None: the
        evaluation's own. Raises InputError for what the user can mend; training is as it was then, too."""
        venue = self._venue(env)
        with undisturbed(*venue, model=extract_model(agent_or_model)):
            measured = self._measure(venue, agent_or_model, timestep)
            if self.cfg.trajectories_dir is not None:
                write_trajectories(Path(self.cfg.trajectories_dir), measured, venue[1], timestep)
            if self.cfg.generate_videos:
                from proctor.training.videos import film

                film(self.cfg, measured, venue[1], timestep)
        metrics = by_motion(measured, venue[1].names)
        log = summarize(metrics.values())
        if self.cfg.targets:
            log |= verdict(metrics, log, self.cfg.targets)
        if logger is not None:
            logger.log(log_keys(self.cfg.name_in_logs, log), timestep)
            logger.log_rows(f"eval/{self.cfg.name_in_logs}/motions", as_rows(metrics, "motion"), timestep)
        return metrics, log

    def spaces(self) -> SpaceInfo:
        """What a loader is told of the evaluation's own environment: makes a Policy to evaluate, as in
        `load_policy(AgentCfg(name="mirror", policy="tracking/mirror"), evaluation.spaces())`."""
        return own_spaces(self.cfg)

    def close(self) -> None:
        """Let go of the worlds that the evaluation has made; the next run makes new ones."""
        if self._kept is not None:
            self._kept.worlds.close()
            self._kept = None

    def _venue(self, env: Any) -> Venue:
        """Where to evaluate and on which motions. Worlds of our own are kept for the next run."""
        if self._kept is not None and self._kept.made_for is env:
            return self._kept.worlds, self._kept.source
        worlds, source = own_venue(self.cfg) if env is None else lent_venue(env, self.cfg)
        if isinstance(worlds, OwnWorlds):
            self.close()
            self._kept = _Kept(env, worlds, source)
        return worlds, source

    def _measure(self, venue: Venue, agent: Any, timestep: int) -> list[Measured]:
        env, source = venue
        lengths = _run_lengths(source, self.cfg.max_episode_length_s)
        stage = TrackingArena(env, source, driver_for(agent, env, source, self.cfg))
        rng = np.random.default_rng([self.cfg.seed, timestep])
        episodes = self._episodes(lengths, env.num_worlds, rng)
        finished = list(run_episodes(stage, episodes, lengths, rng.permutation(env.num_worlds)))
        tracks = [stage.track(one.fields) for one in finished]
        motions = [one.episode.item for one in finished]
        references = {motion: _first(source.track(motion), int(lengths[motion])) for motion in set(motions)}
        values = evaluate_tracks(
            [(track, references[motion]) for track, motion in zip(tracks, motions, strict=True)],
            self.cfg.max_workers,
            legacy=self.cfg.legacy,
            dt_s=source.dt_s,
            device=_device_of(env.read().root_pos),
        )
        worlds = [one.world for one in finished]
        return [Measured(*one) for one in zip(motions, worlds, tracks, values, strict=True)]

    def _episodes(self, lengths: np.ndarray, worlds: int, rng: np.random.Generator) -> list[Episode]:
        """What is to be run, long motions first so that none is left running alone; with `legacy` in the order of the
        library, as that evaluator did."""
        order = np.arange(len(lengths)) if self.cfg.legacy else np.argsort(-lengths, kind="stable")
        motions = np.tile(order, self.cfg.n_episodes_per_motion)
        if self.cfg.include_results_from_all_envs and len(motions) < worlds:
            motions = np.resize(motions, worlds)
        seeds = rng.integers(2**63, size=len(motions)).tolist()
        return [Episode(motion, seed) for motion, seed in zip(motions.tolist(), seeds, strict=True)]


def _device_of(array: Any) -> str | None:
    """The GPU where an array lies, which computes frame-wise metrics, too; None: it lies elsewhere."""
    return str(array.device) if is_tensor(array) and array.is_cuda else None


def _run_lengths(source: MotionSource, limit_s: float | None) -> np.ndarray:
    """Frames of each motion that are run: the first one, and as many steps as the limit allows. Raises InputError for a
    motion of one frame."""
    lengths = np.asarray(source.lengths, np.int64)
    if not len(lengths):
        raise InputError("there is no motion to evaluate")
    if (lengths < 2).any():
        short = source.names[int(np.argmin(lengths))]
        raise InputError(f'motion "{short}" has one frame; there is nothing to track in fewer than 2')
    if limit_s is not None:
        lengths = np.minimum(lengths, 1 + max(1, round(limit_s / source.dt_s)))
    return lengths


def _first(track: Track, frames: int) -> Track:
    """The first frames of a track."""
    return Track(**{name: None if value is None else value[:frames] for name, value in vars(track).items()})
