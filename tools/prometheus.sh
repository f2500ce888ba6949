#!/usr/bin/env bash
#
# tools/prometheus.sh FOLDER: prints the folder where prometheus and promtool are: the system's, or
# one below FOLDER, into which Debian's package is unpacked (19 MB once, 100 MB unpacked). Fails where
# neither can be had.
set -euo pipefail
folder=$1
if command -v prometheus promtool >/dev/null; then
    dirname "$(command -v promtool)"
    exit
fi
"$(dirname "$0")/unpack.sh" prometheus "$folder"
(cd "$folder/usr/bin" && pwd)
