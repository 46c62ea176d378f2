#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tests/input.sh: what the rig says where the host or the input is not as
# it must be.  Each gets exactly one line that names it, and a non-zero exit.
# Nothing here reaches the network.

. "$(dirname "$0")/../lib.sh"
RIG=$TOP/rig
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

work_dir test-input
unset FORCE REFRESH KSRC
UML=$(readlink -f "$BUILD"/kernel/um-base/linux ||
	readlink -f "$BUILD"/kernel/um-patched/linux || echo none)

# stub NAME: a program that is found before the host's, read from stdin
stub() {
	mkdir -p "$work/bin"
	cat > "$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# with_stubs COMMAND...: with these, and with an empty cache
with_stubs() {
	env PATH="$work/bin:$PATH" XDG_CACHE_HOME="$work/cache" "$@"
}

# fresh: no stubs, no cache
fresh() {
	rm -rf "${work:?}/bin" "$work/cache" "$work/ksrc" "$work/out"
}

# kernel_tree: what passes for one
kernel_tree() {
	fresh
	mkdir -p "$work/ksrc/net/core" "$work/ksrc/drivers/net/ovpn"
	printf '%s\n' 'VERSION = 6' 'PATCHLEVEL = 12' 'SUBLEVEL = 3' \
		> "$work/ksrc/Makefile"
	: > "$work/ksrc/Kbuild"
	: > "$work/ksrc/drivers/net/ovpn/io.c"
	git init -q "$work/ksrc"
	rm -rf "$work/ksrc/.git"
}

base() { with_stubs "$RIG/base.sh"; }
base_of() { with_stubs env KSRC="$1" "$RIG/base.sh"; }

#
# where the base comes from
#
fresh
stub apt-get <<-'END'
	#!/bin/sh
	# a port that nobody listens on stands for a network that is not there
	PATH=${PATH#*:}
	exec apt-get -o Acquire::http::Proxy=http://127.0.0.1:9 \
		-o Acquire::https::Proxy=http://127.0.0.1:9 \
		-o Acquire::Retries=0 "$@"
END
refused "no network and an empty cache" "no network" base

fresh
stub apt-get <<-'END'
	#!/bin/sh
	case "$*" in
	*print-uris*)
		echo "'http://mirror.invalid/debian/dists/x/InRelease' x 0" ;;
	esac
END
stub apt-cache <<-'END'
	#!/bin/sh
	echo "N: Unable to locate package" >&2
	echo "E: No packages found" >&2
	exit 100
END
refused "the package is gone from every suite" "gone from .*KSRC=" base

fresh
refused "KSRC that is no folder" "KSRC=$work/nix: no such folder" \
	base_of "$work/nix"
kernel_tree
rm "$work/ksrc/Kbuild"
refused "KSRC that is no kernel tree" "KSRC=$work/ksrc is no kernel tree" \
	base_of "$work/ksrc"
kernel_tree
rm -r "$work/ksrc/drivers"
refused "KSRC too old for ovpn" "KSRC=$work/ksrc (6.12.3) is too old" \
	base_of "$work/ksrc"
kernel_tree
: > "$work/ksrc/.config"
refused "KSRC that was built in" "was built in: run make mrproper" \
	base_of "$work/ksrc"
kernel_tree
works "KSRC in a folder that another git tree ignores" base_of "$work/ksrc"

#
# what the host lacks
#
fresh
stub df <<-'END'
	#!/bin/sh
	echo "Filesystem 1024-blocks Used Available Capacity Mounted on"
	echo "none 99999999 88888888 11534336 90% /"
END
refused "less than 12 GiB free: the base" "has 11 GiB free, 12 GiB" base
refused "less than 12 GiB free: the tool root" "has 11 GiB free, 12 GiB" \
	with_stubs "$RIG/root.sh"

# every program of the host but one, for somebody who is not root
without() {
	fresh
	mkdir -p "$work/bin"
	for folder in /bin /usr/bin /sbin /usr/sbin; do
		ln -sf -t "$work/bin" "$folder"/*
	done
	rm -f "$work/bin/id" "$work/bin/$1"
	stub id <<-'END'
		#!/bin/sh
		case $1 in
		-un) echo nobody ;;
		*) echo 65534 ;;
		esac
	END
}
bare() {
	env PATH="$work/bin" XDG_CACHE_HOME="$work/cache" "$@"
}
without mmdebstrap
refused "mmdebstrap is missing, without root: the tool root" \
	"mmdebstrap is missing: install the package mmdebstrap" \
	bare "$RIG/root.sh"
without xz
refused "xz is missing, without root: the base" \
	"xz is missing: install the package xz-utils" bare "$RIG/base.sh"
without newuidmap
refused "newuidmap is missing, without root: the tool root" \
	"newuidmap is missing: install the package uidmap" \
	bare "$RIG/root.sh"
without unshare
stub unshare <<-'END'
	#!/bin/sh
	echo "unshare: unshare failed: Operation not permitted" >&2
	exit 1
END
refused "no user namespaces, without root: the tool root" \
	"refuses user namespaces to nobody" bare "$RIG/root.sh"
without newuidmap
stub newuidmap < /dev/null
refused "no subordinate users, without root: the tool root" \
	"the user nobody has no line in /etc/subuid" bare "$RIG/root.sh"
without git
refused "git is missing, without root" \
	"git is missing: install the package git" bare "$RIG/tree.sh"

#
# a host that refuses UML
#
# one_line PATTERN COMMAND...: it fails with this line and no other
one_line() {
	pattern=$1
	shift
	! "$@" > "$work/said" 2>&1 || return
	cat "$work/said"
	[ "$(wc -l < "$work/said")" = 1 ] && grep -q "$pattern" "$work/said"
}
boot() {
	"$RIG/guest/boot.sh" -k "$1" -o "$work/out" -m 256M -- true
}
fresh
no_exec() {
	mkdir -p "$work/shm"
	# shellcheck disable=SC2016 # expanded in the namespace
	unshare -rm sh -euc '
		mount -t tmpfs -o noexec none "$1"
		UML_TMPDIR=$1 "$2" -k "$3" -o "$4" -m 256M -- true
	' sh "$work/shm" "$RIG/guest/boot.sh" "$UML" "$work/out"
}
works "a UML whose memory may not be executed" \
	one_line "host refuses UML: .*shm is not executable" no_exec
no_shm() {
	UML_TMPDIR=$work/nix boot "$UML"
}
works "a UML without shared memory" one_line "host refuses UML: .*nix" no_shm
stub linux <<-'END'
	#!/bin/sh
	echo "Checking that seccomp filters can be installed...missing"
	echo "SECCOMP userspace requested but not functional!"
	exit 1
END
works "a UML without seccomp" \
	one_line "host refuses UML: no seccomp" boot "$work/bin/linux"

tap_end
