"""The tracking example's training on MuJoCo Warp's processor device: a few steps of it, from the worlds to the agent.
What the learner itself can do is in test_ppo_example.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tracking_worlds import g1

from proctor import InputError, config_from_dict, run_evaluation
from proctor.registry import import_file

torch = pytest.importorskip("torch", reason="the training needs torch")

pytestmark = pytest.mark.timeout(600)  # the first run on a machine compiles kernels
needs_warp = pytest.mark.skipif(
    importlib.util.find_spec("mujoco_warp") is None or importlib.util.find_spec("warp") is None,
    reason="the training needs MuJoCo Warp and Warp: make warp has them",
)

EXAMPLES = Path(__file__).parent.parent / "examples"
SHORT = {"path": "procedural:sway", "clip_s": 0.4}


@pytest.fixture(scope="module")
def script() -> Any:
    return import_file(EXAMPLES / "train_tracking.py")


@pytest.fixture(scope="module")
def training(script: Any) -> Any:
    return import_file(EXAMPLES / "tracking_training.py")


def arguments(script: Any, file: Path, *more: str) -> Any:
    sizes = ("--worlds", "4", "--horizon", "6", "--iterations", "2", "--hidden", "16", "--every", "0")
    found = script.parser().parse_args(["train", str(file), *sizes, "--seconds", "10000", *more])
    found.motions = [SHORT]
    return found


def trained(script: Any, chosen: Any) -> Any:
    run = script.Run(chosen, script.time.monotonic())
    run.learn()
    run.evaluate()
    run.worlds.close()
    return run


@pytest.fixture(scope="module")
def kept(script: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a short training."""
    file = tmp_path_factory.mktemp("training") / "tracking.pt"
    trained(script, arguments(script, file))
    return file


@needs_warp
def test_it_says_how_it_goes_and_what_came_out(script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(script, arguments(script, tmp_path / "tracking.pt", "--seed", "1"))
    said = capsys.readouterr().out
    assert said.count("steps/s") == 0
    assert said.count("M steps") == 2
    assert "upright" in said
    assert "| sway@0-0.4s |" in said
    assert [path.name for path in tmp_path.iterdir()] == ["tracking.pt"]


@needs_warp
def test_training_goes_on_where_it_was(script: Any, kept: Path, tmp_path: Path) -> None:
    file = tmp_path / "again.pt"
    file.write_bytes(kept.read_bytes())
    before = script.read(kept)["learner"]
    run = script.Run(arguments(script, file, "--resume"), script.time.monotonic())
    assert run.learner.steps == before["steps"] == 3 * 6 * 4
    for name, value in before["actor"].items():
        torch.testing.assert_close(run.learner.actor.state_dict()[name], value)
    run.learn()
    run.worlds.close()
    after = script.read(file)["learner"]
    assert after["steps"] == before["steps"] + 2 * 6 * 4
    assert not torch.equal(after["actor"]["layers.0.weight"], before["actor"]["layers.0.weight"])


@needs_warp
def test_an_episode_goes_on_from_where_it_began_to_the_motions_end(script: Any, training: Any) -> None:
    """Worlds that stand still: an episode in the air is over when its motion is, and then its world begins anew."""
    worlds = training.TrackingWorlds(training.task_options([SHORT], "cpu", 0.0), 3, seed=0)
    seen = worlds.start()
    state = worlds.env.worlds
    assert seen.actor.shape == (3, 64 + 29 + 3 * 73)
    assert seen.critic.shape == (3, 64 + 29 + 3 * 73 + 463)
    over = torch.zeros(3, dtype=torch.bool)
    for _ in range(25):
        frames = state.frame.clone()
        stepped = worlds.step(torch.zeros(3, 29))
        over = stepped.terminated | stepped.truncated
        assert not (stepped.terminated & stepped.truncated).any()
        torch.testing.assert_close(state.frame[~over], frames[~over] + 1)
        assert (state.steps[over] == 0).all()
        ended = stepped.truncated & ~stepped.terminated
        assert (frames[ended] + 1 >= state.length[ended] - 1).all()
        assert (stepped.reward[~stepped.terminated] > 0).all()
    counts = worlds.counts()
    assert counts.episodes > 0
    assert counts.upright == 1.0 == counts.lasted
    assert worlds.counts().episodes == 0
    worlds.close()


def untrained(script: Any, path: Path) -> Path:
    """A network that says nothing, exported."""
    ppo = import_file(EXAMPLES / "ppo.py")
    actor = ppo.Actor(64 + 29 + 3 * 73, 29, ppo.LearningCfg(hidden=(16, 8)))
    actor.normaliser.learn(torch.randn(50, 64 + 29 + 3 * 73))
    kept = {"chosen": None, "best": {}, "learner": {"actor": actor.state_dict()}}
    assert script.export(kept | {"about": script.about(g1().description, motions="none", trained="not")}, path) is None
    return path


def test_a_network_that_says_nothing_is_the_mirror(script: Any, tmp_path: Path) -> None:
    """From a config, as an agent like any other: the same trials to the last digit that float32 keeps."""
    pytest.importorskip("onnx", reason="export needs onnx")
    pytest.importorskip("onnxruntime", reason="the agent needs onnxruntime")
    path = untrained(script, tmp_path / "nothing.onnx")
    observations = ["state", "last_action", "reference", "motion", "frame"]
    task = {"motions": [SHORT], "observations": observations, "reference_offsets": [1, 5, 15], "threads": 1}
    config = {
        "agents": [{"name": "mirror", "policy": "tracking/mirror"}, {"policy": "onnx", "checkpoint": str(path)}],
        "tasks": [{"suite": "tracking", "options": task}],
        "workers": "inline",
        "output_root": str(tmp_path / "results"),
    }
    found: dict[str, dict[str, Any]] = {}
    for result in run_evaluation(config_from_dict(config)).results():
        assert result.outcome.scored
        metrics = {name: value for name, value in result.metrics.items() if value is not None}
        found.setdefault(result.trial.agent, {})[result.case] = metrics
    mirror, network = found.pop("mirror"), found.popitem()[1]
    assert mirror.keys() == network.keys()
    for motion, metrics in mirror.items():
        assert metrics["mpjpe_xpos"] > 0
        assert network[motion] == pytest.approx(metrics, rel=1e-3, abs=1e-5)


@needs_warp
def test_what_is_exported_answers_as_the_network_does(script: Any, kept: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="export needs onnx")
    pytest.importorskip("onnxruntime", reason="export is compared with what onnxruntime says")
    found = script.read(kept)
    apart = script.export(found, tmp_path / "tracking.onnx")
    assert apart is not None
    assert apart < 1e-4
    changed = found["chosen"]["sample"]["actions"] + 1.0
    assert script.difference(tmp_path / "tracking.onnx", found["chosen"]["sample"] | {"actions": changed}) > 0.9


def test_other_files_are_refused(script: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file; `train` writes it"):
        script.read(tmp_path / "none.pt")
    (tmp_path / "text.pt").write_text("not this")
    with pytest.raises(InputError, match="was not written by `train`"):
        script.read(tmp_path / "text.pt")
    torch.save({"weights": torch.zeros(2)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="expected the entries learner, best and about"):
        script.read(tmp_path / "other.pt")
