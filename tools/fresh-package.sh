#!/usr/bin/env bash
#
# tools/fresh-package.sh 12|13 [FOLDER]: proves the Debian package on a new Debian. In one minimal
# system `./dev package` builds it (twice: two versions) and lintian reads it; with FOLDER it is
# there already, in two versions. Another system without any of that, and with systemd, is booted in
# namespaces of its own and without a network: there the package is installed, serves, is upgraded,
# removed, installed again and purged (tools/fresh-package/prove). Needs root, debootstrap and a
# network; leaves nothing behind.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/fresh.bash
. "$checkout/tools/fresh.bash"

usage() {
    echo "usage: tools/fresh-package.sh 12|13 [FOLDER]" >&2
    exit 2
}
[ $# -eq 1 ] || [ $# -eq 2 ] || usage
release=$(release_of "$1") || usage
[ "$(id -u)" -eq 0 ] || { echo "debootstrap and chroot need root" >&2; exit 1; }

work=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-package-$release.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
started=$SECONDS

# Into $work/packages.
build_packages() {
    make_system "$release" "$work/build" git
    git clone -q --no-hardlinks "$checkout" "$work/build/root/postbackd"
    in_system "$work/build" bash -euc 'cd /root/postbackd
        ./dev package >/root/log 2>&1 || { tail -n 40 /root/log; exit 1; }
        tail -n 1 /root/log
        tools/package.sh build-package 2 2>/dev/null
        DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends lintian >/root/log 2>&1
        lintian --version
        # bogus-mail-host...: who distributes it says with DEBFULLNAME and DEBEMAIL who answers for it.
        lintian --allow-root --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
            build-package/*.deb
        echo "lintian: no errors, no warnings"'
    cp "$work"/build/root/postbackd/build-package/*.deb "$work/packages/"
    rm -rf --one-file-system "$work/build"
}

mkdir "$work/packages"
if [ $# -eq 2 ]; then
    cp "$2"/*.deb "$work/packages/"
else
    echo "== Debian $1 ($release), minimal, with git: ./dev package, lintian"
    build_packages
fi

echo "== Debian $1, minimal, with systemd: what the package depends on"
make_system "$release" "$work/run" systemd,systemd-sysv,dbus,curl
cp "$work"/packages/*.deb "$work/run/root/"
cp "$checkout/tools/fresh-package/prove" "$work/run/root/"
install -m 644 "$checkout/tools/fresh-package/prove.service" "$work/run/etc/systemd/system/"
in_system "$work/run" bash -euc 'cd /root; apt-get -qq update
    depends=$(dpkg-deb -f "$(ls *.deb | head -n 1)" Depends)
    DEBIAN_FRONTEND=noninteractive apt-get satisfy -qqy --no-install-recommends "$depends" >/root/log 2>&1 ||
        { cat /root/log; exit 1; }
    systemctl enable -q prove.service'

echo "== Debian $1, booted: install, serve, upgrade, remove, purge"
# systemd is process 1 of its own process, mount, control group, network, name and IPC namespaces;
# prove.service ends it, and with the exit status of the proof.
status=0
# shellcheck disable=SC2016 # expanded by the inner shell
timeout 600 unshare --mount --pid --cgroup --net --uts --ipc --fork --kill-child --propagation private sh -c '
    mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount -t sysfs -o ro sys sys &&
    mount -t cgroup2 cgroup sys/fs/cgroup && mount -t tmpfs run run && mount -t tmpfs tmp tmp &&
    pivot_root . mnt && umount -l mnt || exit 1
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        /lib/systemd/systemd --log-target=null --show-status=no
' sh "$work/run" </dev/null >/dev/null 2>&1 || status=$?
cat "$work/run/root/proof.log"
[ "$(cat "$work/run/root/proof.status" 2>/dev/null)" = 0 ] || status=1
echo "== Debian $1, package: exit $status after $((SECONDS - started)) s"
exit "$status"
