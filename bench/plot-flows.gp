# SPDX-License-Identifier: GPL-2.0
# data, out and note come from report.sh

set terminal svg size 900,480 font "sans,12" background "white"
set output out
set datafile separator "\t"
set datafile missing "-"
set title "TCP flows through one tunnel, Mbit/s at 10^9 instructions/s\n" . note
set style data linespoints
set logscale x 2
set yrange [0:*]
set xlabel "flows"
set ytics nomirror
set grid y
set key outside top right horizontal
set xtics nomirror
plot data using 1:2 title "base, split" linecolor "#9a9a9a" dashtype 2, \
	"" using 1:3 title "patched, split" linecolor "#1f6fb2" dashtype 2, \
	"" using 1:4 title "base, nic" linecolor "#9a9a9a", \
	"" using 1:5 title "patched, nic" linecolor "#1f6fb2"
