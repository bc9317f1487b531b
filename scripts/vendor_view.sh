#!/usr/bin/env bash
# Take the viewer's two JavaScript libraries from their npm packages into src/proctor/view/static/vendor. The results are in the repository: this is run
# when a version changes, and needs npm. THIRD_PARTY.md says what is there; tests/view/test_vendored.py holds both together.
set -euo pipefail
cd "$(dirname "$0")/.."
out="$PWD/src/proctor/view/static/vendor"
three=0.187.0 uplot=1.6.32 esbuild=0.28.2

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund "three@$three" "uplot@$uplot" "esbuild@$esbuild"

cat >entry.js <<'END'
export {
  Box3, BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, CylinderGeometry, DirectionalLight, DoubleSide, GridHelper, Group, HemisphereLight,
  Line, LineBasicMaterial, Mesh, MeshStandardMaterial, PerspectiveCamera, Scene, SphereGeometry, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
END
node_modules/.bin/esbuild entry.js --bundle --format=esm --minify --legal-comments=inline --outfile="$out/three.js" --log-level=error
node_modules/.bin/esbuild node_modules/uplot/dist/uPlot.esm.js --format=esm --minify --legal-comments=inline --outfile="$out/uPlot.js" --log-level=error
cp node_modules/uplot/dist/uPlot.min.css "$out/uPlot.css"
cat node_modules/three/LICENSE >"$out/three.LICENSE"
cat node_modules/uplot/LICENSE >"$out/uPlot.LICENSE"
