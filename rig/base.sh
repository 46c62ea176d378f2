#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/base.sh: the kernel source that the series are made against, as a commit
# in a bare repository in the cache.  Prints one line, "ID COMMIT VERSION
# SHA256", for scripts; `make base` shows it to people.
#
# Debian's linux-source package is the base; KSRC=DIR takes any kernel tree
# instead.  REFRESH=1 asks the mirror again for a newer one.

. "$(dirname "$0")/lib.sh"
. "$RIG/apt.sh"

REPO=$CACHE/base.git
GIT="git --git-dir=$REPO -c user.name=rig -c user.email=rig@localhost
	-c core.autocrlf=false -c core.safecrlf=false -c gc.auto=0
	-c core.bigFileThreshold=64m -c core.compression=1"

[ -d "$REPO" ] || git init -q --bare "$REPO"

# import NAME DIR: DIR, byte for byte, as the commit refs/tags/NAME
import() {
	say "importing $1 (once)"
	rm -f "$REPO/index.rig"
	GIT_INDEX_FILE=$REPO/index.rig $GIT --work-tree="$2" add -A -f . ||
		die "cannot import $2"
	tree=$(GIT_INDEX_FILE=$REPO/index.rig $GIT write-tree)
	rm -f "$REPO/index.rig"
	commit=$(echo "$1" | GIT_AUTHOR_DATE='@0 +0000' \
		GIT_COMMITTER_DATE='@0 +0000' $GIT commit-tree "$tree")
	$GIT tag -f "$1" "$commit" >/dev/null
}

# kernel_version DIR: what the Makefile there says
kernel_version() {
	awk -F' *= *' '
		$1 == "VERSION" { v = $2 }
		$1 == "PATCHLEVEL" { p = $2 }
		$1 == "SUBLEVEL" { s = $2 }
		$1 == "EXTRAVERSION" { e = $2; exit }
		END { print v "." p "." s e }' "$1/Makefile"
}

# ready ID: print the answer if that base has been imported
ready() {
	commit=$($GIT rev-parse -q --verify "refs/tags/$1^{commit}") ||
		return 1
	echo "$1 $commit $2 $3"
}

from_tree() {
	[ -d "$KSRC" ] || die "KSRC=$KSRC: no such folder"
	KSRC=$(cd "$KSRC" && pwd)
	for path in Makefile Kbuild net/core; do
		[ -e "$KSRC/$path" ] ||
			die "KSRC=$KSRC is no kernel tree: it has no $path"
	done
	[ -f "$KSRC/drivers/net/ovpn/io.c" ] ||
		die "KSRC=$KSRC ($(kernel_version "$KSRC")) is too old:" \
			"it has no drivers/net/ovpn (6.16 and later have)"
	version=$(kernel_version "$KSRC")
	# a tree of its own, not a folder that another one ignores
	if prefix=$(git -C "$KSRC" rev-parse --show-prefix 2>/dev/null) &&
		[ -z "$prefix" ]; then
		commit=$(git -C "$KSRC" rev-parse HEAD)
		id=ksrc-$(echo "$commit" | cut -c1-12)
		ready "$id" "$version" "git:$commit" && return
		say "importing $KSRC at $commit (once)"
		$GIT fetch -q --depth=1 "file://$KSRC" HEAD ||
			die "cannot read the commit $commit of $KSRC"
		commit=$(echo "$id" | GIT_AUTHOR_DATE='@0 +0000' \
			GIT_COMMITTER_DATE='@0 +0000' \
			$GIT commit-tree 'FETCH_HEAD^{tree}')
		$GIT tag -f "$id" "$commit" >/dev/null
		ready "$id" "$version" "git:$commit"
		return
	fi
	if [ -e "$KSRC/.config" ] || [ -e "$KSRC/include/generated" ]; then
		die "KSRC=$KSRC was built in: run make mrproper there first"
	fi
	sum=$(cd "$KSRC" && find . -type f -print0 | LC_ALL=C sort -z |
		xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
	id=ksrc-$(echo "$sum" | cut -c1-12)
	ready "$id" "$version" "$sum" && return
	import "$id" "$KSRC"
	ready "$id" "$version" "$sum"
}

from_debian() {
	package=linux-source-$BASE_SERIES
	mkdir -p "$CACHE/base"
	if [ -z "${REFRESH:-}" ] && [ -s "$CACHE/base/current" ]; then
		read -r id version sum < "$CACHE/base/current"
		ready "$id" "$version" "$sum" && return
	fi
	need_space "$CACHE" 12
	need mmdebstrap mmdebstrap
	found=
	for suite in $BASE_SUITES; do
		say "asking for $package in $suite"
		# what is wrong with one suite matters only if none has it
		said=$( (apt_setup "$suite") 2>&1 ) || {
			why=${said##*error: }
			continue
		}
		version=$(apt_own apt-cache show --no-all-versions "$package" \
			2>/dev/null | sed -n 's/^Version: //p' | head -n 1)
		[ -n "$version" ] && found=$suite && break
	done
	if [ -z "$found" ] && [ -n "${why:-}" ]; then
		die "the cache is empty and $package cannot be fetched: $why"
	elif [ -z "$found" ]; then
		die "$package is gone from $BASE_SUITES; use KSRC=DIR"
	fi
	id=debian-$(echo "$version" | tr '~+:' '---')
	say "fetching $package $version from $found"
	work=$CACHE/base/$id.tmp
	rm -rf "$work"
	mkdir -p "$work/tree"
	(cd "$work" && apt_own apt-get download -qq "$package=$version") ||
		die "cannot fetch $package $version"
	sum=$(sha256sum "$work/$package"_*.deb | cut -d' ' -f1)
	if ! ready "$id" "$version" "$sum" >/dev/null; then
		say "unpacking"
		dpkg-deb --fsys-tarfile "$work/$package"_*.deb |
			tar -xO "./usr/src/$package.tar.xz" |
			tar -xJ -C "$work/tree" --strip-components=1 ||
			die "cannot unpack $package $version"
		import "$id" "$work/tree"
	fi
	rm -rf "$work"
	echo "$id $version $sum" > "$CACHE/base/current"
	ready "$id" "$version" "$sum"
}

need xz xz-utils
if [ -n "${KSRC:-}" ]; then
	from_tree
else
	from_debian
fi
