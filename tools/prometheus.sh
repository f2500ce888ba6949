#!/usr/bin/env bash
#
# tools/prometheus.sh FOLDER: prints the folder where prometheus and promtool are: the system's, or
# FOLDER, into which they are unpacked out of Debian's package without installing it, as its
# installation would start a server (19 MB once, 100 MB unpacked). Fails where neither can be had.
set -euo pipefail
folder=$1
if command -v prometheus promtool >/dev/null; then
    dirname "$(command -v promtool)"
    exit
fi
if [ ! -x "$folder/prometheus" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    (cd "$work" && apt-get -qq download prometheus >/dev/null 2>&1) || exit 1
    mkdir -p "$work/unpacked" "$folder"
    dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar -x -C "$work/unpacked" ./usr/bin
    mv "$work/unpacked/usr/bin/promtool" "$folder/"
    mv "$work/unpacked/usr/bin/prometheus" "$folder/"
fi
(cd "$folder" && pwd)
