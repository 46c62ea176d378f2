# SPDX-License-Identifier: GPL-2.0
# data, out and note come from report.sh

set terminal svg size 900,480 font "sans,12" background "white"
set output out
set datafile separator "\t"
set title "Overhead of the tunnel, instructions per record (both ends)\n" . note
set style data histogram
set style histogram clustered gap 1
set style fill solid
set yrange [0:*]
set bmargin 4
set ytics nomirror
set grid y
set key outside top right horizontal
set xtics nomirror font "sans,10"
plot data using 2:xtic(1) title "base" linecolor "#9a9a9a", \
	"" using 3 title "patched" linecolor "#1f6fb2"
