#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/series.sh: the series as others take them.
#
# build/series/<name>/		mails: git format-patch with cover letter (from
#				two patches up) and base
# build/debian/patches/		the same as a quilt queue with its series file
#
# The first line of series/<name>/cover.md is "# " and the subject of the
# cover letter; a line "Tree: net-next" there names the tree for the subject
# prefix; all else is the letter.

. "$(dirname "$0")/lib.sh"
. "$RIG/patch.sh"

# read_cover NAME: sets title and target, leaves the letter in $work/letter
read_cover() {
	cover=series/$1/cover.md
	[ -f "$TOP/$cover" ] || die "$cover is missing"
	title=$(sed -n '1s/^# //p' "$TOP/$cover")
	[ -n "$title" ] || die "$cover: the first line must be \"# subject\""
	target=$(sed -n 's/^Tree: *//p' "$TOP/$cover")
	[ -n "$target" ] || die "$cover: no line names the tree (Tree: ...)"
	! grep -qi '^Signed-off-by:' "$TOP/$cover" ||
		die "$cover is signed off: whoever submits it does that"
	sed '1d; /^Tree: /d' "$TOP/$cover" | awk '
		/^[ \t]*$/ { blank++; next }
		{
			if (seen)
				while (blank-- > 0) print ""
			blank = 0
			seen = 1
			print
		}' > "$work/letter"
	[ -s "$work/letter" ] || die "$cover has a title but no text"
}

# clean COMMIT PARENT: the same commit without the line for build/linux only
clean() {
	message "$1" > "$work/msg"
	date=$(tgit log -1 --format=%ct "$1")
	GIT_AUTHOR_DATE="@$date +0000" GIT_COMMITTER_DATE="@$date +0000" \
		tgit commit-tree -p "$2" -F "$work/msg" "$1^{tree}"
}

# mails NAME FROM TO: format-patch of FROM..TO
mails() {
	letter=--cover-letter
	numbers=--numbered
	if [ "$(tgit rev-list --count "$2..$3")" = 1 ]; then
		letter=--no-cover-letter
		numbers=--no-numbered
	fi
	GIT_COMMITTER_DATE="@$(tgit log -1 --format=%ct "$3") +0000" \
		tgit format-patch -q "$numbers" "$letter" --no-thread \
		--no-signature --no-attach --subject-prefix="PATCH $target" \
		--diff-algorithm=histogram --abbrev=12 --base="$base" \
		-o "$out/series/$1" "$2..$3"
	[ "$letter" = --cover-letter ] || return 0
	TITLE=$title awk -v letter="$work/letter" '
		(at = index($0, "*** SUBJECT HERE ***")) {
			print substr($0, 1, at - 1) ENVIRON["TITLE"]
			next
		}
		$0 == "*** BLURB HERE ***" {
			while ((getline line < letter) > 0) print line
			next
		}
		{ print }' "$out/series/$1/0000-cover-letter.patch" \
		> "$work/cover"
	mv "$work/cover" "$out/series/$1/0000-cover-letter.patch"
}

# queue NAME FROM TO: the quilt queue's part
queue() {
	mkdir -p "$out/debian/patches/$1"
	n=0
	tgit rev-list --reverse "$2..$3" > "$work/commits"
	while read -r commit; do
		n=$((n + 1))
		slug=$(tgit log -1 --format=%f "$commit" | cut -c1-52 |
			sed 's/[-.]*$//')
		file=$1/$(printf %04d "$n")-$slug.patch
		{
			message "$commit" | sed '1s/^/Subject: /'
			echo ---
			echo
			diff_of "$commit"
		} > "$out/debian/patches/$file"
		echo "$file" >> "$out/debian/patches/series"
	done < "$work/commits"
}

need git git
"$RIG/tree.sh" || exit 1
answer=$("$RIG/base.sh") || exit 1
tree_lock
work_dir series
out=$work/out
mkdir -p "$out/series" "$out/debian/patches"
base=$(tgit rev-parse 'refs/tags/base^{commit}')
# shellcheck disable=SC2086 # its four words
set -- $answer
echo "# for Linux $3 ($1)" > "$out/debian/patches/series"

from=$base
parent=$base
series_names > "$work/names"
while read -r name; do
	tip=$(tgit rev-parse "refs/tags/series/$name")
	tgit rev-list --reverse "$from..$tip" > "$work/list"
	if [ ! -s "$work/list" ]; then
		say "$name has no patches"
		continue
	fi
	read_cover "$name"
	start=$parent
	while read -r commit; do
		parent=$(clean "$commit" "$parent")
	done < "$work/list"
	mails "$name" "$start" "$parent"
	queue "$name" "$start" "$parent"
	say "$name: $(wc -l < "$work/list") patches, for $target"
	from=$tip
done < "$work/names"

rm -rf "$BUILD/series" "$BUILD/debian"
mv "$out/series" "$out/debian" "$BUILD"
