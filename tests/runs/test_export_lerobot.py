"""LeRobot's own class reads an exported data set, films included, where its runtime is installed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from proctor import InputError, config_from_dict, run_evaluation
from proctor.config.models import RuntimeCfg
from proctor.runs.export import Choice, chosen, write_lerobot
from proctor.runtimes import Located, locate

READER = Path(__file__).parents[1] / "support" / "lerobot_reading.py"


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Located:
    """In `$PROCTOR_REAL_RUNTIMES`, else where runtimes are by default."""
    if (real := os.environ.get("PROCTOR_REAL_RUNTIMES")) is not None:
        monkeypatch.setenv("PROCTOR_RUNTIMES", real)
    else:
        monkeypatch.delenv("PROCTOR_RUNTIMES")
    try:
        return locate(RuntimeCfg(name="lerobot"))
    except InputError as error:
        pytest.skip(str(error))


def test_lerobot_reads_every_row_and_every_frame(there: Located, tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict({
        "agents": [{"name": "a", "policy": "random"}], "tasks": [{"suite": "endovascular", "n_trials": 2}],
        "max_episode_steps": 6, "workers": "inline", "output_root": str(tmp_path / "runs"),
        "record": {"level": "video", "observations": True, "video": {"trials": "all"}},
    }))  # fmt: skip
    write_lerobot(chosen(run, Choice()), tmp_path / "set")
    environment = {**there.environment(), "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    line = [str(there.python), "-W", "ignore", str(READER), str(tmp_path / "set")]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    signals = [run.signals(result) for result in run.results()]
    assert found["episodes"] == 2
    np.testing.assert_allclose(found["reward"], np.concatenate([own["rewards"] for own in signals]), rtol=1e-6)
    np.testing.assert_array_equal(found["action"], np.concatenate([own["actions"] for own in signals]))
    assert set(found["stats"]) >= {"action", "observation.images.film", "next.reward"}
