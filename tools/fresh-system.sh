#!/usr/bin/env bash
#
# tools/fresh-system.sh 12|13 demo|test [COMMIT]: proves a README command on a new Debian with
# nothing on it but git: a minimal system made with debootstrap, a clone of this checkout's HEAD
# (or of COMMIT) in it, and the command. Needs root, debootstrap and a network; leaves nothing
# behind.
#
# `demo` counts as proven when it still runs DEMO_SECONDS (30) after it has said where to sign in,
# and ends well on SIGTERM. How long it took from the clone to that line is printed.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/fresh.bash
. "$checkout/tools/fresh.bash"

usage() {
    echo "usage: tools/fresh-system.sh 12|13 demo|test [COMMIT]" >&2
    exit 2
}
[ $# -eq 2 ] || [ $# -eq 3 ] || usage
release=$(release_of "$1") || usage
case $2 in
    demo | test) verb=$2 ;;
    *) usage ;;
esac
[ "$(id -u)" -eq 0 ] || { echo "debootstrap and chroot need root" >&2; exit 1; }

root=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-$release.XXXXXX")
chmod 755 "$root" # its users look into /, too
trap 'rm -rf --one-file-system "$root"' EXIT

echo "== Debian $1 ($release), minimal, with git"
make_system "$release" "$root" git
cloned=$(date +%s)
git clone -q --no-hardlinks "$checkout" "$root/root/postbackd"
[ $# -lt 3 ] || git -C "$root/root/postbackd" checkout -q "$3"

cat >"$root/root/prove" <<'PROVE'
#!/bin/bash
# Inside the new system: runs the command, and for demo also stops it.
cd /root/postbackd || exit 1
[ "$1" = demo ] || exec ./dev "$1"

alive() { grep -qx postbackd /proc/"$demo"/comm 2>/dev/null; }
./dev demo > >(tee /root/demo.log) &
demo=$! # ./dev becomes the daemon by exec
until grep -q 'and sign in:' /root/demo.log 2>/dev/null; do
    kill -0 "$demo" 2>/dev/null || { wait "$demo"; echo "demo ended with $?"; exit 1; }
    sleep 0.2
done
echo "== from the clone to the sign-in line: $(($(date +%s) - $3)) s"
sleep "$2"
alive || { wait "$demo"; echo "demo ended with $?"; exit 1; }
kill -TERM "$demo"
wait "$demo"
status=$?
echo "demo ran for $2 s and ended with $status"
exit $status
PROVE
chmod +x "$root/root/prove"

echo "== ./dev $verb"
started=$SECONDS
status=0
in_system "$root" /root/prove "$verb" "${DEMO_SECONDS:-30}" "$cloned" || status=$?
echo "== Debian $1, ./dev $verb: exit $status after $((SECONDS - started)) s"
exit "$status"
