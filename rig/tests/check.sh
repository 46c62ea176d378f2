#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tests/check.sh: seeded faults for the gate.  A commit on top of the series
# for each of them; it must turn the one question red that asks for it, and no
# other.

. "$(dirname "$0")/../lib.sh"
RIG=$TOP/rig
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

work_dir test-check
# shellcheck disable=SC2154 # set by work_dir
[ -d "$TREE/.git" ] || die "no build/linux: make tree first"

# seed NAME PATH < TEXT: a commit on top of build/linux whose PATH ends with
# TEXT; its id is left in $work/NAME.  No work tree sees it.
seed() {
	GIT_INDEX_FILE=$work/index
	export GIT_INDEX_FILE
	tgit read-tree HEAD
	{
		tgit cat-file blob "HEAD:$2" 2> /dev/null || :
		cat
	} > "$work/text"
	mode=100644
	[ "${2%.sh}" = "$2" ] || mode=100755
	tgit update-index --add --cacheinfo \
		"$mode,$(tgit hash-object -w "$work/text"),$2"
	unset GIT_INDEX_FILE
	printf 'ovpn: %s\n\nOne more function or file, for the gate.\n' "$1" |
		GIT_AUTHOR_DATE="@$EPOCH +0000" \
		GIT_COMMITTER_DATE="@$EPOCH +0000" tgit commit-tree -p HEAD \
		"$(GIT_INDEX_FILE=$work/index tgit write-tree)" > "$work/$1"
}

# gate VARIANTS NAME...: what turns red is left in $work/red, what stays green
# in $work/green, both without the number
gate() {
	variants=$1
	shift
	rc=0
	(cd "$work" && cat "$@") | VARIANTS=$variants xargs "$RIG/check.sh" only \
		> "$work/tap" 2> "$work/said" || rc=$?
	sed -n 's/^not ok [0-9]* - ovpn: //p' "$work/tap" > "$work/red"
	sed -n 's/^ok [0-9]* - ovpn: //p' "$work/tap" > "$work/green"
	[ -s "$work/green" ] || return
	[ $rc != 0 ] || [ ! -s "$work/red" ]
}

# red_only NAME QUESTION: of this commit, this and nothing else
red_only() {
	cat "$work/tap" "$work/said"
	[ "$(grep "^$1: " "$work/red")" = "$1: $2" ] &&
		grep -q "^$1: " "$work/green"
}

# green_only NAME
green_only() {
	cat "$work/tap" "$work/said"
	! grep "^$1: " "$work/red" && grep -q "^$1: " "$work/green"
}

io=drivers/net/ovpn/io.c
tests=tools/testing/selftests/net/ovpn

seed clean $io <<'END'

static int __maybe_unused ovpn_seed(int a)
{
	return a;
}
END
seed style $io <<'END'

static int __maybe_unused ovpn_seed(int a)
{
	if(a)
		return 1;
	return a;
}
END
seed spelling $io <<'END'

/* to be looked at tommorrow */
static int __maybe_unused ovpn_seed(int a)
{
	return a;
}
END
seed inline $io <<'END'

static inline int __maybe_unused ovpn_seed(int a)
{
	return a;
}
END
seed kernel-doc $io <<'END'

/**
 * ovpn_seed - give back a number
 * @b: the number
 *
 * Return: the number
 */
static int __maybe_unused ovpn_seed(int a)
{
	return a;
}
END
seed unlisted $tests/test-seed.sh <<'END'
#!/bin/bash
# SPDX-License-Identifier: GPL-2.0

exit 4
END
# gcc asks only with W=1
seed warning $io <<'END'

static int __maybe_unused ovpn_seed(int a)
{
	int b;

	b = a;
	return a;
}
END
# nobody but sparse sees it
seed sparse $io <<'END'

static __be32 __maybe_unused ovpn_seed(u32 a)
{
	return a;
}
END
seed module $io <<'END'

static int (*ovpn_seed)(struct sk_buff *skb) __used = tcp_v4_rcv;
END
seed ipv6 $io <<'END'

static bool __maybe_unused ovpn_seed(const struct sock *sk)
{
	return ipv6_addr_any(&sk->sk_v6_daddr);
}
END

gate '' style spelling inline kernel-doc unlisted || :
works "an error of checkpatch" red_only style "checkpatch"
works "a word spelt wrong" red_only spelling "spelling"
works "a new inline" red_only inline "no new inline"
works "a fault in kernel-doc" red_only kernel-doc "kernel-doc"
works "a test that no Makefile lists" red_only unlisted "selftests listed"

gate y clean warning sparse || :
works "a commit without a fault is green" green_only clean
works "a warning of gcc" red_only warning "builds (y), no new warning"
works "a warning of sparse" red_only sparse "builds (y), no new warning"
gate m module || :
works "a module that wants what is not exported" \
	red_only module "builds (m), no new warning"
gate noipv6 ipv6 || :
works "what does not compile without IPv6" \
	red_only ipv6 "builds (noipv6), no new warning"

refused "a commit that is not there" "no commit nonsense" \
	"$RIG/check.sh" only nonsense
refused "no commit at all" "usage" "$RIG/check.sh" only

tap_end
