#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tests/series.sh: tree, export and series, on the series as it is and on a
# small one with a kernel tree of three files.

. "$(dirname "$0")/../lib.sh"
RIG=$TOP/rig
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

work_dir test-series
unset SERIES FORCE REFRESH

# copy_repo DIR PATH...: a checkout with the rig and these of our files
copy_repo() {
	mkdir -p "$1"
	git init -q "$1"
	to=$1
	shift
	repo_files "$@" .gitignore > "$work/copy"
	tar -C "$TOP" -c -T "$work/copy" | tar -C "$to" -x
}

# state DIR: everything that tree and export may write, in one line
state() {
	(cd "$1" && git ls-files -co --exclude-standard | sort |
		while read -r path; do
			[ ! -e "$path" ] || stat -c '%a %n' "$path"
			[ ! -e "$path" ] || sha256sum "$path"
		done; git -C build/linux rev-parse HEAD 'HEAD^{tree}') |
		sha256sum
}

# round_trip DIR: export, then assemble from nothing; nothing may change
round_trip() {
	before=$(state "$1")
	"$1/rig/export.sh" || return
	[ "$(state "$1")" = "$before" ] || {
		echo "export has changed something"
		git -C "$1" status --short
		return 1
	}
	rm -rf "$1/build/linux"
	"$1/rig/tree.sh" || return
	[ "$(state "$1")" = "$before" ] || {
		echo "assembling anew has changed something"
		return 1
	}
}

#
# the series as it is; its tree need not be checked out whole
#
real=$work/real
# shellcheck disable=SC2086 # a list
copy_repo "$real" rig series $OWNED_DIRS
mkdir -p "$work/template/info"
{
	echo /Makefile
	sed 's,^,/,' "$work/copy"
} > "$work/template/info/sparse-checkout"
printf '[core]\n\tsparseCheckout = true\n' > "$work/template/config"
GIT_TEMPLATE_DIR=$work/template
export GIT_TEMPLATE_DIR
works "the series assembles" "$real/rig/tree.sh"
works "the series: export and assembly change no byte" round_trip "$real"
for name in $(series_names); do
	works "$name applies without those before it" "$real/rig/alone.sh" \
		"$name"
done
unset GIT_TEMPLATE_DIR
rm -rf "$real"

#
# a small kernel
#
KSRC=$work/ksrc
XDG_CACHE_HOME=$work/cache
# the small kernel is no part of the checkout around it
GIT_CEILING_DIRECTORIES=$work
export KSRC XDG_CACHE_HOME GIT_CEILING_DIRECTORIES
mkdir -p "$KSRC/net/core" "$KSRC/drivers/net/ovpn"
printf '%s\n' 'VERSION = 7' 'PATCHLEVEL = 3' 'SUBLEVEL = 4' \
	> "$KSRC/Makefile"
: > "$KSRC/Kbuild"
seq 100 > "$KSRC/drivers/net/ovpn/io.c"
seq 200 > "$KSRC/net/core/gro.c"

repo=$work/repo
lin=$repo/build/linux
dir=drivers/net/ovpn
copy_repo "$repo" rig
mkdir -p "$repo/series/alpha" "$repo/series/beta"
printf 'alpha\nbeta # a comment\n' > "$repo/series/order"
for name in alpha beta; do
	printf '# %s & more\n\nTree: net-next\n\nThe letter \\ of %s.\n' \
		$name $name > "$repo/series/$name/cover.md"
done
git -C "$repo" add -A
git -C "$repo" commit -q -m start

tree() { "$repo/rig/tree.sh"; }
export_() { "$repo/rig/export.sh"; }
series() { "$repo/rig/series.sh"; }
lgit() { git -C "$lin" "$@"; }
commit() { lgit add -A && lgit commit -q -m "$1"; }
set_line() { sed -i "s/^$2\$/$3/" "$1"; }
file_is() { [ "$(cat "$1")" = "$2" ]; }
# keep: what is now is what `back` goes back to
keep() { rm -rf "$work/kept" && cp -a "$repo" "$work/kept"; }
back() { rm -rf "$repo" && cp -a "$work/kept" "$repo"; }

works "series without patches assemble" tree

# two series; a project file that grows, one that goes again, a program
grow() {
	set_line "$lin/$dir/io.c" 20 twenty
	set_line "$lin/$dir/io.c" 80 eighty
	seq 50 > "$lin/$dir/gso.c"
	printf '#!/bin/sh\n' > "$lin/$dir/tool.sh"
	chmod +x "$lin/$dir/tool.sh"
	commit "ovpn: one

Why \"one\" & \\two.

Assisted-by: LLM"
	set_line "$lin/$dir/gso.c" 10 ten
	echo gone > "$lin/$dir/gone.c"
	commit "ovpn: two, with [brackets] / and a title that is a good deal longer

Why."
	set_line "$lin/$dir/gso.c" 40 forty
	set_line "$lin/net/core/gro.c" 100 hundred
	rm "$lin/$dir/gone.c"
	commit "net: three

Why."
	export_ || return
	set_line "$lin/net/core/gro.c" 150 fifty
	commit "net: four

Why."
	SERIES=beta export_
}
works "commits become patches" grow
git -C "$repo" add -A
git -C "$repo" commit -q -m grown
works "a file that grows and one that goes: no byte changes" round_trip "$repo"

(cd "$repo" && ls series/*/*.patch && cat series/*/*.patch | grep ^Adds:) \
	> "$work/names"
cat > "$work/wanted" <<-END
series/alpha/01-ovpn-one.patch
series/alpha/02-ovpn-two-with-brackets-and-a-title-that-is-a-good-de.patch
series/alpha/03-net-three.patch
series/beta/01-net-four.patch
Adds: $dir/gso.c
Adds: $dir/tool.sh
Adds: $dir/gone.c
END
works "patch files and what they add" diff "$work/names" "$work/wanted"
works "no upstream file and no passing file in the repository" \
	test ! -e "$repo/$dir/io.c" -a ! -e "$repo/$dir/gone.c" \
	-a -x "$repo/$dir/tool.sh"

middle() {
	[ "$(lgit show "series/alpha~2:$dir/gso.c" | sed -n '10p;40p')" = "10
40" ] && [ "$(lgit show "series/alpha~1:$dir/gso.c" | sed -n 10p)" = ten ] &&
	[ "$(lgit show "series/alpha:$dir/gso.c" | sed -n 40p)" = forty ] &&
	[ "$(lgit show "series/alpha~1:$dir/gone.c")" = gone ]
}
works "each commit has the file as it was then" middle

private() {
	! grep -r '^Series:' "$repo/series" "$repo/build/series" \
		"$repo/build/debian"
}
works "make series" series
works "the mark of the series stays in build/linux" private
works "no sign-off in what is sent" \
	sh -c "! grep -ri signed-off-by '$repo/build/series' '$repo/build/debian'"
letter() {
	mails=$repo/build/series
	cover=$mails/alpha/0000-cover-letter.patch
	grep -xF 'Subject: [PATCH net-next 0/3] alpha & more' "$cover" &&
		grep -xF "$(tail -n 1 "$repo/series/alpha/cover.md")" \
			"$cover" &&
		grep '^ 4 files changed' "$cover" &&
		grep '^base-commit: ' "$cover" &&
		grep -xF 'Subject: [PATCH net-next] net: four' \
			"$mails"/beta/0001-*
}
works "cover letter: subject, text, base" letter
again() {
	cp -a "$repo/build/series" "$repo/build/debian" "$work"
	series && diff -r "$repo/build/series" "$work/series" &&
		diff -r "$repo/build/debian" "$work/debian"
}
works "make series twice is the same" again
quilt_queue() {
	cp -a "$KSRC" "$work/quilted"
	queue=$repo/build/debian/patches
	sed '/^#/d' "$queue/series" | while read -r patch; do
		(cd "$work/quilted" && patch -s -p1 --fuzz=0 -N \
			< "$queue/$patch") || exit 1
	done && diff -r --exclude=.git "$work/quilted" "$lin"
}
works "the quilt queue gives the same tree" quilt_queue
mails_apply() {
	lgit worktree add -q --detach "$work/mailed" base &&
	git -C "$work/mailed" am -q "$repo"/build/series/alpha/000[1-9]* \
		"$repo"/build/series/beta/000[1-9]* &&
	git -C "$work/mailed" diff --exit-code main &&
	lgit worktree remove --force "$work/mailed"
}
works "git am of the mails gives the same tree" mails_apply

# editing
keep
edit_repo() {
	head=$(lgit rev-parse HEAD)
	touch -d @1000 "$lin/net/core/gro.c" "$lin/$dir/gso.c"
	lgit update-index -q --refresh
	set_line "$repo/$dir/gso.c" 25 quarter
	tree && grep -qx quarter "$lin/$dir/gso.c" &&
		[ "$(lgit rev-parse HEAD)" != "$head" ] &&
		[ "$(stat -c %Y "$lin/net/core/gro.c")" = 1000 ] &&
		lgit show "series/alpha~2:$dir/gso.c" | grep -qx quarter
}
works "an edited project file goes in where it was added, others keep their time" \
	edit_repo
works "... and export brings hunks up to date once" export_
works "... and that survives a round trip" round_trip "$repo"
back
edit_both() {
	set_line "$repo/$dir/gso.c" 25 quarter
	set_line "$lin/$dir/io.c" 50 half
	lgit commit -q -a --fixup=series/alpha~2 &&
	EDITOR=: lgit -c sequence.editor=: rebase -q -i --autosquash base &&
	export_ && grep -qx +half "$repo/series/alpha/01-ovpn-one.patch" &&
	grep -qx quarter "$lin/$dir/gso.c" &&
	grep -qx quarter "$repo/$dir/gso.c" &&
	[ "$(lgit rev-list --count base..series/alpha)" = 3 ] &&
	[ "$(lgit rev-list --count series/alpha..series/beta)" = 1 ]
}
works "autosquash in the tree, another file in the repository: export has both" \
	edit_both
works "... and export brings hunks up to date once" export_
works "... and that survives a round trip" round_trip "$repo"
back
delete_it() {
	EDITOR=: lgit -c sequence.editor="sed -i '1s/pick/edit/'" \
		rebase -q -i base &&
	lgit rm -q "$dir/tool.sh" && lgit commit -q --amend --no-edit &&
	EDITOR=: lgit rebase --continue && export_ &&
	[ ! -e "$repo/$dir/tool.sh" ] &&
	! grep -r tool.sh "$repo/series"
}
works "a file that the tree drops is gone from the repository" delete_it
back
same_file() {
	set_line "$repo/$dir/gso.c" 25 quarter
	set_line "$lin/$dir/gso.c" 30 thirty
	commit "ovpn: five" && SERIES=beta export_
}
refused "the same file changed on both sides" \
	"$dir/gso.c has changed both in the repository" same_file
back

# what is refused: hunks
set_line "$KSRC/net/core/gro.c" 150 other
refused "a hunk that does not apply: patch, hunk and file" \
	"beta/01-net-four.patch: hunk 1 (@@ -147,7 .*) of net/core/gro.c" tree
set_line "$KSRC/net/core/gro.c" other 150
set_line "$KSRC/net/core/gro.c" 153 other
refused "fuzz: a context line that differs" \
	"beta/01-net-four.patch: hunk 1 (@@ -147,7 .*) of net/core/gro.c" tree
set_line "$KSRC/net/core/gro.c" other 153
set_line "$KSRC/drivers/net/ovpn/io.c" 80 other
refused "the second of two hunks is named" \
	"alpha/01-ovpn-one.patch: hunk 2 (@@ -77,7 .*) of $dir/io.c" tree
set_line "$KSRC/drivers/net/ovpn/io.c" other 80
rm "$KSRC/net/core/gro.c"
refused "a file that the base has not" "03-net-three.patch: changes net/core/gro.c" \
	tree
seq 200 > "$KSRC/net/core/gro.c"
shifted() {
	sed -i '1i zero' "$KSRC/net/core/gro.c"
	tree && grep -qx hundred "$lin/net/core/gro.c"
}
works "lines that moved are found" shifted
seq 200 > "$KSRC/net/core/gro.c"
back
set_line "$repo/$dir/gso.c" forty drei
refused "a project file that a later hunk does not fit" \
	"03-net-three.patch: hunk [12] .* of $dir/gso.c does not apply" tree
back
sed -i '$d' "$repo/series/beta/01-net-four.patch"
refused "a patch cut short" "beta/01-net-four.patch: corrupt" tree
back

# what is refused: files
sed -i "/^Adds: .*tool.sh/d" "$repo"/series/alpha/01*
refused "a project file that no patch names" "$dir/tool.sh: no patch" tree
back
sed -i "s,^Adds: .*tool.sh,&\nAdds: $dir/nix.c," "$repo"/series/alpha/01*
refused "Adds: of a file that is not there" "Adds: $dir/nix.c: no such" tree
back
sed -i "s,^Adds: .*tool.sh,&\nAdds: $dir/io.c," "$repo"/series/alpha/01*
refused "Adds: of a file of the base" "Adds: $dir/io.c exists in the base" tree
back
seq 100 > "$repo/$dir/io.c"
refused "an upstream file in the repository" \
	"$dir/io.c is a file of the base" tree
back
sed -i 's/^Subject:/Topic:/' "$repo"/series/alpha/01*
refused "a patch without Subject" "01-ovpn-one.patch: no Subject" tree
back
echo gamma >> "$repo/series/order"
refused "a series that is not there" "order names gamma" tree
back
cp -r "$repo/series/beta" "$repo/series/gamma"
refused "a series without a place" "series/gamma is not named" tree
back

# what is refused: work that would be lost
echo more >> "$lin/net/core/gro.c"
refused "assembling over changes" \
	"changes that are not committed (net/core/gro.c): commit and make export" \
	tree
refused "exporting uncommitted changes" "not committed (net/core/gro.c)" export_
commit "net: five"
refused "assembling over commits" "make export first" tree
forced() { FORCE=1 "$repo/rig/tree.sh" && ! grep -qx more "$lin/net/core/gro.c"; }
works "FORCE=1 discards them" forced
back
: > "$lin/$dir/new.c"
refused "assembling over a file that is not added" "$dir/new.c" tree
back
hidden() {
	printf '*.o\n/*\n' > "$KSRC/.gitignore"
	tree && : > "$lin/$dir/new.c" && : > "$lin/$dir/new.o" && tree
}
refused "... and where a .gitignore hides everything" "($dir/new.c: git add -f)" hidden
back
rm "$KSRC/.gitignore"

# what is refused: commits
for kind in fixup squash; do
	set_line "$lin/$dir/io.c" 50 half
	lgit commit -q -a -m "$kind! ovpn: one"
	refused "exporting a $kind! commit" "autosquash" export_
	back
done
set_line "$lin/$dir/io.c" 50 half
lgit commit -q -s -a -m "ovpn: five

Why.
"
refused "exporting a sign-off" "is signed off" export_
back
lgit commit -q --allow-empty -m "ovpn: five"
refused "exporting a commit that changes nothing" "changes nothing" export_
back
mkdir -p "$lin/fs"
: > "$lin/fs/new.c"
commit "fs: five"
refused "a new file where the repository holds none" "adds fs/new.c" export_
back
set_line "$lin/$dir/io.c" 50 half
lgit commit -q -a -m "ovpn: five

Series: alpha"
refused "a commit of a series after those of the next" \
	"of alpha, but after a commit of beta" export_
back

tap_end
