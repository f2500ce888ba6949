#!/usr/bin/env bash
#
# tools/package.sh BUILD_DIR [REVISION]: makes BUILD_DIR/postbackd_VERSION_ARCHITECTURE.deb out of
# BUILD_DIR/postbackd and packaging/, and prints its name. VERSION ends with the Debian release it is
# built on (0.1.0-1~deb12): each has its own libraries, and the next release's package is newer. The
# maintainer is DEBFULLNAME <DEBEMAIL>.
#
# The same sources on the same system give the same bytes: times are SOURCE_DATE_EPOCH or the last
# commit's.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
revision=${2:-1}

version=$(sed -nE "s/^ *version: '([0-9.]+)',/\1/p" meson.build | head -n 1)
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "${ID/debian/deb}${VERSION_ID:-}")
full="$version-$revision~$release"
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

# Who answers for it: Debian's usual variables.
maintainer="${DEBFULLNAME:-The postbackd authors} <${DEBEMAIL:-postbackd@localhost}>"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
root="$work/root"
doc="$root/usr/share/doc/postbackd"

binary="$root/usr/bin/postbackd"
install -D -m 755 "$build/postbackd" "$binary"
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$binary"
install -D -m 644 -t "$root/usr/lib/systemd/system" packaging/postbackd.service packaging/postbackd.socket
install -D -m 644 -t "$root/etc/postbackd" packaging/postbackd.conf

for page in postbackd.1 postbackd.conf.5 postbackd.8; do
    section=${page##*.}
    install -d "$root/usr/share/man/man$section"
    "$build/postbackd" --manual "$section" | gzip -9n >"$root/usr/share/man/man$section/$page.gz"
done
install -d "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/vendor-completions"
"$build/postbackd" --completion bash >"$root/usr/share/bash-completion/completions/postbackd"
"$build/postbackd" --completion zsh >"$root/usr/share/zsh/vendor-completions/_postbackd"

# What operators and partners read, where they look for it; links between the pages hold.
install -d "$doc"
cp -R docs/. "$doc/"
rm -r "$doc/dashboard" # pictures
install -D -m 644 -t "$doc/monitoring" packaging/monitoring/*
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
{
    echo "postbackd ($full) unstable; urgency=medium"
    printf '\n  * Built from the sources of version %s.\n\n' "$version"
    echo " -- $maintainer  $(date -uR -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.Debian.gz"
indented() { sed -e 's/[[:space:]]*$//' -e 's/^$/./' -e 's/^/ /' "$@"; }
{
    cat packaging/debian/copyright
    echo "License: Expat"
    sed '1,/^Copyright/d' LICENSE | sed '1{/^$/d}' | indented
    printf '\nLicense: OFL-1.1\n'
    indented dashboard/src/inter/LICENSE
} >"$doc/copyright"

# What the binary is linked with, and since which version of it.
mkdir "$work/debian"
printf 'Source: postbackd\n\nPackage: postbackd\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O "$binary" | sed -n 's/^shlibs:Depends=//p')

control="$root/DEBIAN"
install -d "$control"
install -m 644 -t "$control" packaging/debian/conffiles
install -m 755 -t "$control" packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$control/md5sums"
sed -e "s/@VERSION@/$full/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@DEPENDS@/$depends/" \
    -e "s/@INSTALLED_SIZE@/$(du -sk --exclude=DEBIAN "$root" | cut -f 1)/" \
    packaging/debian/control.in >"$control/control"

find "$root" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0 touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
package="$build/postbackd_${full}_$architecture.deb"
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
