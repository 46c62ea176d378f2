#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/image.sh: the guest's user land for the bench, as initramfs archives in
# build/bench: core.cpio for every reading, openvpn.cpio and perf.cpio on top of
# it where a workload or the profile needs them.  The same inputs give the same
# bytes, and build/bench/id is a name for them and for QEMU.

. "$(dirname "$0")/../rig/lib.sh"

# shellcheck disable=SC2016 # expanded by the shell in the tool root
"$RIG/in-root" sh -euc '
	core="sh cat sed grep awk tr seq head ls rm sleep ip ss tc ethtool wg
		insmod tcpdump mkdir cp uname sysctl cut mkfifo"
	openvpn="openvpn openssl"
	perf="perf"

	out=/ovpn/build/bench
	mkdir -p $out
	cd $out

	# image NAME PROGRAM...: the programs and their libraries, without what
	# core.cpio has
	image() {
		name=$1
		shift
		rm -rf stage
		mkdir -p stage
		for program; do
			path=$(readlink -f "$(command -v "$program")")
			echo "$path /usr/bin/$program"
			ldd "$path" 2>/dev/null | sed -n "
				s,.*=> \(/[^ ]*\) .*,\1,p
				s,^\t\(/lib64/[^ ]*\) .*,\1,p" |
			while read -r lib; do
				echo "$(readlink -f "$lib") $lib"
			done
		done | LC_ALL=C sort -u > $name.files
		[ $name = core ] ||
			grep -vxFf core.files $name.files > $name.own || :
		while read -r file as; do
			case $as in
			/usr/*) ;;
			/*)	as=/usr$as ;;
			esac
			mkdir -p "stage${as%/*}"
			cp "$file" "stage$as"
		done < $([ $name = core ] && echo core.files || echo $name.own)
	}

	# pack NAME
	pack() {
		(cd stage && find . -mindepth 1 | LC_ALL=C sort |
			xargs touch -h -d @0 &&
			find . -mindepth 1 | LC_ALL=C sort |
			cpio --quiet -o -H newc -R 0:0 --reproducible) > $1.new
		mv $1.new $1.cpio
		rm -rf stage
	}

	image core $core
	for dir in bin sbin lib lib64; do
		ln -s usr/$dir stage/$dir
	done
	ln -s bin stage/usr/sbin
	mkdir -p stage/bench/bin stage/proc stage/sys stage/dev stage/run \
		stage/tmp stage/etc stage/var
	ln -s ../run stage/var/run
	cc="gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -s"
	src=/ovpn/bench/guest
	$cc -o stage/init $src/init.c
	$cc -o stage/bench/bin/load $src/load.c
	$cc -o stage/bench/bin/meter $src/meter.c
	$cc -idirafter /ovpn/build/linux/include/uapi \
		-o stage/bench/bin/tunnel $src/tunnel.c
	pack core
	image openvpn $openvpn
	mkdir -p stage/usr/lib/ssl
	cp /etc/ssl/openssl.cnf stage/usr/lib/ssl
	pack openvpn
	image perf $perf
	pack perf
	{
		cat core.cpio openvpn.cpio perf.cpio | sha256sum
		qemu-system-x86_64 --version
	} | sha256sum | cut -c1-12 > id
' >&2 || die "the guest of the bench does not build"
