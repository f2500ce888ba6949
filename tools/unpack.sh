#!/usr/bin/env bash
#
# tools/unpack.sh PACKAGE FOLDER: FOLDER is what Debian's package holds, unpacked without installing
# it, as its installation would start a server or replace one. Fetched once; fails where it cannot be.
set -euo pipefail
package=$1 folder=$2
[ ! -d "$folder/usr" ] || exit 0
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d -p "$(dirname "$folder")") # where a rename is one step, so that no half remains
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq download "$package" >/dev/null 2>&1) || exit 1
mkdir "$work/unpacked"
chmod 755 "$work/unpacked"
dpkg-deb --fsys-tarfile "$work/$package"_*.deb | tar -x --no-same-owner -C "$work/unpacked"
rm -rf "$folder"
mv -T "$work/unpacked" "$folder"
