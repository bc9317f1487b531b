#!/usr/bin/env bash
# Make the virtual environment (first argument) and install Proctor with what its tests and examples use, as pinned in constraints.txt.
set -euo pipefail
venv="${1:?usage: scripts/setup-venv.sh FOLDER}"
cd "$(dirname "$0")/.."

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" && echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.11 python3.12 python3.13 python; do
        if new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
}

python="$(find_python || true)"
if [ -z "$python" ]; then
    echo "Proctor needs Python 3.11 or newer; found ${PYTHON:-$(python3 --version 2>&1 || echo none)}." >&2
    echo "Install one, or name it: make PYTHON=/path/to/python3.11" >&2
    exit 1
fi

if ! "$python" -m venv "$venv"; then
    echo "$python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2
    exit 1
fi
echo "Installing Proctor and its extras into $venv ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt \
    -e ./host -e ".[torch,onnx,sb3,video,menagerie,tensorboard,wandb,mlflow,hub,rerun,soccer,metaworld,crafter,remote,slurm,ray,view,dev]"
# openpi-client declares numpy < 2 but works with 2, trackio declares pillow < 13 but works with 13; their other needs are met above and here.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt openpi-client==0.1.2 \
    trackio gradio_client orjson python-multipart
echo "Compiling kernels ..."
"$venv/bin/python" scripts/compile_kernels.py
