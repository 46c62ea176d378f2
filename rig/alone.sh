#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/alone.sh SERIES: the patches of one series on the base, without those
# before it in series/order.  Prints the last commit, which rig/kernel.sh and
# rig/check.sh take like any of build/linux.
#
# Hunks of files that another series adds are left out.  All others must apply
# to the letter.  Where the lines around differ too much for that, the series
# says how a patch looks alone: series/SERIES/NN-subject.alone is a diff that
# stands for the hunks of NN-subject.patch on the files that it names.

. "$(dirname "$0")/lib.sh"
. "$RIG/patch.sh"

[ $# = 1 ] || die "usage: rig/alone.sh SERIES"
name=$1
"$RIG/tree.sh" || exit 1
tree_lock
work_dir alone
tip=$(tgit rev-parse -q --verify "refs/tags/series/$name") ||
	die "no series $name in series/order"
base=$(tgit rev-parse 'refs/tags/base^{commit}')
before=$(series_names | awk -v name="$name" '$0 == name { print last }
	{ last = $0 }')
from=$base
[ -z "$before" ] || from=$(tgit rev-parse "refs/tags/series/$before")

tgit rev-list --reverse "$from..$tip" > "$work/commits"
(cd "$TOP/series/$name" && ls ./*.patch) | sort > "$work/patches"
[ "$(wc -l < "$work/commits")" = "$(wc -l < "$work/patches")" ] ||
	die "$name: as many patches as commits are expected"
for diff in "$TOP/series/$name"/*.alone; do
	[ ! -e "$diff" ] || [ -e "${diff%.alone}.patch" ] ||
		die "$diff: there is no such patch"
done
# what this series may touch: the files of the base and its own
tgit diff-tree -r --name-only --diff-filter=A "$from" "$tip" > "$work/own"

GIT_INDEX_FILE=$work/index
export GIT_INDEX_FILE
tgit read-tree "$base"
parent=$base
paste "$work/commits" "$work/patches" > "$work/queue"
while read -r commit patch; do
	alone=$TOP/series/$name/${patch%.patch}.alone
	: > "$work/said"
	[ ! -e "$alone" ] ||
		git apply --numstat "$alone" | cut -f3 > "$work/said"
	tgit diff-tree -r --name-only "$commit^" "$commit" > "$work/paths"
	while read -r path; do
		grep -qxF "$path" "$work/paths" ||
			die "${patch#./}: its .alone changes $path, which it" \
				"does not"
	done < "$work/said"
	set --
	while read -r path; do
		! grep -qxF "$path" "$work/said" || continue
		tgit cat-file -e "$base:$path" 2>/dev/null ||
			grep -qxF "$path" "$work/own" || continue
		set -- "$@" "$path"
	done < "$work/paths"
	[ $# = 0 ] || {
		diff_of "$commit" "$@" > "$work/diff"
		(cd "$TREE" && git apply --cached --whitespace=nowarn \
			"$work/diff") 2> "$work/err" ||
			die "${patch#./}: alone: $(head -n 1 "$work/err")"
	}
	[ ! -s "$work/said" ] ||
		(cd "$TREE" && git apply --cached --whitespace=nowarn \
			"$alone") 2> "$work/err" ||
		die "${patch#./}: its .alone: $(head -n 1 "$work/err")"
	date="@$(tgit log -1 --format=%ct "$commit") +0000"
	parent=$(tgit log -1 --format=%B "$commit" |
		GIT_AUTHOR_DATE=$date GIT_COMMITTER_DATE=$date \
		git -C "$TREE" commit-tree -p "$parent" -F - \
			"$(tgit write-tree)")
done < "$work/queue"
tgit update-ref "refs/alone/$name" "$parent"
echo "$parent"
