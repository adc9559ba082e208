#!/bin/sh
# Makes docs/pictures/top.svg: `dat top` while `dat perf` runs over TCP, and while the peer of another `dat perf` over
# shared memory is stopped.
# usage: docs/pictures/top.sh [DAT]
set -eu
cd "$(dirname "$0")/../.."
dat=${1:-target/release/dat}
work=$(mktemp -d)
started=
end() {
    for process in $started; do kill -KILL "$process" 2>/dev/null || true; done
    rm -rf "$work"
}
trap end EXIT
start() {
    "$dat" "$@" >"$work/out" 2>&1 &
    last=$!
    started="$started $last"
}
start perf tcp-lo --listen --port 7301
start perf shm --listen --port 7302
stopped=$last
sleep 1
start perf tcp-lo 127.0.0.1 --port 7301 --seconds 600
start perf shm 127.0.0.1 --port 7302 --seconds 600
sleep 3
kill -STOP "$stopped"
sleep 3
"$dat" top --once >"$work/top"
awk '
    { text[NR] = $0; if (length($0) > width) width = length($0) }
    END {
        glyph = 7.2; line = 18; margin = 14
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ", \
            width * glyph + 2 * margin, NR * line + 2 * margin
        printf "font-family=\"monospace\" font-size=\"12\" fill=\"#dddddd\">\n"
        print "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#222222\"/>"
        for (i = 1; i <= NR; i++) {
            gsub(/&/, "\\&amp;", text[i]); gsub(/</, "\\&lt;", text[i]); gsub(/>/, "\\&gt;", text[i])
            style = i == 1 ? " font-weight=\"bold\"" : ""
            printf "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\"%s>%s</text>\n", \
                margin, margin + i * line - 5, style, text[i]
        }
        print "</svg>"
    }' "$work/top" >docs/pictures/top.svg
