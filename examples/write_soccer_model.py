"""Write the small model that the soccer example examines: `checkpoints/lunge.onnx`.

    python examples/write_soccer_model.py

One linear layer from the official observation (89 entries, which begin with twelve joint positions and twelve
velocities) to twelve torques: a spring and a damper at each joint, about a pose that leans forward. It lunges towards
the ball, and falls. A policy that was trained has more layers, and goes the same way into a file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUTS, JOINTS = 89, 12
STIFFNESS, DAMPING = 200.0, 5.0
LEG_RAD = (-0.3, 0.0, 0.0, 0.3, -0.3, 0.0)
"""Hip pitch, roll and yaw, knee, ankle pitch and roll."""


def model() -> onnx.ModelProto:
    weights = np.zeros((INPUTS, JOINTS), np.float32)
    weights[:JOINTS] = -STIFFNESS * np.eye(JOINTS)
    weights[JOINTS : 2 * JOINTS] = -DAMPING * np.eye(JOINTS)
    bias = STIFFNESS * np.array(LEG_RAD * 2, np.float32)
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width])
        for name, width in (("observation", INPUTS), ("torques", JOINTS))
    ]
    constants = [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")]
    layer = helper.make_node("Gemm", ["observation", "weights", "bias"], ["torques"])
    graph = helper.make_graph([layer], "lunge", ports[:1], ports[1:], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made


if __name__ == "__main__":
    path = Path(__file__).parent / "checkpoints" / "lunge.onnx"
    path.write_bytes(model().SerializeToString())
    print(f"wrote {path.name}, {path.stat().st_size:,} bytes")
