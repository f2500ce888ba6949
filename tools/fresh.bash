# Sourced by tools/fresh-*.sh: minimal Debian systems made with debootstrap. Needs root and a network.
#
# How this machine reaches the network (mirror, proxies, hosts, certificates) is copied into the new
# system at run time. Where FRESH_CACHE names a folder, systems are kept there as they were made, and
# the next run begins with a copy.
# shellcheck shell=bash

# release_of 12|13: its name; false for others.
release_of() {
    case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) return 1 ;;
    esac
}

# The first URI ending in NAME among this machine's apt sources, or the default.
mirror() {
    local name=$1 found
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -nE "s#^URIs: *([^ ]+/$name)/?\$#\\1#p; s#^deb (\\[.*\\] )?([^ ]+/$name)/? .*#\\2#p" |
        head -n 1)
    echo "${found:-http://deb.debian.org/$name}"
}

# make_system RELEASE ROOT PACKAGE,...: a minimal system with those packages.
make_system() {
    local release=$1 root=$2 packages=$3 kept="${FRESH_CACHE:+$FRESH_CACHE/$1-${3//,/-}}"
    if [ -d "$kept" ]; then
        cp -a --reflink=auto "$kept/." "$root"
        return
    fi
    debootstrap --variant=minbase --include="$packages" "$release" "$root" "$(mirror debian)" \
        >"$root.log" 2>&1 || {
        tail -n 20 "$root.log" >&2
        rm -f "$root.log"
        return 1
    }
    rm -f "$root.log"
    cat >"$root/etc/apt/sources.list" <<SOURCES
deb $(mirror debian) $release main
deb $(mirror debian) $release-updates main
deb $(mirror debian-security) $release-security main
SOURCES
    apt-config dump | grep -E '^Acquire::(https?::|Check|Retries)' >"$root/etc/apt/apt.conf.d/50machine" || true
    cp -L --remove-destination /etc/resolv.conf /etc/hosts "$root/etc/"
    mkdir -p "$root/etc/ssl/certs" "$root/usr/local/share"
    [ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    [ ! -d /usr/local/share/ca-certificates ] || cp -rL /usr/local/share/ca-certificates "$root/usr/local/share/"
    [ -z "$kept" ] || { mkdir -p "$FRESH_CACHE" && cp -a --reflink=auto "$root" "$kept"; }
}

proxies=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || proxies+=("$name=${!name}")
done

# in_system ROOT COMMAND...: runs it there as root. The process namespace ends whatever the command
# leaves running, and mounts are made in a namespace of their own: none can be below ROOT here.
in_system() {
    local root=$1
    shift
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
        "${proxies[@]}" "$@" </dev/null
}
