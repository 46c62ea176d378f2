#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/root.sh [path]: the tool root, a Debian folder that compiles the kernels
# and is the guests' user land.  With "path", only say where it is.
#
# Made by mmdebstrap with or without root; every file belongs to whoever made
# it.  Guests see it read-only under an overlay.

. "$(dirname "$0")/lib.sh"

# from the release's backports: OpenVPN that speaks DCO, and for the bench QEMU
# and a perf of the base's age
BACKPORTS="openvpn qemu-system-x86 qemu-system-common qemu-system-data seabios
	linux-perf"

# the kernel's build and its checks
PACKAGES="gcc make flex bison bc libc6-dev libelf-dev libssl-dev pkg-config
	ccache sparse git perl python3 python3-ply python3-git codespell
	rsync cpio xz-utils patch kmod shellcheck"
# the kselftests' build
PACKAGES="$PACKAGES libnl-3-dev libnl-genl-3-dev libmbedtls-dev libmnl-dev
	libcap-dev libsctp-dev"
# the kernel's ynl tool, which the in-tree selftests call
PACKAGES="$PACKAGES python3-yaml python3-jsonschema"
# user land of the tests
PACKAGES="$PACKAGES iproute2 iputils-ping iperf3 ethtool nftables conntrack
	tcpdump socat netcat-openbsd jq wireguard-tools procps psmisc openssl
	lksctp-tools bpftool strace mount"
# plots of the bench
PACKAGES="$PACKAGES gnuplot-nox"

id=$(echo "$ROOT_SUITE $BACKPORTS $PACKAGES" | tr -s '\t\n' '  ' |
	sha256sum | cut -c1-12)
ROOT=$CACHE/root-$id

if [ "${1:-}" = path ]; then
	echo "$ROOT"
	exit
fi
[ -e "$ROOT/.complete" ] && exit

. "$RIG/apt.sh"
need mmdebstrap mmdebstrap
mode=root
[ "$(id -u)" = 0 ] || {
	mode=unshare
	need_userns
	need newuidmap uidmap
	for file in /etc/subuid /etc/subgid; do
		grep -q "^$(id -un):" $file 2>/dev/null ||
			die "the user $(id -un) has no line in $file" \
				"(usermod has --add-subuids, --add-subgids)"
	done
}
need_space "$CACHE" 12
apt_setup "$ROOT_SUITE" "$ROOT_SUITE-backports"
say "making the tool root ($ROOT_SUITE)"
rm -rf "$ROOT"
mkdir -p "$ROOT"
apt-config dump | grep -E '^Acquire::https?::Proxy' > "$APT_DIR/proxy.conf" ||
	: > "$APT_DIR/proxy.conf"
# shellcheck disable=SC2086 # to one line
include=$(echo $PACKAGES | tr ' ' ',')
for package in $BACKPORTS; do
	include=$include,$package/$ROOT_SUITE-backports
done
mmdebstrap --mode=$mode --variant=apt --include="$include" \
	--aptopt="$APT_DIR/proxy.conf" --aptopt='Acquire::Languages "none"' \
	--aptopt='APT::Install-Recommends "false"' \
	--dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	"$ROOT_SUITE" - "$APT_DIR/sources.list" \
	2>"$CACHE/root.log" |
	tar -x -C "$ROOT" --no-same-owner --exclude='./dev/*' ||
	die "mmdebstrap failed: $(grep -m 1 '^E:' "$CACHE/root.log")," \
		"see $CACHE/root.log"
[ -x "$ROOT/usr/sbin/openvpn" ] ||
	die "mmdebstrap failed: $(grep -m 1 '^E:' "$CACHE/root.log")," \
		"see $CACHE/root.log"
mkdir -p "$ROOT/ovpn" "$ROOT/cache" "$ROOT/out"
touch "$ROOT/.complete"
