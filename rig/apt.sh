# SPDX-License-Identifier: GPL-2.0
# Sourced after lib.sh: an apt of the project's own.  Lists, cache, sources and
# status live in the cache folder; the mirror is the one that the host is
# configured with, the keyring is Debian's, and the host's proxy settings stay
# in force.  The host's own sources and lists are never written to.

APT_DIR=$CACHE/apt
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# apt_mirrors: every archive the host's apt would ask, one a line
apt_mirrors() {
	apt-get update --print-uris 2>/dev/null |
		sed -n "s,^'\([^']*\)/dists/.*,\1,p" | sort -u
}

# apt_own COMMAND...: run an apt program with the project's configuration
apt_own() {
	APT_CONFIG=$APT_DIR/apt.conf "$@"
}

# apt_setup SUITE...: fetch the lists of these suites from the first mirror
# that carries the first of them.  A suite that is refused (expired, not
# mirrored) is left out with a word about it; apt's signature check decides.
# Leaves the mirror in $APT_DIR/mirror and the sources in sources.list.
apt_setup() {
	need mmdebstrap mmdebstrap
	[ -r "$KEYRING" ] || die "$KEYRING is missing: install debian-archive-keyring"
	mkdir -p "$APT_DIR/lists/partial" "$APT_DIR/archives/partial" "$APT_DIR/none"
	: > "$APT_DIR/status"
	cat > "$APT_DIR/apt.conf" <<-EOF
	Dir::State::Lists "$APT_DIR/lists";
	Dir::State::status "$APT_DIR/status";
	Dir::Cache "$APT_DIR";
	Dir::Cache::archives "$APT_DIR/archives";
	Dir::Etc::SourceList "$APT_DIR/sources.list";
	Dir::Etc::SourceParts "-";
	Dir::Etc::Preferences "$APT_DIR/none/preferences";
	Dir::Etc::PreferencesParts "$APT_DIR/none";
	APT::Architecture "$(dpkg --print-architecture)";
	APT::Architectures { "$(dpkg --print-architecture)"; };
	APT::Sandbox::User "";
	Acquire::Languages "none";
	Acquire::Retries "3";
	EOF
	for mirror in $(apt_mirrors); do
		: > "$APT_DIR/sources.new"
		for suite; do
			echo "deb [signed-by=$KEYRING] $mirror $suite main" \
				> "$APT_DIR/sources.list"
			if apt_own apt-get update -qq \
				-o APT::Update::Error-Mode=any \
				>"$APT_DIR/update.log" 2>&1; then
				cat "$APT_DIR/sources.list" \
					>> "$APT_DIR/sources.new"
			elif [ "$suite" = "$1" ]; then
				continue 2
			else
				say "suite $suite left out:" "$(sed -n \
					's/^[EW]: //p' "$APT_DIR/update.log" |
					head -n 1)"
			fi
		done
		mv "$APT_DIR/sources.new" "$APT_DIR/sources.list"
		apt_own apt-get update -qq >"$APT_DIR/update.log" 2>&1 ||
			die "apt: $(head -n 1 "$APT_DIR/update.log")"
		echo "$mirror" > "$APT_DIR/mirror"
		return
	done
	die "no Debian mirror that the host's apt knows offers $1" \
		"(no network?): $(sed -n 's/^[EW]: //p' \
		"$APT_DIR/update.log" 2>/dev/null | head -n 1)"
}
