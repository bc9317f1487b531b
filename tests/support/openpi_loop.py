"""openpi's own LIBERO evaluation (examples/libero/main.py of a checkout), run as it is against a policy server, on
whatever package `libero` this interpreter finds. Cut short from outside: one task of the benchmark, and an environment
that says it is done after some steps of the policy's. What it did is kept beside: actions and where the hand was.

    ASSETS=FOLDER python openpi_loop.py CHECKOUT PORT BENCHMARK TRIALS STEPS OUT.npz
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np


def import_main(checkout: Path) -> Any:
    """The module; where tyro is not installed, which only its command line needs, without it."""
    libero: Any = importlib.import_module("libero.libero")
    libero._assets_path_cache = os.environ["ASSETS"]  # or it tries a download
    sys.path.insert(0, str(checkout / "packages" / "openpi-client" / "src"))
    if importlib.util.find_spec("tyro") is None:
        sys.modules["tyro"] = types.ModuleType("tyro")
    spec = importlib.util.spec_from_file_location("openpi_main", checkout / "examples" / "libero" / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["openpi_main"] = module
    spec.loader.exec_module(module)
    return module


def shorten(main: Any, steps: int, kept: list[dict[str, Any]]) -> None:
    """One task, and episodes of `steps` steps after the wait; no films where nothing is there to write them."""
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        main.imageio.mimwrite = lambda *_, **__: None
    benchmarks, world = main.benchmark.get_benchmark_dict(), main.OffScreenRenderEnv

    class Watched(world):
        def reset(self) -> Any:
            kept.append({"actions": [], "hands": []})
            return super().reset()

        def step(self, action: Any) -> Any:
            seen, reward, done, info = super().step(action)
            kept[-1]["actions"].append(list(action))
            kept[-1]["hands"].append(np.array(seen["robot0_eef_pos"], np.float64))
            return seen, reward, done or len(kept[-1]["actions"]) == 10 + steps, info

    def one_task(kind: Any) -> Any:
        def make() -> Any:
            found = kind()
            found.n_tasks = 1
            return found

        return make

    main.benchmark.get_benchmark_dict = lambda: {name: one_task(kind) for name, kind in benchmarks.items()}
    main.OffScreenRenderEnv = Watched


def run(checkout: str, port: str, benchmark: str, trials: str, steps: str, out: str) -> None:
    main = import_main(Path(checkout))
    kept: list[dict[str, Any]] = []
    shorten(main, int(steps), kept)
    videos = str(Path(out).parent / "openpi-videos")
    main.eval_libero(
        main.Args(
            host="127.0.0.1",
            port=int(port),
            task_suite_name=benchmark,
            num_trials_per_task=int(trials),
            video_out_path=videos,
        )
    )
    episodes = [one for one in kept if one["actions"]]
    actions, hands = (np.array([one[key][10:] for one in episodes]) for key in ("actions", "hands"))
    np.savez(out, actions=actions, hands=hands)


if __name__ == "__main__":
    run(*sys.argv[1:])
