"""A trained network as an agent on several tasks with different observations and actions.

The ONNX file holds one small network per task. It takes observations zero-padded to a common width and the
index of each row's task, and gives as many outputs as the widest action needs: the logits of a discrete
action, the values of a continuous one. The policy does the padding, and reads the action from the outputs.
"""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box, Discrete

from proctor import Batch, Policy, SpaceInfo


class TaskNetwork(Policy):
    """`checkpoint`: a file that train_quickstart.py wrote. `noise`: standard deviation of what is added to
    the outputs, drawn from each trial's own generator: a noisy agent is as reproducible as a quiet one."""

    def __init__(self, checkpoint: str, spaces: SpaceInfo, noise: float = 0.0):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(checkpoint, options, providers=["CPUExecutionProvider"])
        self.width: int = self.session.get_inputs()[0].shape[1]
        tasks = self.session.get_modelmeta().custom_metadata_map["tasks"].split(",")
        self.task_index = {task: index for index, task in enumerate(tasks)}
        self.action_spaces = spaces.action
        self.noise = noise

    def act(self, batch: Batch) -> np.ndarray:
        observation = np.zeros((len(batch), self.width), np.float32)
        observation[:, : batch.observation.shape[1]] = batch.observation
        task = np.array([self.task_index[trial.task] for trial in batch.trials])
        output = np.asarray(self.session.run(["output"], {"observation": observation, "task": task})[0])
        if self.noise:
            output = output + self.noise * batch.normal(output.shape[1:], np.float32)
        return self._decode(output, self.action_spaces[batch.trials[0].task])

    @staticmethod
    def _decode(output: np.ndarray, space: Box | Discrete) -> np.ndarray:
        """Rows of a batch share one observation layout; no two tasks here do, so all rows have this space."""
        if isinstance(space, Discrete):
            return output[:, : space.n].argmax(axis=1)
        return np.clip(output[:, : space.shape[0]], space.low, space.high)
