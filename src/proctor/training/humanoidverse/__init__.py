"""HumanoidVerse (the environments of BFM-Zero: Isaac Sim, Isaac Gym, MuJoCo), lent by a training loop.

A process holds only one such simulator, and all its worlds are reset together. What is used of it:

    env: num_envs, reset(target_states={"dof_states", "root_states"}, to_numpy=False), step(action, to_numpy=False)
    env._env: dt, device, default_dof_pos, env_origins, simulator, _motion_lib, max_episode_length, counters
    env._env.simulator: dof_names, body_names, _rigid_body_pos, _rigid_body_rot, robot_root_states, dof_state
    env._env._motion_lib: _num_unique_motions, _motion_lengths, _motion_data_keys, _curr_motion_ids,
        load_motions(), get_motion_state(ids, times), update_sampling_weight_by_id()
    the expert buffer: motion_ids, file_names, priorities, device, update_priorities(priorities, idxs)

Quaternions are read as xyzw everywhere, and written as the simulator's class takes them; angular velocities are in the
world frame. Tensors stay on the simulator's device until the rollout is over.
"""

from proctor.training.humanoidverse.buffer import HumanoidVerseBuffer
from proctor.training.humanoidverse.environment import HumanoidVerseEnvironment
from proctor.training.humanoidverse.motions import HumanoidVerseMotions

__all__ = ["HumanoidVerseBuffer", "HumanoidVerseEnvironment", "HumanoidVerseMotions"]
