# SPDX-License-Identifier: GPL-2.0
# Sourced by every script of the rig: where things live, and how to say so.
#
# Host side	the checkout is $TOP, everything made from it is below $BUILD,
#		everything that outlives a checkout is below $CACHE.
# Tool root	the same three are /ovpn, /ovpn/build and /cache (rig/in-root).

set -eu

ME=${0##*/}
ME=${ME%.sh}

# the kernel release whose Debian source package is the base
BASE_SERIES=7.3
# suites that may carry it, in the order in which they are asked
BASE_SUITES="trixie-backports sid experimental"
# the Debian release of the tool root
ROOT_SUITE=trixie

JOBS=${JOBS:-$(nproc)}

# say TEXT: one line of progress, on stderr so that results stay clean
say() {
	printf '%s: %s\n' "$ME" "$*" >&2
}

# die TEXT: one line that names the error, and a non-zero exit
die() {
	printf '%s: error: %s\n' "$ME" "$*" >&2
	exit 1
}

# need PROGRAM PACKAGE: a host tool, installed where we may, named where not
need() {
	command -v "$1" >/dev/null 2>&1 && return
	[ "$(id -u)" = 0 ] ||
		die "$1 is missing: install the package $2 (apt-get install $2)"
	say "installing $2"
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	# lists that are missing or old are the usual reason to fail
	apt-get install -qq -y --no-install-recommends "$2" >&2 ||
		{ apt-get update -qq >&2; } ||
		die "$1 is missing and apt cannot read its mirrors"
	command -v "$1" >/dev/null 2>&1 ||
		apt-get install -qq -y --no-install-recommends "$2" >&2 ||
		die "$1 is missing and apt cannot install $2"
}

need git git
TOP=$(cd "$(dirname "$0")" && git rev-parse --show-toplevel)
BUILD=$TOP/build
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ovpn-rig
TREE=$BUILD/linux
RIG=$TOP/rig

# need_userns: who is not root mounts and owns things in a namespace of his own
need_userns() {
	[ "$(id -u)" = 0 ] || unshare -rm true 2>/dev/null ||
		die "this host refuses user namespaces to $(id -un): allow them" \
			"(see sysctl -a | grep userns) or use root"
}

# need_space DIR GIB: room for what is about to be made
need_space() {
	mkdir -p "$1"
	free=$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1048576) }')
	[ "$free" -ge "$2" ] ||
		die "$1 has $free GiB free, $2 GiB are needed"
}

# series_id: what identifies the state of everything that a series is made of
series_id() {
	(cd "$TOP" && git ls-files -co --exclude-standard -- series drivers \
		include net tools Documentation | LC_ALL=C sort -u |
		while read -r path; do
			[ ! -e "$path" ] || printf '%s\0' "$path"
		done | xargs -0r sha256sum) | sha256sum | cut -c1-12
}

# tree_snapshot: build/linux as it stands, uncommitted changes included, as a
# git tree object
tree_snapshot() {
	index=$BUILD/index.$$
	cp "$TREE/.git/index" "$index"
	GIT_INDEX_FILE=$index git -C "$TREE" add -A -f
	GIT_INDEX_FILE=$index git -C "$TREE" write-tree
	rm -f "$index"
}
