# SPDX-License-Identifier: GPL-2.0
# A table with columns for people: fields separated by tabs on stdin; the first
# "left" columns are words, the others numbers.

BEGIN { FS = "\t" }
{
	for (i = 1; i <= NF; i++) {
		cell[NR, i] = $i
		if (length($i) > width[i])
			width[i] = length($i)
	}
	if (NF > columns)
		columns = NF
}
END {
	for (n = 1; n <= NR; n++) {
		line = ""
		for (i = 1; i <= columns; i++)
			line = line sprintf(i <= left ? "%-*s  " : "%*s  ", \
				width[i], cell[n, i])
		sub(/ *$/, "", line)
		print line
	}
}
