# SPDX-License-Identifier: GPL-2.0
# data, out and note come from report.sh

set terminal svg size 900,480 font "sans,12" background "white"
set output out
set datafile separator "\t"
set datafile missing "-"
set title "32 TCP flows among many peers, instructions per record (both ends)\n" . note
set style data linespoints
set logscale x 2
set yrange [0:*]
set xlabel "peers"
set ytics nomirror
set grid y
set key outside top right horizontal
set xtics nomirror
plot data using 1:2 title "base" linecolor "#9a9a9a", \
	"" using 1:3 title "patched" linecolor "#1f6fb2"
