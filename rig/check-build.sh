#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/check-build.sh VARIANT JOBS RESULT TARGET...: the part of rig/check.sh
# that runs in the tool root.  Compiles build/src-check's TARGETs (all: the
# whole kernel and its modules) with W=1 and sparse, and writes what was said
# to RESULT, one normalised line a warning.
#
#	y	built in
#	m	as modules, the tunnels beside it too; RESULT also has the
#		symbols that the module wants from outside
#	noipv6	built in, without IPv6
#	32	built in, i386

set -eu

variant=$1
jobs=$2
result=$3
shift 3
src=/ovpn/build/src-check
obj=/ovpn/build/obj/check-$variant
log=$obj/check.log

export LC_ALL=C KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970'
export KBUILD_BUILD_USER=rig KBUILD_BUILD_HOST=rig

die() {
	printf 'check: error: %s\n' "$*" >&2
	exit 1
}

arch=x86_64
[ "$variant" != 32 ] || arch=i386

kmake() {
	make -C "$src" O="$obj" ARCH=$arch CC="ccache gcc" LOCALVERSION= \
		-j"$jobs" "$@"
}

# wanted: the features' fragment as the variant has it
wanted() {
	case $variant in
	m)	sed -E '/_(OVPN|VXLAN|GENEVE|WIREGUARD|NET_UDP_TUNNEL)=/s/=y/=m/
			/_(IP_SCTP|INET_SCTP_DIAG)=/s/=y/=m/' \
			/ovpn/rig/config/features.config
		echo CONFIG_MODULES=y ;;
	noipv6)	grep -vE 'IPV6|INET6|NF_TABLES_INET' \
			/ovpn/rig/config/features.config
		echo '# CONFIG_IPV6 is not set' ;;
	*)	cat /ovpn/rig/config/features.config ;;
	esac
	printf 'CONFIG_%s=y\n' PRINTK BUG PROC_FS SYSFS SYSCTL SYSVIPC SMP \
		DEBUG_FS KUNIT KUNIT_ALL_TESTS
}

# warnings: what the compilers said, one normalised line a warning
warnings() {
	# Line numbers move with every change.  Debian's sparse takes none of
	# the MODULE_ macros for a constant: see above.
	awk '
		!/(warning|error):/ { next }
		/error: bad constant expression/ {
			split($0, at, ":")
			line = ""
			for (i = 0; i < at[2]; i++)
				if ((getline line < at[1]) <= 0) break
			close(at[1])
			if (line ~ /^MODULE_/) next
		}
		{ print }' | sed -E "s,$src/,,g
		s/^(\.\.\/)+//; s/:[0-9]+(:[0-9]+)?:/:/g; s/:[0-9]+(:[0-9]+)?\$//"
}

mkdir -p "$obj"
wanted > "$obj/wanted"
done=$obj/wanted.done
if ! cmp -s "$obj/wanted" "$done"; then
	rm -f "$done"
	kmake -s allnoconfig > "$log" 2>&1
	"$src/scripts/kconfig/merge_config.sh" -m -O "$obj" "$obj/.config" \
		"$obj/wanted" >> "$log" 2>&1
fi
# Kconfig asks the compiler a hundred questions each time
if [ ! -e "$done" ] ||
	[ -n "$(find "$src" -name 'Kconfig*' -newer "$done" -print -quit)" ]; then
	rm -f "$done"
	touch "$obj/since"
	kmake -s olddefconfig > "$log" 2>&1 ||
		die "the configuration of $variant failed, see $log"
	if grep '^CONFIG_' "$obj/wanted" | sort -u |
		grep -vxFf "$obj/.config" > "$obj/lost"; then
		# shellcheck disable=SC2046 # one line
		die "options lost in $variant:" $(cat "$obj/lost")
	fi
	cp "$obj/wanted" "$done"
	touch -r "$obj/since" "$done"
fi

# Other objects than those asked for, which are made on the way, are not judged.
# One that is up to date says nothing again, so what each of them said is
# kept beside it.  Of a build that was not finished, or was another one, nothing
# is believed.
said=$obj/said
how=$(cat "$0" /var/lib/dpkg/status | sha256sum)
if [ "$how" != "$(cat "$said/.how" 2>/dev/null)" ]; then
	rm -rf "$said"
	for target; do
		case $target in
		*/)	[ ! -d "$obj/$target" ] ||
				find "$obj/$target" -name '*.o' -delete ;;
		*)	rm -f "$obj/$target" ;;
		esac
	done
fi
rm -f "$said/.how"

if [ "$*" = all ]; then
	kmake W=1 > "$log" 2>&1 || failed=1
else
	# Debian's sparse does not know this operator of gcc's yet, and the
	# kernel turns sparse off where it does not; drop the definition with
	# a sparse that does
	kmake --output-sync=target W=1 C=1 CF=-D__typeof_unqual__=__typeof__ \
		"$@" > "$log" 2>&1 || failed=1
	! grep -q 'C=[12] specified, but' "$log" ||
		die "the kernel does not accept this sparse"
fi
# The part of the log that is an object's goes to its place.
mkdir -p "$said"
rm -f "$said/rest"
awk -v said="$said/" '
	function to(name) {
		if (out) close(out)
		gsub("/", ",", name)
		out = said name
	}
	BEGIN { to("rest") }
	/^  CC / {
		to($NF)
		printf "" > out
	}
	/^  [A-Z]+ / && !/^  (CC|CHECK) / { to("rest") }
	{ print >> out }' "$log"
if [ -n "${failed:-}" ]; then
	grep -E -m 5 'error|Error|undefined' "$log" >&2
	die "compiling ($variant) failed, see ${log#/ovpn/}"
fi
cp "$said/rest" "$said/.all"
if [ "$*" != all ]; then
	# "all" asks no sparse: then each object has to speak once more
	echo "$how" > "$said/.how"
	for target; do
		find "$said" -name "$(echo "$target" | tr / ,)*.o" -o \
			-name "$(echo "$target" | tr / ,)"
	done | while read -r file; do
		# not an object that was another commit's
		path=$(basename "$file" .o | tr , /)
		[ ! -f "$src/$path.c" ] || cat "$file"
	done >> "$said/.all"
fi

{
	warnings < "$said/.all"
	[ "$variant" != m ] || nm -u "$obj/drivers/net/ovpn/ovpn.o" |
		awk '{ print "wants", $2 }'
} | sort -u > "$result.new"
mv "$result.new" "$result"
