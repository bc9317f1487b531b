"""Domain randomisation: off by default, drawn per trial, each quantity from a stream of its own."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from tracking_worlds import EVERYTHING_RANDOM, batch_env, episode, g1, options, short_motions, wiggle

from proctor.suites.tracking.randomise import (
    NoiseCfg,
    PushCfg,
    Pushes,
    RandomiseCfg,
    RandomModels,
    SensorNoise,
    streams,
)
from proctor.suites.tracking.worlds import Worlds


def model(seed: int, **cfg):
    """The model of a trial."""
    random = RandomModels(g1().model, RandomiseCfg(**cfg), 2)
    random.draw(1, streams(np.random.default_rng(99)))
    random.draw(1, streams(np.random.default_rng(seed)))
    return random.models[1]


def run(trial: int, **keys) -> tuple[np.ndarray, np.ndarray]:
    """qpos and the observed state of every step of a trial in which the robot stands."""
    env = batch_env(1, observations=["state", "privileged_state", "qpos"], **keys)
    observed = [env.reset([0], [trial], [0])[0]]
    observed += [env.step({0: wiggle(0, k)})[0].observation for k in range(12)]
    env.close()
    return np.array([o["qpos"] for o in observed]), np.array([o["state"] for o in observed])


def test_all_worlds_share_one_model_by_default():
    worlds = Worlds(g1(), short_motions(), 3, options())
    assert len({id(m) for m in worlds._random.models}) == 1
    worlds.close()


@pytest.mark.parametrize(
    "cfg",
    [
        {"mass": [0.7, 1.3]},
        {"friction": [0.1, 0.3]},
        {"stiffness": [0.7, 1.3]},
        {"damping": [0.7, 1.3]},
        {"pushes": {"every_s": [0.05, 0.1]}},
    ],
    ids=lambda cfg: next(iter(cfg)),
)
def test_each_quantity_changes_what_happens_and_the_trial_decides_how(cfg):
    plain, random = run(0)[0], run(0, randomise=cfg)[0]
    np.testing.assert_array_equal(plain[0], random[0])
    assert (plain[-1] != random[-1]).any()
    assert run(0, randomise=cfg)[0].tobytes() == random.tobytes()
    assert (run(1, randomise=cfg)[0][-1] != random[-1]).any()
    assert run(0, randomise=cfg, disable_domain_randomization=True)[0].tobytes() == plain.tobytes()


def test_factors_are_within_their_span():
    base = g1().model
    found = model(3, mass=[0.5, 2.0], friction=[0.5, 0.6], stiffness=[0.9, 1.1], damping=[2.0, 3.0])
    heavy = base.body_mass > 0
    factors = found.body_mass[heavy] / base.body_mass[heavy]
    assert 0.5 <= factors.min() < factors.max() <= 2.0
    np.testing.assert_allclose(found.body_inertia[heavy] / base.body_inertia[heavy], factors[:, None].repeat(3, 1))
    friction = found.geom_friction / base.geom_friction
    np.testing.assert_allclose(friction, friction[0, 0])
    assert 0.5 <= friction[0, 0] <= 0.6
    stiffness = found.actuator_gainprm[:, 0] / base.actuator_gainprm[:, 0]
    np.testing.assert_allclose(found.actuator_biasprm[:, 1], -found.actuator_gainprm[:, 0])
    assert 0.9 <= stiffness.min() < stiffness.max() <= 1.1
    damping = found.actuator_biasprm[:, 2] / base.actuator_biasprm[:, 2]
    assert 2.0 <= damping.min() < damping.max() <= 3.0


def test_what_follows_from_the_masses_follows():
    found = model(3, mass=[2.0, 2.0])
    np.testing.assert_allclose(found.body_subtreemass[1:], 2 * g1().model.body_subtreemass[1:])
    assert (found.dof_invweight0 < g1().model.dof_invweight0).all()


def test_the_base_model_stays_as_it_is():
    before = g1().model.body_mass.copy()
    model(3, mass=[2.0, 2.0])
    np.testing.assert_array_equal(g1().model.body_mass, before)


def test_switching_one_quantity_on_leaves_the_others_as_drawn():
    alone, both = model(3, mass=[0.5, 2.0]), model(3, mass=[0.5, 2.0], friction=[0.5, 0.6], stiffness=[0.5, 2.0])
    np.testing.assert_array_equal(alone.body_mass, both.body_mass)


def test_pushes_come_at_the_drawn_times_and_are_no_larger_than_said():
    cfg = PushCfg(every_s=(0.1, 0.2), velocity_m_s=0.5)
    pushes = Pushes(cfg, 2, dt_s=0.02)
    for world in range(2):
        pushes.start(world, np.random.default_rng(world))
    times: dict[int, list[int]] = {0: [], 1: []}
    for step in range(200):
        for i, change in pushes.due(np.array([0, 1]), np.array([step, step])):
            assert np.hypot(*change) <= 0.5
            times[i].append(step)
    assert times[0] != times[1]
    for pushed in times.values():
        gaps = np.diff([0, *pushed])
        assert gaps.min() >= 5
        assert gaps.max() <= 10
        assert len(pushed) >= 200 // 10 - 1


def test_a_push_changes_the_horizontal_velocity_of_the_root_alone():
    worlds = Worlds(g1(), short_motions(), 1, options(randomise={"pushes": {"every_s": [0.02, 0.02]}}))
    worlds.reset([0], [0], [np.random.default_rng(0)])
    started = []
    step = worlds._physics.step
    worlds._physics.step = lambda models, states, targets: (
        started.append(states.copy()),
        step(models, states, targets),
    )[1]
    worlds.step(np.zeros((1, 29)))
    before = worlds._state.copy()
    worlds.step(np.zeros((1, 29)))
    changed = np.flatnonzero(started[1][0] != before[0])
    assert changed.tolist() == [37, 38]
    worlds.close()


def test_noise_is_on_what_the_sensors_say_only():
    noise = EVERYTHING_RANDOM["noise"]
    (true, clean), (same, noisy) = run(0), run(0, noise=noise)
    np.testing.assert_array_equal(true, same)
    difference = np.abs(noisy - clean)
    limits = NoiseCfg(**noise).amplitudes(29)
    assert limits is not None
    assert (difference <= limits + 1e-6).all()
    assert (difference.max(axis=0) > 0).all()
    assert run(0, noise=noise)[1].tobytes() == noisy.tobytes()
    assert (run(1, noise=noise)[1] != noisy).any()
    assert run(0, noise=noise, disable_obs_noise=True)[1].tobytes() == clean.tobytes()


def test_noise_goes_on_beyond_a_block_and_never_repeats():
    noise = SensorNoise(np.ones(3), 2)
    noise.start(1, np.random.default_rng(0))
    drawn = np.array([noise.take(np.array([1]))[0] for _ in range(3 * SensorNoise.BLOCK)])
    assert len(np.unique(drawn[:, 0])) == len(drawn)
    np.testing.assert_array_equal(noise.take(np.array([0])), 0)


def test_noise_of_a_trial_depends_on_its_seed_alone():
    keys = {"observations": ["state"], "noise": EVERYTHING_RANDOM["noise"]}
    env = batch_env(2, **keys)
    first = episode(env, 0, trial=3, neighbours=[4], steps=4)
    assert episode(env, 1, trial=3, neighbours=[5], steps=4) == first
    env.close()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"mass": [1.2, 0.8]}, r"found \[1.2, 0.8\]; expected \[low, high\] with low <= high"),
        ({"friction": [-1, 1]}, "greater than 0"),
        ({"mas": [1, 1]}, "mas"),
        ({"pushes": {"every_s": [0, 1]}}, "greater than 0"),
    ],
)
def test_wrong_spans_are_refused(keys, message):
    with pytest.raises(ValidationError, match=message):
        RandomiseCfg.model_validate(keys)
