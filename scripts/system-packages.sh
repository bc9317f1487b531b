#!/usr/bin/env bash
# Graphics libraries that rendering without a screen needs, and the browser that the viewer's tests drive. Installs them where it may, else says what to
# install. Only video and these tests need them, so nothing here stops a build.
set -uo pipefail

declare -A package_of=([libEGL.so.1]=libegl1 [libGL.so.1]=libgl1 [libOSMesa.so.8]=libosmesa6)

[ "$(uname -s)" = Linux ] || exit 0
if [ "${1:-}" = browser ] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing chromium for the viewer's tests ..."
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 ||
            echo "That did not work; the viewer's tests in a browser are skipped." >&2
    else
        echo "For the viewer's tests install: sudo apt-get install chromium" >&2
    fi
fi
known="$( (ldconfig -p || /sbin/ldconfig -p) 2>/dev/null)"
[ -n "$known" ] || exit 0

has() { grep -qF "$1" <<<"$known"; }

# Either of the two ways is enough.
if { has libEGL.so.1 && has libGL.so.1; } || has libOSMesa.so.8; then
    exit 0
fi

missing=()
for library in "${!package_of[@]}"; do
    has "$library" || missing+=("${package_of[$library]}")
done

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing ${missing[*]} for rendering ..."
    if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1; then
        exit 0
    fi
    echo "That did not work; everything but video runs without them." >&2
fi
echo "For video of MuJoCo tasks install: sudo apt-get install ${missing[*]}" >&2
exit 0
