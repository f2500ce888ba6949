#!/usr/bin/env bash
#
# tools/packages.sh LIST...: installs what tools/packages-LIST.txt asks for and this system lacks.
# A line of a list is a Debian package, or alternatives `a | b`: any of them installed will do;
# otherwise the first one that this release has. `command:x` is a program on the PATH, however it
# came there. When nothing is missing it only asks dpkg once.
set -euo pipefail
cd "$(dirname "$0")"

lists=("${@/%/.txt}")
lists=("${lists[@]/#/packages-}")
mapfile -t wanted < <(sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "${lists[@]}")

if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system: please see to these packages yourself: ${wanted[*]}" >&2
    exit 0
fi

installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' |
    sed -n 's/^installed //p' | tr '\n' ' ') "
missing=()
for line in "${wanted[@]}"; do
    for name in ${line//|/ }; do
        [[ $installed != *" $name "* ]] || continue 2
        [[ $name != command:* ]] || ! command -v "${name#command:}" >/dev/null || continue 2
    done
    missing+=("$line")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Missing: ${missing[*]}" >&2
        echo "Install them as root with apt-get, or install sudo." >&2
        exit 1
    fi
    as_root=(sudo)
fi
apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

echo "Installing: ${missing[*]}"
apt_get update
names=()
for line in "${missing[@]}"; do
    for name in ${line//|/ }; do
        [[ $name != command:* ]] || continue
        if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
            names+=("$name")
            continue 2
        fi
    done
    echo "This release has no package: $line" >&2
    exit 1
done
apt_get install -y --no-install-recommends "${names[@]}"
