"""The whole path from Python: a config as a dict, a run, and what came out of it.

python examples/01_python_api.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from proctor import config_from_dict, run_evaluation

CHECKPOINT = Path(__file__).parent / "checkpoints" / "cartpole.onnx"

config = config_from_dict(
    {
        "name": "python-api",
        "agents": [
            {"name": "random", "policy": "random"},
            {"name": "network", "policy": "onnx", "checkpoint": str(CHECKPOINT)},
        ],
        "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1", "success": {"return_at_least": 475}}}],
        "n_trials": 10,
        "workers": "inline",
        "scoring": "return",
    }
)


def main() -> None:
    run = run_evaluation(config)
    print(f"everything is in {run.path}")

    print("\nThe report, as in report.json:")
    for agent in run.report()["agents"]:
        print(f"  {agent['agent']:<8} return {agent['score_mean']:5.1f}, success {agent['success_rate']:.0%}")

    print("\nThe trials, one row each:")
    for result in run.results():
        if result.trial.index == 0:
            print(f"  {result.trial.key:<22} {result.outcome:<10} {result.steps_total} steps")

            assert result.npz is not None
            with np.load(run.path / result.npz) as arrays:
                print(f"    {result.npz}: {', '.join(f'{k} {v.shape}' for k, v in arrays.items())}")


if __name__ == "__main__":
    main()
