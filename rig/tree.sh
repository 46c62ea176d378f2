#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tree.sh: assemble build/linux, the base as one commit, then one commit
# per patch in the order of series/order.  The same input gives the same commit
# ids.  Hunks must match to the letter.  Does nothing when nothing has changed,
# and refuses to throw away work that `make export` has not seen (FORCE=1 does
# throw it away).
#
# The commits are made without a work tree, and one reset at the end moves
# build/linux to the last of them, so that files which did not change keep
# their time stamps and kernel builds stay incremental.

. "$(dirname "$0")/lib.sh"
. "$RIG/patch.sh"

# open_tree: build/linux as a repository that borrows the base's objects
open_tree() {
	if [ ! -d "$TREE/.git" ]; then
		[ ! -e "$TREE" ] || die "$TREE is there, but no git tree"
		git init -q -b main "$TREE"
		: > "$BUSY"
	fi
	if [ ! -e "$STAMP" ]; then
		tgit config user.name "$GIT_AUTHOR_NAME"
		tgit config user.email "$GIT_AUTHOR_EMAIL"
		tgit config gc.auto 0
		tgit config index.version 4
		tgit config core.untrackedCache true
		tgit config advice.detachedHead false
	fi
	mkdir -p "$TREE/.git/objects/info"
	echo "$CACHE/base.git/objects" > "$TREE/.git/objects/info/alternates"
	# a shallow source (KSRC) stays shallow here
	if [ -s "$CACHE/base.git/shallow" ]; then
		cp "$CACHE/base.git/shallow" "$TREE/.git/shallow"
	fi
}

# refuse_unexported: build/linux must hold nothing but what we put there
refuse_unexported() {
	[ ! -e "$BUSY" ] || return 0
	[ -z "${FORCE:-}" ] || return 0
	half=$(tree_in_progress)
	[ -z "$half" ] ||
		die "build/linux is in the middle of something ($half):" \
			"finish it, then make export (FORCE=1 discards it)"
	head=$(tgit rev-parse HEAD)
	[ "$head" = "$stamp_head" ] || [ "$head" = "$base" ] ||
		die "build/linux has commits that the repository has not:" \
			"make export first (FORCE=1 discards them)"
	dirty=$(tree_dirty)
	[ -z "$dirty" ] ||
		die "build/linux has changes that are not committed" \
			"($dirty): commit and make export" \
			"(FORCE=1 discards them)"
}

# explain PATCH DIFF ERRORS HOW: one line from what git apply said
explain() {
	at=$(sed -n 's/^error: patch failed: //p' "$3" | head -n 1)
	if [ -z "$at" ]; then
		die "$1: $(sed -n 's/^error: //p' "$3" | head -n 1)"
	fi
	file=${at%:*}
	hunk=$(awk -v path="$file" -v line="${at##*:}" -v side="$4" '
		/^diff --git / { n = 0; mine = ($NF == "b/" path) }
		mine && /^@@ / {
			n++
			split(side == "backwards" ? $3 : $2, at, ",")
			if (substr(at[1], 2) + 0 == line + 0) {
				print n " (" $0 ")"
				exit
			}
		}' "$2")
	die "$1: hunk ${hunk:-at line ${at##*:}} of $file does not apply\
${4:+ ($4, to the file in the repository)}"
}

# read_patch N PATCH: sort a patch into N.msg, N.adds, N.diff, N.paths, N.new
read_patch() {
	# blank lines in the place of what precedes the hunks keep git's line
	# numbers true
	awk -v out="$work/$1" '
		part == "hunks" { print > (out ".diff"); next }
		{ print "" > (out ".diff") }
		part == "notes" && /^diff --git / {
			part = "hunks"
			print > (out ".diff")
			next
		}
		part == "notes" {
			if (sub(/^Adds:[ \t]+/, "")) print > (out ".adds")
			next
		}
		part == "" && /^Subject: / {
			sub(/^Subject: /, "")
			sub(/^\[PATCH[^]]*\] */, "")
			subject = $0
			folded = 1
			next
		}
		part == "" && folded && /^[ \t]/ {
			sub(/^[ \t]+/, " ")
			subject = subject $0
			next
		}
		part == "" && /^$/ {
			part = "body"
			print subject > (out ".msg")
			next
		}
		part == "" { folded = 0; next }
		/^---$/ { part = "notes"; next }
		/^[ \t]*$/ { blank++; next }
		{
			if (!begun) { begun = 1; blank = 1 }
			while (blank-- > 0) print "" > (out ".msg")
			blank = 0
			print > (out ".msg")
		}
		END {
			if (subject == "") bad = "no Subject: line"
			else if (part != "notes" && part != "hunks")
				bad = "no --- line after the message"
			if (bad) print bad > (out ".bad")
		}' "$TOP/$2"
	[ ! -e "$work/$1.bad" ] || die "$2: $(cat "$work/$1.bad")"
	touch "$work/$1.adds" "$work/$1.paths" "$work/$1.new"
	if grep -q '^diff --git ' "$work/$1.diff"; then
		git apply --numstat "$work/$1.diff" \
			> "$work/stat" 2> "$work/err" ||
			explain "$2" "$work/$1.diff" "$work/err" ""
		cut -f 3- "$work/stat" > "$work/$1.paths"
		awk '/^diff --git / { path = substr($NF, 3) }
			/^new file mode / { print path }' \
			"$work/$1.diff" > "$work/$1.new"
	fi
	if [ ! -s "$work/$1.paths" ] && [ ! -s "$work/$1.adds" ]; then
		die "$2: neither hunks nor an Adds: line"
	fi
}

# in_base: of the paths read, print "mode blob path" for those in the base
in_base() {
	tr '\n' '\0' | xargs -0r git ls-tree -r "$base" -- |
		awk '{ mode = $1; blob = $3; sub(/^[^\t]*\t/, "")
			print mode, blob, $0 }'
}

# assemble: make the commits; sets new to the last.  The index holds none but
# the files that are touched, and fast-import takes the changes from there, so
# that the size of the kernel does not matter.
assemble() {
	GIT_DIR=$TREE/.git
	GIT_WORK_TREE=$TOP
	GIT_INDEX_FILE=$work/index
	export GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
	cd "$TOP"

	# the queue
	count=0
	: > "$work/queue"
	series_names > "$work/names"
	sort "$work/names" | uniq -d | while read -r name; do
		die "series/order names $name twice"
	done
	for dir in series/*/; do
		name=${dir#series/}
		grep -qxF "${name%/}" "$work/names" ||
			die "${dir%/} is not named in series/order"
	done
	while read -r name; do
		[ -d "series/$name" ] ||
			die "series/order names $name, which is no folder there"
		for patch in "series/$name"/*.patch; do
			[ -e "$patch" ] || continue
			count=$((count + 1))
			echo "$count $name $patch" >> "$work/queue"
			read_patch "$count" "$patch"
		done
	done < "$work/names"

	# what the base has of all that is touched
	# shellcheck disable=SC2086 # a list
	repo_files $OWNED_DIRS > "$work/owned"
	cat "$work/owned" "$work"/*.paths "$work"/*.adds 2>/dev/null |
		sort -u > "$work/touched"
	in_base < "$work/touched" > "$work/base"
	cut -d' ' -f3- "$work/base" > "$work/base.paths"
	while read -r path; do
		[ ! -L "$path" ] || die "$path is a symbolic link"
		case $path in
		*[!a-zA-Z0-9._/+,@-]*) die "$path: no name for a kernel file" ;;
		esac
		! grep -qxF "$path" "$work/base.paths" ||
			die "$path is a file of the base: it must not be in" \
				"the repository"
	done < "$work/owned"
	: > "$work/added"
	while read -r n name patch; do
		sort -u "$work/$n.adds" > "$work/adds.sorted"
		[ "$(wc -l < "$work/adds.sorted")" = \
			"$(wc -l < "$work/$n.adds")" ] ||
			die "$patch: the same Adds: line twice"
		while read -r path; do
			! grep -qxF "$path" "$work/base.paths" ||
				die "$patch: Adds: $path exists in the base"
			! grep -qxF "$path" "$work/$n.paths" ||
				die "$patch: both adds and changes $path"
		done < "$work/$n.adds"
		while read -r path; do
			grep -qxF "$path" "$work/base.paths" ||
				die "$patch: a hunk creates $path: it belongs" \
					"in the repository, with an Adds: line"
		done < "$work/$n.new"
		cat "$work/$n.adds" >> "$work/added"
		while read -r path; do
			grep -qxF "$path" "$work/base.paths" ||
				grep -qxF "$path" "$work/added" ||
				die "$patch: changes $path, which is neither" \
					"in the base nor added before"
		done < "$work/$n.paths"
	done < "$work/queue"
	while read -r path; do
		grep -qxF "$path" "$work/added" ||
			die "$path: no patch has a line Adds: $path"
	done < "$work/owned"

	# backwards: each project file as it was when its patch added it
	rm -f "$GIT_INDEX_FILE"
	git update-index --add --stdin < "$work/owned"
	sort -rn "$work/queue" > "$work/back"
	while read -r n name patch; do
		while read -r path; do
			entry=$(git ls-files -s -- "$path")
			[ -n "$entry" ] ||
				die "$patch: Adds: $path: no such file"
			echo "$entry" >> "$work/$n.entries"
			git update-index --force-remove -- "$path"
		done < "$work/$n.adds"
		set --
		while read -r path; do
			grep -qxF "$path" "$work/base.paths" ||
				set -- "$@" "--include=$path"
		done < "$work/$n.paths"
		[ $# = 0 ] ||
			git apply --cached -R --whitespace=nowarn "$@" \
				"$work/$n.diff" 2> "$work/err" ||
			explain "$patch" "$work/$n.diff" "$work/err" backwards
	done < "$work/back"
	# forwards: the commits
	rm -f "$GIT_INDEX_FILE"
	sed 's/ \([^ ]*\) / \1\t/' "$work/base" |
		git update-index --add --index-info
	before=$(git write-tree)
	parent=$base
	{
		while read -r n name patch; do
			[ ! -s "$work/$n.paths" ] ||
				git apply --cached --whitespace=nowarn \
					"$work/$n.diff" 2> "$work/err" ||
				explain "$patch" "$work/$n.diff" "$work/err" ""
			if [ -s "$work/$n.entries" ]; then
				while read -r path; do
					[ -z "$(git ls-files -- "$path")" ] ||
						die "$patch: Adds: $path is" \
							"there already"
				done < "$work/$n.adds"
				git update-index --index-info \
					< "$work/$n.entries"
			fi
			now=$(git write-tree)
			date=$((EPOCH + 60 * n))
			echo "commit refs/ovpn/new"
			echo "mark :$n"
			echo "author $IDENT $date +0000"
			echo "committer $IDENT $date +0000"
			echo "data <<OVPN-END-OF-MESSAGE"
			cat "$work/$n.msg"
			echo
			echo "Series: $name"
			echo "OVPN-END-OF-MESSAGE"
			echo "from $parent"
			git diff-tree -r --no-renames "$before" "$now" | awk '{
				path = $0
				sub(/^[^\t]*\t/, "", path)
				if ($5 ~ /^D/) print "D " path
				else print "M " $2, $4, path
			}'
			echo
			before=$now
			parent=:$n
			last=$n
		done < "$work/queue"
		# the tip of each series, and of an empty one its predecessor's
		[ "$count" -gt 0 ] || parent=$base
		echo "reset refs/ovpn/new"
		echo "from $parent"
		echo
		tip=$base
		while read -r name; do
			last=$(awk -v name="$name" '$2 == name { n = $1 }
				END { print n }' "$work/queue")
			[ -z "$last" ] || tip=:$last
			echo "reset refs/tags/series/$name"
			echo "from $tip"
			echo
		done < "$work/names"
		echo "reset refs/tags/base"
		echo "from $base"
		echo
		echo "done"
	} > "$work/stream"
	git for-each-ref --format='delete %(refname)' refs/tags/series |
		git update-ref --stdin
	git fast-import --quiet --force --done < "$work/stream" \
		2> "$work/err" || die "fast-import: $(head -n 1 "$work/err")"
	new=$(git rev-parse refs/ovpn/new)
	git update-ref -d refs/ovpn/new
	unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
}

need git git
need awk mawk
answer=$("$RIG/base.sh") || exit 1
# shellcheck disable=SC2086 # its four words
set -- $answer
base=$2
tree_lock
work_dir tree
open_tree
stamp_read
repo_manifest > "$work/manifest"
refuse_unexported
if [ -z "${FORCE:-}" ] && [ ! -e "$BUSY" ] && [ "$stamp_base" = "$base" ] &&
	cmp -s "$work/manifest" "$MANIFEST"; then
	exit 0
fi

assemble

# from here on an interruption leaves nothing that could be somebody's work
[ ! -e "$BUSY" ] || rm -f "$TREE/.git/index.lock"
: > "$BUSY"
if [ -n "$(tree_in_progress)" ]; then
	rm -rf "$TREE/.git/rebase-merge" "$TREE/.git/rebase-apply"
fi
[ -e "$TREE/Makefile" ] || say "checking out the base (once)"
tgit symbolic-ref HEAD refs/heads/main
tgit -c checkout.workers=0 reset -q --hard "$new"
tgit clean -q -f -d -x
mv "$work/manifest" "$MANIFEST"
stamp_write "$new" "$base"
rm -f "$BUSY"
patches=$(tgit rev-list --count "$base..$new")
say "build/linux is ${answer%% *} plus $patches patches"
