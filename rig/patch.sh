# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034 # sourced
#
# Sourced after lib.sh by tree.sh, export.sh and series.sh: what a series looks
# like in the repository, and a git that the user's configuration cannot bend.
#
# A patch file is a Subject: header, the message, a line "---", one line
# "Adds: path" per project file that the commit introduces, and the hunks.
# The repository holds the last state of every project file, whole.  Where a
# later patch changes a project file that an earlier one adds, the later one
# carries that change as hunks, and the earlier state is had by taking those
# hunks back from the file in the repository.  So nothing is kept twice, and
# no state can disagree with another.
#
# In build/linux every commit names its series in the last line of its message
# ("Series: name"), which survives any rebase.  It exists only there.

# the folders of the kernel tree that may hold project files; series_id in
# lib.sh covers the same
OWNED_DIRS="drivers include net tools Documentation"

IDENT="ovpn series <ovpn@localhost>"
EPOCH=1767225600

GIT_CONFIG_GLOBAL=/dev/null
GIT_CONFIG_NOSYSTEM=1
GIT_AUTHOR_NAME=${IDENT% <*}
GIT_AUTHOR_EMAIL=ovpn@localhost
GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME
GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
LC_ALL=C
export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM LC_ALL
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

STAMP=$TREE/.git/ovpn-stamp
MANIFEST=$TREE/.git/ovpn-manifest
BUSY=$TREE/.git/ovpn-busy

# tgit ARG...: git on build/linux
tgit() {
	git -C "$TREE" -c core.quotePath=false -c gc.auto=0 "$@"
}

# work_dir NAME: a folder that is gone when the script is, whatever ends it
work_dir() {
	mkdir -p "$BUILD"
	work=$(mktemp -d "$BUILD/$1.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

# tree_lock: one of tree, export and series at a time
tree_lock() {
	need flock util-linux
	mkdir -p "$BUILD"
	exec 9>"$BUILD/linux.lock"
	flock 9
}

# series_names: the series in their order
series_names() {
	[ -f "$TOP/series/order" ] || die "series/order is missing"
	sed 's/#.*//; s/[[:space:]]*$//; s/^[[:space:]]*//; /^$/d' \
		"$TOP/series/order"
}

# repo_files FOLDER...: the files there, tracked or not, paths from $TOP
repo_files() {
	(cd "$TOP" && git -c core.quotePath=false ls-files -co \
		--exclude-standard -- "$@" | sort -u) | while read -r path; do
		[ ! -e "$TOP/$path" ] && [ ! -L "$TOP/$path" ] ||
			printf '%s\n' "$path"
	done
}

# file_lines DIR: read paths below DIR, print "mode sha256 path" for each
file_lines() {
	(
		cd "$1" || exit
		cat > "$work/paths"
		while read -r path; do
			if [ -x "$path" ]; then echo 755; else echo 644; fi
		done < "$work/paths" > "$work/modes"
		tr '\n' '\0' < "$work/paths" | xargs -0r sha256sum |
			sed 's/  / /' | paste -d' ' "$work/modes" -
	)
}

# repo_manifest: everything that a tree is made from, a line each
repo_manifest() {
	# shellcheck disable=SC2086 # a list
	repo_files series $OWNED_DIRS | file_lines "$TOP" | sort
}

# stamp_write HEAD BASE: build/linux as it is now agrees with $1
stamp_write() {
	echo "$(series_id) $1 $2" > "$STAMP.new"
	mv "$STAMP.new" "$STAMP"
}

# stamp_read: sets stamp_head and stamp_base, empty where nothing is known
stamp_read() {
	stamp_head=
	stamp_base=
	# shellcheck disable=SC2034 # the first word is for other readers
	[ ! -s "$STAMP" ] || read -r stamp_id stamp_head stamp_base < "$STAMP"
}

# tree_in_progress: what git command is half way in build/linux, if any
tree_in_progress() {
	for half in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD; do
		[ ! -e "$TREE/.git/$half" ] || {
			echo "$half"
			return
		}
	done
}

# tree_dirty: the first file of build/linux that is in no commit, if any.  A
# .gitignore that hides the whole tree (Debian's does) is not believed, or new
# files would be lost in silence.
tree_dirty() {
	if [ -f "$TREE/.gitignore" ]; then
		grep -vxF '/*' "$TREE/.gitignore" > "$work/ignore" || :
	else
		: > "$work/ignore"
	fi
	{
		tgit status --porcelain -uno | sed 's/^...//'
		tgit ls-files -o -X "$work/ignore" | sed 's/$/: git add -f/'
	} > "$work/dirty"
	head -n 1 "$work/dirty"
}

# message COMMIT: its message without the line that names the series
message() {
	tgit log -1 --format=%B "$1" | awk '
		/^Series: [^ ]+$/ { next }
		/^[ \t]*$/ { blank++; next }
		{
			if (seen)
				while (blank-- > 0) print ""
			blank = 0
			seen = 1
			sub(/[ \t]+$/, "")
			print
		}'
}

# diff_of COMMIT [PATHSPEC...]: its change, the same whatever git is set to.
# No index lines: they change with every earlier patch and say nothing here.
diff_of() {
	diff_commit=$1
	shift
	[ $# -gt 0 ] || set -- .
	tgit diff-tree -p --no-renames --no-ext-diff --no-textconv --no-color \
		--diff-algorithm=histogram --indent-heuristic -U3 \
		--inter-hunk-context=0 --src-prefix=a/ --dst-prefix=b/ \
		--full-index "$diff_commit^" "$diff_commit" -- "$@" |
		sed '/^index [0-9a-f]*\.\.[0-9a-f]*/d'
}

# patch_head COMMIT: a patch file down to its --- line
patch_head() {
	message "$1" | sed '1s/^/Subject: [PATCH] /'
	echo ---
}
