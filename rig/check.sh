#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/check.sh [all | texts | builds | only COMMIT...]: the gate.  Everything that
# is asked of each patch of the series, as TAP: one line for each commit and
# question.  Each one is built into the kernel, and what a series makes of the base
# or of those before it also as a module and without IPv6.  "texts" and "builds"
# ask one half each.  "all" asks the slow questions as well: every commit is built
# in all ways, as a whole kernel with modules and for 32 bit, and boots.  "only"
# judges these commits of build/linux, wherever they are, and boots none; VARIANTS
# says which builds.
#
# Warnings are compared as sets with those of the commit before, so that what
# the base says is nobody's fault here, and one new warning cannot hide behind
# one that went.  What was compiled once is remembered in the cache.
#
# clang is not asked: with lld and llvm it would make the tool root, which
# everybody has to fetch, 400 MB larger.

. "$(dirname "$0")/lib.sh"
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

usage="usage: rig/check.sh [all | texts | builds | only COMMIT...]"
mode=${1:-tip}
texts=yes builds=yes
case $mode in
tip|all) ;;
texts)	builds='' mode=tip ;;
builds)	texts='' mode=tip ;;
only)	shift
	[ $# -gt 0 ] || die "$usage" ;;
*)	die "$usage" ;;
esac

# Messages of checkpatch that are not asked for, each with its reason.
#  FILE_PATH_CHANGES	asks whether MAINTAINERS has the new files; the entry
#			of ovpn names the folders
#  UNKNOWN_COMMIT_ID	looks for what Fixes: names; there is no history here
IGNORE=FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID

# as sort in the tool root has it
LC_ALL=C
export LC_ALL

SRC=$BUILD/src-check
VARIANTS=${VARIANTS-y m noipv6}

in_root() { "$RIG/in-root" "$@"; }

# new_lines BEFORE AFTER: what only AFTER has; succeeds if that is nothing
new_lines() {
	comm -13 "$1" "$2" > "$work/fresh"
	sed 's/^/new: /' "$work/fresh"
	[ ! -s "$work/fresh" ]
}

# touched COMMIT [FILTER]: files that it leaves changed or new
touched() {
	tgit diff-tree -r --no-renames --name-only --diff-filter="${2:-AM}" \
		"$1^" "$1"
}

# at COMMIT DIR: read paths, put those that the commit has below DIR
at() {
	rm -rf "$2"
	mkdir -p "$2"
	while read -r path; do
		mkdir -p "$2/$(dirname "$path")"
		tgit show "$1:$path" > "$2/$path" 2>/dev/null || rm "$2/$path"
	done
}

#
# questions about a commit's text
#
style() {
	{
		message "$1" | sed '1s/^/Subject: [PATCH] /'
		echo ---
		tgit diff-tree -p --stat --summary --no-renames "$1^" "$1"
	} > "$work/patch"
	# GIT_DIR: there is no history to look up commits in; and neither
	# checkpatch nor python leaves a file in build/linux
	in_root sh -c "cd '/ovpn/${work#"$TOP"/}' && GIT_DIR=none \
		PYTHONDONTWRITEBYTECODE=1 /ovpn/build/linux/scripts/checkpatch.pl \
		--root=/ovpn/build/linux --strict --no-signoff \
		--max-line-length=80 --show-types --quiet --color=never \
		--ignore $IGNORE '/ovpn/${work#"$TOP"/}/patch'"
}

# checkpatch can ask codespell's dictionary itself, and takes minutes to do it
spelling() {
	{
		message "$1"
		diff_of "$1" | sed -n 's/^+//p'
	} > "$work/words"
	in_root codespell --ignore-words-list fro \
		"/ovpn/${work#"$TOP"/}/words"
}

no_inline() {
	! diff_of "$1" '*.c' | grep -E '^\+[^+*/]*\<(__always_)?inline\>'
}

kernel_doc() {
	touched "$1" | grep '\.[ch]$' | grep -v '^tools/' > "$work/files" ||
		return 0
	at "$1" "$work/after" < "$work/files"
	at "$1^" "$work/before" < "$work/files"
	for side in before after; do
		# shellcheck disable=SC2016 # expanded in the tool root
		in_root sh -euc '
			cd "$1"
			export PYTHONDONTWRITEBYTECODE=1
			find . -type f | sort | xargs -r \
				/ovpn/build/linux/scripts/kernel-doc \
				-none -Wall
		' sh "/ovpn/${work#"$TOP"/}/$side" > "$work/kdoc" 2>&1 || {
			cat "$work/kdoc"
			return 1
		}
		sed -E 's/:[0-9]+//' "$work/kdoc" | sort -u > "$work/$side.kdoc"
	done
	new_lines "$work/before.kdoc" "$work/after.kdoc"
}

# lists MAKEFILE: "variable name" for each word in what a selftest Makefile
# installs or builds
lists() {
	sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$1" | awk '
		/^TEST_[A-Z_]* *[:+]?=/ {
			name = $1
			sub(/[:+=].*/, "", name)
			sub(/^[^=]*=/, "")
			sub(/#.*/, "")
			for (i = 1; i <= NF; i++) print name, $i
		}'
}

# disorder FILE...: "what: A before B" for neighbours that are the wrong way
# round.  Paths out of the folder stand where they like.
disorder() {
	for list; do
		[ -f "$list" ] || continue
		case $list in
		*/Makefile)	lists "$list" | grep -v '\.\./' || : ;;
		*)		grep '^[^#]' "$list" | sed 's/^/: /' ;;
		esac | awk -v file="${list##*/}" '
			$1 == last && $2 < name {
				print file ": " name " before " $2
			}
			{ last = $1; name = $2 }'
	done | sort -u
}

# selftests COMMIT: new tests are listed where they must be, lists stay sorted
selftests() {
	touched "$1" | sed -n 's,^\(tools/testing/selftests/.*\)/[^/]*$,\1,p' |
		sort -u > "$work/folders"
	bad=0
	while read -r folder; do
		for name in Makefile .gitignore config; do
			echo "$folder/$name"
		done > "$work/files"
		at "$1" "$work/after" < "$work/files"
		at "$1^" "$work/before" < "$work/files"
		for side in before after; do
			top=$work/$side/$folder
			disorder "$top/Makefile" "$top/.gitignore" \
				"$top/config" > "$work/$side.order"
		done
		new_lines "$work/before.order" "$work/after.order" || bad=1
		[ -f "$work/after/$folder/Makefile" ] || continue
		lists "$work/after/$folder/Makefile" > "$work/listed"
		touched "$1" A | sed -n "s,^$folder/\([^/]*\)\$,\1,p" \
			> "$work/new"
		while read -r name; do
			listed "$1" "$folder" "$name" || bad=1
		done < "$work/new"
	done < "$work/folders"
	return $bad
}

# listed COMMIT FOLDER NAME: a new file has its place in the lists
listed() {
	case $3 in
	*.c)
		program=${3%.c}
		grep -q "^TEST_GEN_[A-Z_]* $program\$" "$work/listed" || {
			grep -qw "$program" "$work/after/$2/Makefile" || {
				echo "$2/Makefile does not build $3"
				return 1
			}
			return 0
		}
		grep -qxE "/?$program" "$work/after/$2/.gitignore" || {
			echo "$2/.gitignore has no line $program"
			return 1
		} ;;
	*.sh|*.py|*.txt|*.json)
		grep -q "^TEST_[A-Z_]* $3\$" "$work/listed" || {
			echo "$2/Makefile does not list $3"
			return 1
		}
		! grep -q "^TEST_PROGS $3\$" "$work/listed" ||
			[ "$(tgit ls-tree "$1" "$2/$3" | cut -c1-6)" = 100755 ] || {
			echo "$2/$3 is a test, but not executable"
			return 1
		} ;;
	esac
}

#
# questions that need a compiler
#
# source_at COMMIT: build/src-check as of then
source_at() {
	if [ ! -d "$SRC" ]; then
		say "checking out build/src-check (once)"
		tgit worktree prune
		tgit worktree add -q --detach "$SRC" base
	fi
	git -C "$SRC" checkout -q -f --detach "$1"
}

# compiled COMMIT VARIANT TARGET...: sets result to the file with the warnings
compiled() {
	of=$1
	kind=$2
	shift 2
	key=$(
		{
			echo "$* $("$RIG/root.sh" path)"
			cat "$RIG/check-build.sh" "$RIG/config/features.config"
		} | sha256sum | cut -c1-12
	)
	tree=$(tgit rev-parse "$of^{tree}" | cut -c1-12)
	result=$CACHE/check/$tree-$kind-$key
	[ ! -e "$result" ] || return 0
	mkdir -p "$CACHE/check"
	source_at "$of" || return
	# not what a later patch adds
	for target; do
		shift
		case $target in
		*.o)	[ -f "$SRC/${target%.o}.c" ] || continue ;;
		esac
		set -- "$@" "$target"
	done
	in_root sh rig/check-build.sh "$kind" "$JOBS" \
		"/cache/check/${result##*/}" "$@"
}

# builds COMMIT VARIANT [BEFORE]: what the series touch compiles and says nothing
# that it did not say BEFORE, which is the commit before
builds() {
	this=$1
	kind=$2
	since=${3:-$1^}
	without=none
	[ "$kind" != noipv6 ] || without=net/ipv6/
	# shellcheck disable=SC2046 # a list
	set -- $(grep -v "^$without" "$work/targets")
	compiled "$since" "$kind" "$@" || return
	before=$result
	compiled "$this" "$kind" "$@" || return
	after=$result
	grep -v '^wants ' "$before" > "$work/before.warn" || :
	grep -v '^wants ' "$after" > "$work/after.warn" || :
	new_lines "$work/before.warn" "$work/after.warn" || return
	# a module can use only what is exported
	grep '^wants ' "$before" > "$work/before.wants" || :
	grep '^wants ' "$after" > "$work/after.wants" || :
	comm -13 "$work/before.wants" "$work/after.wants" |
		sed 's/^wants //' > "$work/wants"
	[ -s "$work/wants" ] || return 0
	tgit grep -hoE 'EXPORT_[A-Z_]+\(\w+' "$this" -- '*.[chS]' |
		sed 's/.*(//' | sort -u > "$work/exports"
	comm -23 "$work/wants" "$work/exports" |
		sed 's/$/ is not exported/' > "$work/fresh"
	cat "$work/fresh"
	[ ! -s "$work/fresh" ]
}

# whole COMMIT VARIANT: kernel and modules, linked
whole() {
	compiled "$1" "$2" all
}

boots() {
	kernel=$("$RIG/kernel.sh" um "$1") || return
	"$RIG/guest/boot.sh" -k "$kernel" -o "$work/boot" -- true
}

#
# questions about our own scripts
#
scripts_clean() {
	(cd "$TOP" && git ls-files -co --exclude-standard -- rig .ci bench |
		while read -r path; do
			[ -f "$path" ] || continue
			case $(head -n 1 "$path") in
			'#!/bin/sh'*|'#!/bin/bash'*) echo "$path" ;;
			*) case $path in *.sh) echo "$path" ;; esac ;;
			esac
		done) > "$work/scripts"
	# sourced files have no first line that says which shell, and their
	# variables are somebody else's
	# shellcheck disable=SC2016 # expanded in the tool root
	in_root sh -c 'rc=0
		while read -r path; do
			case $(head -n 1 "$path") in
			"#!"*) set -- ;;
			*) set -- -s sh -e SC2034,SC2154 ;;
			esac
			shellcheck -f gcc -x -P SCRIPTDIR -P SCRIPTDIR/.. \
				-P rig "$@" "$path" || rc=1
		done
		exit $rc' < "$work/scripts"
}

tests_clean() {
	tgit diff --no-renames --name-only --diff-filter=A base "$head" -- \
		'tools/testing/selftests/*.sh' > "$work/scripts"
	[ -s "$work/scripts" ] || return 0
	mkdir "$work/tests"
	tgit archive "$head" tools/testing/selftests/net \
		tools/testing/selftests/kselftest | tar -xC "$work/tests"
	# SC2317: cases are functions that a runner calls by name, and
	# each of their lines is taken for dead
	# shellcheck disable=SC2016 # expanded in the tool root
	in_root sh -c 'rc=0
		while read -r path; do
			(cd "$1/${path%/*}" &&
				shellcheck -f gcc -x -e SC2317 \
					--extended-analysis=false \
					"${path##*/}") || rc=1
		done
		exit $rc' sh "/ovpn/${work#"$TOP"/}/tests" < "$work/scripts"
}

#
# questions about the series as a whole
#
# netdev takes no more at once
few() { [ "$(tgit rev-list --count "$1..$2")" -le 15 ]; }

the_series() {
	from=base
	for name in $(series_names); do
		works "$name: at most 15 patches" few "$from" "series/$name"
		from=series/$name
	done
}

#
work_dir check
if [ -n "$builds" ]; then
	# build/src-check and its objects serve one at a time
	need flock util-linux
	exec 7>"$BUILD/check.lock"
	flock 7
	[ "$mode" = only ] || works "the series apply" "$RIG/tree.sh"
fi
base=$(tgit rev-parse -q --verify 'refs/tags/base^{commit}') ||
	die "no build/linux: make tree first"
head=$(tgit rev-parse HEAD)
[ -e "$("$RIG/root.sh" path)/.complete" ] ||
	die "no tool root yet: run make root"
if [ "$mode" = only ]; then
	for commit; do
		tgit rev-parse -q --verify "$commit^{commit}" ||
			die "build/linux has no commit $commit"
	done > "$work/commits"
else
	tgit rev-list --reverse "$base..$head" > "$work/commits"
	[ -z "$texts" ] || the_series
fi
[ "$mode" != all ] || VARIANTS="$VARIANTS 32"

# everything of ovpn, and what else the series touch
{
	echo drivers/net/ovpn/
	tgit diff --no-renames --name-only --diff-filter=AM "$base" "$head" \
		-- '*.c' | sed 's/\.c$/.o/' |
		grep -vE '^(tools|samples|arch|drivers/net/ovpn)/' || :
} > "$work/targets"

# (in the tool root there is somebody who would read our list on stdin)
while read -r commit <&8; do
	title="$(tgit log -1 --format=%s "$commit"):"
	if [ -n "$texts" ]; then
		works "$title checkpatch" style "$commit"
		works "$title spelling" spelling "$commit"
		works "$title no new inline" no_inline "$commit"
		works "$title kernel-doc" kernel_doc "$commit"
		works "$title selftests listed" selftests "$commit"
	fi
	[ -n "$builds" ] || continue
	for variant in $VARIANTS; do
		[ "$mode-$variant" = tip-y ] || [ "$mode" != tip ] || continue
		works "$title builds ($variant), no new warning" \
			builds "$commit" "$variant"
	done
	if [ "$mode" = all ]; then
		works "$title whole kernel with modules" whole "$commit" m
	fi
	case $mode-$commit in
	all-* | "tip-$head") works "$title boots" boots "$commit" ;;
	esac
done 8< "$work/commits"

[ "$mode$builds" != tipyes ] || {
	from=base
	for name in $(series_names); do
		for variant in $VARIANTS; do
			[ "$variant" = y ] || works \
				"$name: builds ($variant), no new warning" \
				builds "$(tgit rev-parse "series/$name^{commit}")" \
				"$variant" "$from"
		done
		from=series/$name
	done
}

# the longest for the end: nothing waits for them
[ "$mode" = only ] || [ -z "$texts" ] || {
	works "rig: shellcheck" scripts_clean
	works "selftests: shellcheck" tests_clean
}

tap_end
