"""Run by LeRobot's interpreter: reads a data set with LeRobot's own class and prints what it found, as JSON."""

import json
import sys
from typing import Any

import av
import torch


def declare_operators() -> Any:
    """What torchvision registers when it is imported, also where its compiled part is of another build of torch."""
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


def decoded(path: Any, timestamps: Any, tolerance: float, _backend: Any) -> Any:
    """The frames at these times, which must be there to the tolerance. Torchcodec is not installed."""
    with av.open(str(path)) as film:
        frames = {float(frame.time): frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)}
    found = []
    for wanted in timestamps:
        near = min(frames, key=lambda time: abs(time - wanted))
        assert abs(near - wanted) < tolerance, (near, wanted)
        found.append(torch.as_tensor(frames[near]).permute(2, 0, 1) / 255)
    return torch.stack(found)


if __name__ == "__main__":
    kept = declare_operators()
    import lerobot.datasets.lerobot_dataset as module  # type: ignore[import-not-found]

    module.decode_video_frames = decoded
    data = module.LeRobotDataset("local/set", root=sys.argv[1])
    rows = [data[i] for i in range(len(data))]
    known = {
        "episodes": data.num_episodes,
        "fps": data.fps,
        "task": [row["task"] for row in rows],
        "reward": [float(row["next.reward"]) for row in rows],
        "action": [row["action"].reshape(-1).tolist() for row in rows],
        "film": list(rows[-1]["observation.images.film"].shape),
        "stats": sorted(data.meta.stats),
    }
    print(json.dumps(known))
