"""`proctor list` and `proctor doctor`: what they say, for people and for machines."""

from __future__ import annotations

import importlib.util
import json

import pytest
import typer
from typer.testing import CliRunner

from proctor.cli import doctor, probes
from proctor.cli.doctor import Check
from proctor.cli.list import inventory, list_command
from proctor.errors import InputError


def invoke(command, *arguments: str) -> str:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_the_list_for_machines_is_the_inventory():
    assert json.loads(invoke(list_command, "--json")) == inventory()


def test_everything_listed_can_be_named_in_a_config():
    from proctor.config import config_from_dict

    parts = inventory()
    assert {"endovascular", "gymnasium", "soccer", "steve", "tracking"} <= {s["name"] for s in parts["suites"]}
    assert {"default_v1", "ranking_v1", "success", "return", "terminal"} <= {s["name"] for s in parts["scorings"]}
    needed = {"terminal": {"weights": {"goal_scored": 1.0}}}
    for name in (scoring["name"] for scoring in parts["scorings"]):
        scoring = {"mode": name, "options": needed[name]} if name in needed else name
        raw = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], "scoring": scoring}
        assert config_from_dict(raw).scoring.mode == name


def test_one_kind_is_listed_alone_and_an_unknown_one_is_refused():
    assert list(json.loads(invoke(list_command, "metrics", "--json"))) == ["metrics"]
    with pytest.raises(InputError, match=r'unknown kind "sutes"; did you mean "suites"\? \(known: suites, loaders, '):
        inventory("sutes")


def test_a_plug_in_is_listed_with_its_origin_and_a_refused_one_with_the_reason(plug):
    source = (
        "from proctor import Logger\n"
        "class Bell(Logger):\n"
        "    'Rings. And rings.'\n"
        "    def log(self, values, step): print(chr(7))\n"
    )
    entries = {"bell": "belfry:Bell", "csv": "belfry:Bell", "gone": "no_such_module_here:X"}
    plug("belfry-tools", {"proctor.loggers": entries}, {"belfry": source})
    found = {(entry["name"], entry["origin"]): entry["about"] for entry in inventory("loggers")["loggers"]}
    assert found["bell", "belfry-tools 1.2"] == "Rings"
    assert found["gone", "belfry-tools 1.2"].startswith('cannot be loaded: InputError: no module "no_such_module_here"')
    reason = 'the logger "csv" of belfry-tools 1.2 (belfry:Bell) has the name of a part of Proctor and is refused'
    assert found["csv", "belfry-tools 1.2"].startswith(f"refused: {reason}")
    assert any(
        line.split()[:4] == ["bell", "belfry-tools", "1.2", "Rings"] for line in invoke(list_command).splitlines()
    )
    brought, refused = probes.plugins()
    assert brought == Check("belfry-tools 1.2", True, "brings logger bell, logger csv, logger gone")
    assert (refused.name, refused.ok) == ("csv", False)
    assert reason in refused.detail
    assert "refused  csv" in doctor.as_text({"plug-ins": [refused]})


def test_metrics_are_listed_with_unit_and_direction():
    for metric in inventory()["metrics"]:
        assert metric["unit"]
        assert metric["direction"] in ("up", "down", "none")


def test_the_list_for_people_has_a_line_for_each_part():
    text = invoke(list_command)
    for entries in inventory().values():
        for entry in entries:
            assert any(line.split()[:1] == [entry["name"]] for line in text.splitlines())


def test_findings_as_text():
    sections = {
        "machine": [Check("cpu", True, "2 cores")],
        "policies": [
            Check("onnx", False, "needs onnxruntime", 'pip install "proctor[onnx]"'),
            Check("sb3", True, "ok"),
        ],
    }
    assert doctor.as_text(sections).splitlines() == [
        "Machine",
        "  ok       cpu  2 cores",
        "",
        "Policies",
        "  missing  onnx  needs onnxruntime",
        '                 pip install "proctor[onnx]"',
        "  ok       sb3   ok",
    ]


def test_a_suite_that_no_extra_brings_says_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "Sofa" else object())
    steve = next(check for check in probes.suites() if check.name == "steve")
    assert (steve.ok, steve.detail) == (False, "needs Sofa")
    assert steve.fix
    assert "SofaPython3 and BeamAdapter" in steve.fix


def test_a_missing_package_comes_with_its_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else object())
    onnx = next(check for check in probes.policies() if check.name == "onnx")
    assert onnx == Check("onnx", False, "needs onnxruntime", 'pip install "proctor[onnx]"')


def test_suites_and_packages_are_examined():
    assert {"endovascular", "gymnasium", "steve", "tracking"} <= {check.name for check in probes.suites()}
    assert {check.name: check.ok for check in probes.machine()}["shared memory"]
    assert all(check.detail for check in probes.packages())


@pytest.mark.parametrize(
    ("code", "ok", "detail"),
    [
        ("pass", True, "works"),
        ("raise RuntimeError('no driver')", False, "RuntimeError: no driver"),
        ("import os; os.kill(os.getpid(), 11)", False, "the process ended with code -11"),
        ("import os; assert os.environ['MUJOCO_GL'] == 'egl'", True, "works"),
    ],
)
def test_a_probe_runs_in_a_process_of_its_own(code, ok, detail):
    check = probes.run_probe(probes.Probe("x", code, "apt-get install y", {"MUJOCO_GL": "egl"}))
    assert (check.ok, check.detail) == (ok, detail)


def test_a_probe_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(probes, "PROBE_TIMEOUT_S", 0.5)
    check = probes.run_probe(probes.Probe("x", "import time; time.sleep(60)", "fix"))
    assert check == Check("x", False, "gave no answer within 0.5 s", "fix")


def test_the_doctor_examines_every_section(monkeypatch):
    monkeypatch.setattr(probes, "PROBES", (probes.Probe("nothing", "pass", "fix"),))
    sections = json.loads(invoke(doctor.doctor_command, "--json"))
    assert list(sections) == ["machine", "packages", "suites", "runtimes", "policies", "plug-ins", "rendering"]
    assert sections["rendering"] == [
        {"name": "nothing", "ok": True, "detail": "works", "fix": None, "fault": "missing"}
    ]
