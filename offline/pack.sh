#!/bin/sh
# Packs what a training run of the ResNet needs on a machine that reaches no network: this program with the packages
# that such a machine lacks, a teacher, games, labels, puzzles and a book, as archives that can be carried one by one.
#
#   offline/pack.sh DATA OUT [LINES | LABELS.moves …]
#
# DATA has games, puzzles, qlabels and books as `tabiya data` reads them; LINES are folders of `tabiya data choose` and
# LABELS files of `tabiya data label --all-moves` made here already; each gets an archive of its own, and lies over there as
# data/LINES and data/LABELS.moves. PYTHON (3.12) is the other machine's version; it has torch, onnx, onnxruntime, safetensors and rich.
set -eu
data=$1 out=$2
shift 2
here=$(cd "$(dirname "$0")/.." && pwd)
tabiya=$here/.venv/bin/tabiya
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/program/site" "$work/data" "$work/more/games"
export XZ_OPT='-3 -T0'

tar c -C "$here" --exclude=__pycache__ --exclude=assets/transformer src configs offline | tar x -C "$work/program"
bring() {
  "$here/.venv/bin/pip" install --quiet --no-deps -c "$here/requirements/run.txt" --target "$work/program/site" "$@"
}
bring chess
bring --only-binary=:all: --python-version "${PYTHON:-3.12}" zstandard
rm -rf "$work"/program/site/zstandard/_cffi*
cp "${TEACHER:-/usr/games/stockfish}" "$work/program/stockfish"
tar cJf "$out/1-program.tar.xz" -C "$work" program

"$tabiya" data join "$data"/qlabels/* --puzzles "$data"/puzzles/lichess.csv.zst --out "$work/data/labels.moves"
cp "$data"/puzzles/lichess.csv.zst "$data"/books/noob_3moves.epd.zst "$work/data"
tar cJf "$out/2-data.tar.xz" -C "$work" data

cp "$data"/games/elite-0[01].pgn.zst "$data"/games/master-0[01].pgn.zst "$work/more/games"
tar cf "$out/3-more.tar" -C "$work" more

number=4
for made in "$@"; do
  name=$(basename "$made")
  if [ -d "$made" ]; then
    tar cJf "$out/$number-lines.tar.xz" -C "$(dirname "$made")" "$name"
  else
    mkdir -p "$work/$number/data"
    "$tabiya" data join "$made" --puzzles "$data/puzzles/lichess.csv.zst" --out "$work/$number/data/$name"
    tar cJf "$out/$number-labels.tar.xz" -C "$work/$number" data
  fi
  number=$((number + 1))
done
ls -l "$out"
