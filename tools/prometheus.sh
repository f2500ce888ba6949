#!/usr/bin/env bash
#
# tools/prometheus.sh FOLDER: prints the folder where prometheus and promtool are: the system's, or
# one below FOLDER, into which Debian's packages are unpacked (19 MB once, 100 MB unpacked). Fails where
# neither can be had.
set -euo pipefail
folder=$1
if command -v prometheus promtool >/dev/null; then
    dirname "$(command -v promtool)"
    exit
fi
unpack=$(dirname "$0")/unpack.sh
"$unpack" prometheus "$folder"
if [ ! -x "$folder/usr/bin/promtool" ]; then # Debian 13 has it in a package of its own
    "$unpack" promtool "$folder/promtool"
    ln -sf ../../promtool/usr/bin/promtool "$folder/usr/bin/promtool"
fi
(cd "$folder/usr/bin" && pwd)
