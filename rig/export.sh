#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/export.sh: write series/ and the project's own files back from the
# commits of build/linux.  A commit belongs to the series that its "Series:"
# line names; one without that line belongs where the commit before it does, or
# to SERIES=name if it and all after it have none.
#
# Files may have changed in the repository meanwhile.  Each file is merged as a
# whole: what only the tree changed is written, what only the repository
# changed is kept and goes into the tree, and what both changed is an error
# (FORCE=1 takes the tree's).  At the end the tree is assembled anew, which
# proves that what was written gives the same tree.

. "$(dirname "$0")/lib.sh"
. "$RIG/patch.sh"

# which_series: print "commit series" for every commit, oldest first
which_series() {
	tgit rev-list --reverse --topo-order "$base..HEAD" > "$work/commits"
	while read -r commit; do
		name=$(tgit log -1 --format=%B "$commit" |
			sed -n 's/^Series: \([^ ]*\)$/\1/p' | tail -n 1)
		echo "$commit ${name:--}"
	done < "$work/commits" > "$work/marks"
	# the tail without a mark goes to SERIES, the rest to its predecessor's
	awk -v told="${SERIES:-}" -v first="$(series_names | head -n 1)" '
		{ commit[NR] = $1; name[NR] = $2; if ($2 != "-") marked = NR }
		END {
			now = first
			for (i = 1; i <= NR; i++) {
				if (name[i] != "-") now = name[i]
				else if (told != "" && i > marked) now = told
				print commit[i], now
			}
		}' "$work/marks"
}

# check_commit COMMIT: what has no place in a series
check_commit() {
	subject=$(tgit log -1 --format=%s "$1")
	title="commit $(echo "$1" | cut -c1-12) ($subject)"
	case $subject in
	fixup!*|squash!*|amend!*)
		die "$title: git rebase -i --autosquash base first" ;;
	esac
	[ "$(tgit rev-list --parents -n 1 "$1" | wc -w)" = 2 ] ||
		die "$title is a merge"
	message "$1" > "$work/msg"
	[ -s "$work/msg" ] || die "$title has no message"
	[ -z "$(sed -n 2p "$work/msg")" ] ||
		die "$title: the second line of the message is not blank"
	! grep -qi '^Signed-off-by:' "$work/msg" ||
		die "$title is signed off: whoever submits it does that"
	! grep -qE '^(---|diff --git |Index: )' "$work/msg" ||
		die "$title: a line of the message would end it in a mail"
}

# export_commit COMMIT PATCH: write the patch file
export_commit() {
	this=$1
	file=$2
	tgit diff-tree -r --no-renames --name-status "$this^" "$this" \
		> "$work/names"
	[ -s "$work/names" ] || die "$title changes nothing"
	awk -F'\t' '$1 == "A" { print $2 }' "$work/names" > "$work/new"
	: > "$work/adds"
	if [ -s "$work/new" ]; then
		tr '\n' '\0' < "$work/new" |
			xargs -0 git -C "$TREE" ls-tree -r --name-only \
			"$base" -- > "$work/known"
		grep -vxFf "$work/known" "$work/new" > "$work/adds" || :
	fi
	set --
	while read -r path; do
		case " $OWNED_DIRS " in
		*" ${path%%/*} "*) ;;
		*) die "$title: adds $path, but the repository holds only" \
			"$OWNED_DIRS" ;;
		esac
		set -- "$@" ":(exclude,literal)$path"
	done < "$work/adds"
	! tgit diff-tree -r --numstat "$this^" "$this" -- . "$@" |
		grep -q '^-' || die "$title: changes a binary file"
	diff_of "$this" . "$@" > "$work/diff"
	{
		patch_head "$this"
		sed 's/^/Adds: /' "$work/adds"
		[ ! -s "$work/diff" ] || {
			echo
			cat "$work/diff"
		}
	} > "$out/$file"
}

# merge_paths: see above.  Leaves in $work/todo what is to be done.
merge_paths() {
	awk -v force="${FORCE:-}" '
		{
			path = $0
			sub(/^[^ ]* [^ ]* /, "", path)
			has[side, path] = $1 " " $2
			all[path] = 1
		}
		END {
			for (path in all) {
				was = has["was", path]
				repo = has["repo", path]
				tree = has["tree", path]
				if (tree == repo || tree == was) continue
				if (repo != was && !force) what = "conflict"
				else if (tree == "") what = "remove"
				else what = "write"
				print what, path
			}
		}' side=was "$work/was" side=repo "$work/repo" \
		side=tree "$work/tree" | sort -k2 > "$work/todo"
}

# managed: of a manifest, the lines of what export writes
managed() {
	grep -vE '^[0-9]+ [0-9a-f]+ series/([^/]*|.*/[^/]*)$' "$1" || :
	grep -E '^[0-9]+ [0-9a-f]+ series/[^/]*/[^/]*\.patch$' "$1" || :
}

need git git
[ -d "$TREE/.git" ] || die "no build/linux: make tree first"
tree_lock
work_dir export
out=$work/out
mkdir "$out"
stamp_read
[ ! -e "$BUSY" ] || die "build/linux is not whole: make tree first"
half=$(tree_in_progress)
[ -z "$half" ] || die "build/linux is in the middle of something ($half)"
dirty=$(tree_dirty)
[ -z "$dirty" ] || die "build/linux has changes that are not committed" \
	"($dirty)"
base=$(tgit rev-parse -q --verify 'refs/tags/base^{commit}') ||
	die "build/linux has no tag base: make tree first"
tgit merge-base --is-ancestor "$base" HEAD ||
	die "build/linux does not start at its base"
head=$(tgit rev-parse HEAD)
[ -z "${SERIES:-}" ] || series_names | grep -qxF "$SERIES" ||
	die "SERIES=$SERIES is not named in series/order"

# the tree's side, as files
which_series > "$work/assigned"
series_names > "$work/order"
at=1
last=
while read -r commit name; do
	check_commit "$commit"
	place=$(grep -nxF "$name" "$work/order" | cut -d: -f1)
	[ -n "$place" ] ||
		die "$title: its series $name is not named in series/order"
	[ "$place" -ge "$at" ] ||
		die "$title: of $name, but after a commit of $last"
	at=$place
	[ "$name" = "$last" ] || n=0
	last=$name
	n=$((n + 1))
	mkdir -p "$out/series/$name"
	slug=$(tgit log -1 --format=%f "$commit" | cut -c1-52 |
		sed 's/[-.]*$//')
	export_commit "$commit" "series/$name/$(printf %02d "$n")-$slug.patch"
done < "$work/assigned"
# shellcheck disable=SC2086 # a list
tgit ls-tree -r --full-tree "$base" -- $OWNED_DIRS | cut -f2 | sort \
	> "$work/base.paths"
# shellcheck disable=SC2086
tgit ls-tree -r --full-tree HEAD -- $OWNED_DIRS | cut -f2 | sort \
	> "$work/head.paths"
comm -13 "$work/base.paths" "$work/head.paths" > "$work/owned"
while read -r path; do
	mkdir -p "$out/${path%/*}"
	[ ! -L "$TREE/$path" ] || die "$path is a symbolic link"
	cp -p "$TREE/$path" "$out/$path"
done < "$work/owned"

# the merge
(cd "$out" && find . -type f | sed 's,^\./,,' | sort) | file_lines "$out" \
	> "$work/tree"
repo_manifest > "$work/repo.all"
managed "$work/repo.all" > "$work/repo"
if [ -e "$MANIFEST" ]; then
	managed "$MANIFEST" > "$work/was"
else
	: > "$work/was"
fi
merge_paths
conflict=$(sed -n 's/^conflict //p' "$work/todo" | head -n 1)
[ -z "$conflict" ] ||
	die "$conflict has changed both in the repository and in build/linux" \
		"(FORCE=1 takes build/linux's)"
while read -r what path; do
	if [ "$what" = write ]; then
		mkdir -p "$TOP/${path%/*}"
		cp "$out/$path" "$TOP/$path.new"
		mv "$TOP/$path.new" "$TOP/$path"
	else
		rm -f "$TOP/$path"
	fi
done < "$work/todo"
say "$(grep -c '^write' "$work/todo" || :) files written," \
	"$(grep -c '^remove' "$work/todo" || :) removed"

# build/linux holds nothing any more that the repository has not
before=$(tgit rev-parse 'HEAD^{tree}')
repo_manifest > "$work/now.all"
managed "$work/now.all" > "$work/now"
{
	cat "$work/tree"
	grep -vxFf "$work/now" "$work/now.all" || :
} | sort > "$MANIFEST.new"
mv "$MANIFEST.new" "$MANIFEST"
stamp_write "$head" unproved

# prove it: the tree is made anew of what was written, and gets the commits
# that any clone will have.  What only the repository changed comes in as well.
flock -u 9
exec 9>&-
FORCE='' "$RIG/tree.sh" || exit 1
sort "$work/now" > "$work/now.sorted"
sort "$work/tree" > "$work/tree.sorted"
! cmp -s "$work/now.sorted" "$work/tree.sorted" ||
	[ "$(tgit rev-parse 'HEAD^{tree}')" = "$before" ] ||
	die "what was written gives another tree: a fault of the rig"
