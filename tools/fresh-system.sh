#!/usr/bin/env bash
#
# tools/fresh-system.sh 12|13 demo|test: proves a README command on a new Debian with nothing on
# it but git: a minimal system made with debootstrap, a clone of this checkout's HEAD in it, and
# the command. Needs root, debootstrap and a network; leaves nothing behind.
#
# How this machine reaches the network (mirror, proxies, hosts, certificates) is copied into the
# new system at run time. `demo` counts as proven when it still runs after DEMO_SECONDS (30) and
# ends well on SIGTERM.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)

usage() {
    echo "usage: tools/fresh-system.sh 12|13 demo|test" >&2
    exit 2
}
[ $# -eq 2 ] || usage
case $1 in
    12) release=bookworm ;;
    13) release=trixie ;;
    *) usage ;;
esac
case $2 in
    demo | test) verb=$2 ;;
    *) usage ;;
esac
[ "$(id -u)" -eq 0 ] || { echo "debootstrap and chroot need root" >&2; exit 1; }

# The first URI ending in NAME among this machine's apt sources, or the default.
mirror() {
    local name=$1 found
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -nE "s#^URIs: *([^ ]+/$name)/?\$#\\1#p; s#^deb (\\[.*\\] )?([^ ]+/$name)/? .*#\\2#p" |
        head -n 1)
    echo "${found:-http://deb.debian.org/$name}"
}

root=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-$release.XXXXXX")
# Mounts are made in a mount namespace of their own, so none can be below $root here.
trap 'rm -rf --one-file-system "$root"' EXIT

echo "== Debian $1 ($release), minimal, with git"
debootstrap --variant=minbase --include=git "$release" "$root" "$(mirror debian)" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log" >&2
    rm -f "$root.log"
    exit 1
}
rm -f "$root.log"

cat >"$root/etc/apt/sources.list" <<SOURCES
deb $(mirror debian) $release main
deb $(mirror debian) $release-updates main
deb $(mirror debian-security) $release-security main
SOURCES
apt-config dump | grep -E '^Acquire::(https?::|Check|Retries)' >"$root/etc/apt/apt.conf.d/50machine" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir -p "$root/etc/ssl/certs" "$root/usr/local/share"
[ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
[ ! -d /usr/local/share/ca-certificates ] || cp -rL /usr/local/share/ca-certificates "$root/usr/local/share/"
git clone -q --no-hardlinks "$checkout" "$root/root/postbackd"

cat >"$root/root/prove" <<'PROVE'
#!/bin/bash
# Inside the new system: runs the command, and for demo also stops it.
cd /root/postbackd || exit 1
[ "$1" = demo ] || exec ./dev "$1"

alive() { grep -qx postbackd /proc/"$demo"/comm 2>/dev/null; }
./dev demo &
demo=$! # ./dev becomes the daemon by exec
until alive; do
    kill -0 "$demo" 2>/dev/null || { wait "$demo"; echo "demo ended with $?"; exit 1; }
    sleep 0.2
done
sleep "$2"
alive || { wait "$demo"; echo "demo ended with $?"; exit 1; }
kill -TERM "$demo"
wait "$demo"
status=$?
echo "demo ran for $2 s and ended with $status"
exit $status
PROVE
chmod +x "$root/root/prove"

proxies=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || proxies+=("$name=${!name}")
done

echo "== ./dev $verb"
started=$SECONDS
status=0
# The process namespace ends whatever the command leaves running.
# shellcheck disable=SC2016 # expanded by the inner shell
unshare --mount --pid --fork --kill-child --propagation private sh -c '
    mount -t proc proc "$1/proc" && mount -t sysfs sys "$1/sys" &&
    mkdir -p "$1/dev/shm" && mount -t tmpfs shm "$1/dev/shm" &&
    mkdir -p "$1/dev/pts" && mount -t devpts -o newinstance,ptmxmode=0666 pts "$1/dev/pts" &&
    ln -sf pts/ptmx "$1/dev/ptmx" || exit 1
    root=$1
    shift
    exec chroot "$root" env -i "$@"
' sh "$root" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    "${proxies[@]}" /root/prove "$verb" "${DEMO_SECONDS:-30}" </dev/null || status=$?
echo "== Debian $1, ./dev $verb: exit $status after $((SECONDS - started)) s"
exit "$status"
