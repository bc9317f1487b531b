"""openpi's own code on the other end: its LIBERO evaluation drives an agent of `proctor serve`, and `remote` drives its
policy server.

`PROCTOR_OPENPI` is a checkout of openpi. LIBERO is hf-libero with boxes for its assets where that is installed, else a
double; openpi's evaluation wants imageio, imageio-ffmpeg, tqdm and pillow beside it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import libero_double
import libero_stand_ins
import numpy as np
import pytest
from examining import by_key, examination
from served import served

from proctor import Run, config_from_dict, run_evaluation

OPENPI = os.environ.get("PROCTOR_OPENPI")
pytestmark = [
    pytest.mark.skipif(OPENPI is None, reason="PROCTOR_OPENPI names no checkout of openpi"),
    pytest.mark.filterwarnings("default"),
]
pytest.importorskip("msgpack", reason="the extra `remote` is not installed")
pytest.importorskip("websockets", reason="the extra `remote` is not installed")

SUPPORT = Path(__file__).parents[1] / "support"
PRESET, STEPS, TRIALS = "openpi/libero", 12, 2
SERVER = """
import importlib.util, logging, socket, sys
sys.path.insert(0, sys.argv[1] + "/packages/openpi-client/src")
spec = importlib.util.spec_from_file_location("s", sys.argv[1] + "/src/openpi/serving/websocket_policy_server.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from openpi_client.base_policy import BasePolicy
import numpy as np

class Small(BasePolicy):
    asked = 0

    def infer(self, obs):
        self.asked += 1
        if str(self.asked) in sys.argv[2:]:
            raise MemoryError("out of memory")
        assert set(obs) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}, set(obs)
        assert obs["observation/image"].shape == obs["observation/wrist_image"].shape == (224, 224, 3)
        assert obs["observation/image"].dtype == np.uint8 and obs["observation/state"].dtype == np.float64
        assert obs["observation/state"].shape == (8,) and isinstance(obs["prompt"], str), obs["prompt"]
        seen = sum(float(obs[f"observation/{name}"].sum()) for name in ("image", "wrist_image")) / 977.0
        phase = seen + len(obs["prompt"]) + float(np.abs(obs["observation/state"]).sum())
        actions = np.tile(0.8 * np.sin(phase * np.arange(1, 8)), (10, 1)).astype(np.float32)
        return {"actions": actions, "state": obs["observation/state"]}

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
print(port, flush=True)
module.WebsocketPolicyServer(Small(), "127.0.0.1", port, {"name": "small"}).serve_forever()
"""


class Room(NamedTuple):
    """A LIBERO to run in: its first task of `benchmark`, and where openpi's evaluation finds the packages."""

    benchmark: str
    options: dict[str, Any]
    environment: dict[str, str]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    if importlib.util.find_spec("libero") is None or importlib.util.find_spec("robosuite") is None:
        pytest.importorskip("torch", reason="the double saves its states with torch")
        root = libero_double.install(tmp_path / "site", monkeypatch)
        config, assets = tmp_path / "config", root / "assets"
        paths, benchmark = [str(tmp_path / "site"), str(SUPPORT)], "spatial"
    else:
        from proctor.suites.libero.installation import package_folder

        root, config, paths, benchmark = package_folder(), tmp_path / "config", [], "object"
        assets = libero_stand_ins.write_assets(tmp_path / "assets")
    config.mkdir()
    kinds = {"benchmark_root": root, "bddl_files": root / "bddl_files", "init_states": root / "init_files"}
    lines = [f"{key}: {path}\n" for key, path in {**kinds, "datasets": root, "assets": assets}.items()]
    (config / "config.yaml").write_text("".join(lines))
    options = {"benchmark": benchmark, "task": 0, "scenes": "sequence", "assets_folder": str(assets), "video_px": 16}
    monkeypatch.setenv("LIBERO_CONFIG_PATH", str(config))
    yield Room(benchmark, options, {"PYTHONPATH": os.pathsep.join(paths), "ASSETS": str(assets)})
    libero_double.forget()


def examined(folder: Path, room: Room, agent: dict[str, Any]) -> dict[str, Any]:
    tasks = [{"suite": "libero", "options": room.options}]
    return examination(folder, agents=[agent], tasks=tasks, n_trials=TRIALS, max_episode_steps=STEPS)


def looker(horizon: int) -> dict[str, Any]:
    kwargs = {"horizon": horizon, "noise": 0.0}
    return {"name": "looker", "policy": f"{SUPPORT / 'lookers.py'}:Looker", "options": {"kwargs": kwargs}}


def recorded(run: Run) -> Callable[[str], np.ndarray]:
    results = [result for _, result in sorted(by_key(run).items())]
    assert all(result.outcome.scored and result.error is None for result in results), [r.error for r in results]
    files = [run.path / str(result.npz) for result in results]
    return lambda key: np.stack([np.load(file)[key] for file in files])


def test_openpis_evaluation_drives_an_agent_as_a_run_here_does(tmp_path: Path, room: Room) -> None:
    """Both loops: the same actions, and a hand at the same places, to the last bit. openpi's takes five of eight."""
    local = recorded(run_evaluation(config_from_dict(examined(tmp_path / "local", room, looker(5)))))
    out = tmp_path / "openpi.npz"
    with served(examined(tmp_path, room, looker(8)), keys=PRESET) as url:
        command = [sys.executable, str(SUPPORT / "openpi_loop.py"), str(OPENPI), url.rsplit(":", 1)[1]]
        command += [f"libero_{room.benchmark}", str(TRIALS), str(STEPS), str(out)]
        ran = subprocess.run(
            command, env={**os.environ, **room.environment}, capture_output=True, text=True, timeout=900, check=False
        )
    assert ran.returncode == 0, ran.stderr[-3000:]
    with np.load(out) as theirs:
        assert theirs["actions"].shape == (TRIALS, STEPS, 7)
        np.testing.assert_array_equal(theirs["actions"], local("actions"))
        np.testing.assert_array_equal(theirs["hands"], local("hand_pos"))
    assert len(np.unique(local("actions")[:, ::5, 0])) > TRIALS, "actions follow what is seen"


@pytest.mark.parametrize("breaks", [[], ["2", "5"]], ids=["well", "with errors in between"])
def test_remote_drives_openpis_server_without_a_table_of_keys(tmp_path: Path, room: Room, breaks: list[str]) -> None:
    """The server's small policy acts as `Looker` does, which a run here says too. Its errors come once, and cost
    nothing."""
    local = recorded(run_evaluation(config_from_dict(examined(tmp_path / "local", room, looker(5)))))
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(OPENPI), *breaks], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        options = {"port": int(server.stdout.readline()), "keys": PRESET}
        waiting(options["port"])
        far = {"name": "far", "policy": "remote", "options": options}
        remote = recorded(run_evaluation(config_from_dict(examined(tmp_path / "far", room, far))))
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()  # type: ignore[union-attr]
    np.testing.assert_array_equal(remote("actions"), local("actions"))
    np.testing.assert_array_equal(remote("hand_pos"), local("hand_pos"))


def waiting(port: int) -> None:
    """Until openpi's server answers its health check."""
    import time
    import urllib.request

    for _ in range(200):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                assert answer.status == 200
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("openpi's server did not come up")
