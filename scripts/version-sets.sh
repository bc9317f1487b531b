#!/usr/bin/env bash
# Proctor with other versions of its dependencies, without extras, each set in a virtual environment of its own:
#   scripts/version-sets.sh oldest    the lowest versions that pyproject.toml allows (constraints-oldest.txt)
#   scripts/version-sets.sh newest    the newest ones (constraints-newest.txt), on the newest Python that is found
#   scripts/version-sets.sh warp      MuJoCo Warp, MJX and torch (constraints-warp.txt), for tracking worlds on a device
#   scripts/version-sets.sh bare      the wheels in dist (`make dist`) alone in a fresh environment, far from these sources
# The first two run the fast tests of what meets these packages, `warp` those of tracking worlds on a device; arguments after the
# name are given to pytest instead.
# PYTHON=/path/to/python chooses the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

sources=(./host .)  # distributions of this repository, in the order of their dependence
tests=(
    tests/test_version_sets.py tests/record
    tests/rollout/test_{actions,columns,forward,laws,many_tasks,matrix,recorder,seeds,values}.py  # the others are of processes
    tests/suites/{test_gymnasium_env,test_gymnasium_info,test_vector}.py tests/suites/{tracking,endovascular}
    tests/report/test_files.py tests/cli/test_verbs.py
)

device_tests=(tests/suites/tracking/device tests/test_train_tracking.py tests/test_ppo_example.py)

works() {
    "$1" -c "import sys, venv, ensurepip; sys.exit(not ($2))" >/dev/null 2>&1
}

# $PYTHON, or the first of these versions that is on the path or installed by pyenv, if it meets the condition.
find_python() {
    local condition="$1" version candidate
    local -a candidates=()
    shift
    for version in "$@"; do
        candidates+=("python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python)
    done
    if [ -n "${PYTHON:-}" ]; then
        candidates=("$PYTHON")
    fi
    for candidate in "${candidates[@]}" python3; do
        if works "$candidate" "$condition"; then
            echo "$candidate"
            return
        fi
    done
    echo "This set needs Python ${*}; found none. Name one: PYTHON=/path/to/python $0 ..." >&2
    return 1
}

# Install into the environment $1 by the constraints $2, where either has changed since.
install() {
    local venv="$1" constraints="$2" python="$3"
    shift 3
    if [ ! -e "$venv/.ready" ] || [ pyproject.toml -nt "$venv/.ready" ] || [ "$constraints" -nt "$venv/.ready" ]; then
        echo "Installing into $venv ($("$python" --version)) ..."
        "$python" -m venv --clear "$venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c "$constraints" "$@"
        touch "$venv/.ready"
    fi
}

# What setuptools notes while it builds an editable installation lies in a folder of its own instead of beside the sources:
# others (make setup, make dist) may build these sources at the same time.
build_apart() {
    notes="$(mktemp -d)"
    printf '[egg_info]\negg_base=%s\n' "$notes" >"$notes/setup.cfg"
    export DIST_EXTRA_CONFIG="$notes/setup.cfg"
}

set_of_versions() {
    local name="$1" python="$2" venv=".venv-$1" jobs="${JOBS:-2}"
    local -a chosen=(-q "${tests[@]}") more=()
    local notes
    shift 2
    if [ "$name" = warp ]; then
        chosen=(-q "${device_tests[@]}") more=(torch mujoco-warp warp-lang mujoco-mjx jax) jobs=0  # two would compile the same kernels
        export WARP_CACHE_PATH="$PWD/$venv/warp-kernels" CUDA_VISIBLE_DEVICES=
    fi
    if [ "$#" -eq 0 ]; then
        set -- "${chosen[@]}"
    fi
    build_apart
    install "$venv" "constraints-$name.txt" "$python" "${sources[@]/#/-e}[test]" "${more[@]}"
    rm -r "$notes" && unset DIST_EXTRA_CONFIG
    "$venv/bin/python" -m pip list --disable-pip-version-check --format=freeze |
        grep -E '^(numpy|scipy|numba|mujoco|mujoco-warp|warp-lang|torch|gymnasium|pydantic|duckdb|typer)==' | tr '\n' ' '
    echo "on $("$venv/bin/python" --version)"
    # Kernels of another numba are no use to the environment for development, and its kernels none to this one.
    export NUMBA_CACHE_DIR="$PWD/$venv/kernels"
    [ "$name" = warp ] || "$venv/bin/python" scripts/compile_kernels.py
    "$venv/bin/python" -m pytest -n "$jobs" --dist worksteal -m "not slow" -p no:cacheprovider "$@"
}

bare() {
    local folder
    folder="$(mktemp -d)"
    # shellcheck disable=SC2064
    trap "rm -rf '$folder'" EXIT
    install "$folder/venv" constraints-newest.txt "$1" dist/proctor_host-*.whl dist/proctor-*.whl
    cat >"$folder/pilot.py" <<'PYTHON'
import numpy as np

from proctor import Batch, Policy


class Pilot(Policy):
    """Pushes the cart under the pole."""

    def act(self, batch: Batch) -> np.ndarray:
        return (batch.observation[:, 2] + batch.observation[:, 3] > 0).astype(np.int64)
PYTHON
    cat >"$folder/bare.yml" <<'YAML'
name: bare
agents:
  - {name: random, policy: random}
  - {name: pilot, policy: "pilot.py:Pilot"}
tasks:
  - {suite: gymnasium, options: {id: CartPole-v1, success: {return_at_least: 195}}}
n_trials: 10
workers: 2
output_root: results
YAML
    (
        cd "$folder"
        venv/bin/proctor doctor
        venv/bin/proctor demo
        venv/bin/proctor examples copy examples
        venv/bin/proctor run bare.yml
        venv/bin/python - <<'PYTHON'
import json
from pathlib import Path

(path,) = Path("results").glob("*_bare/report.json")
first = json.loads(path.read_text())["agents"][0]
assert first["agent"] == "pilot", first["agent"]
PYTHON
    )
    quickstart "$folder"
}

# The first example of the manual, with the extras that it names.
quickstart() {
    local folder="$1" wheel
    wheel="$(echo dist/proctor-*.whl)"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints-newest.txt "$wheel[onnx,video]"
    (cd "$folder" && venv/bin/proctor run examples/quickstart.yml)
}

name="${1:-}"
case "$name" in
    oldest | warp) python="$(find_python 'sys.version_info[:2] == (3, 11)' 3.11)" ;;
    newest | bare) python="$(find_python 'sys.version_info >= (3, 11)' 3.14 3.13 3.12 3.11)" ;;
    *)
        echo "usage: scripts/version-sets.sh oldest|newest|warp|bare [arguments of pytest]" >&2
        exit 2
        ;;
esac
shift
if [ "$name" = bare ]; then
    bare "$python"
else
    set_of_versions "$name" "$python" "$@"
fi
