#!/bin/sh
# A training run of the ResNet on a machine that reaches no network, from the archives of `pack.sh`. The teachers and the
# run go on by themselves once they are begun, so that calls may be short and lines may break.
#
#   train.sh take ARCHIVE …        unpack archives that have arrived
#   train.sh own MINUTES           the shipped network plays itself; for so long some of the teachers choose moves in what it got
#                                  into, and the others score every move where its second look tells it most
#   train.sh begin CONFIG MINUTES  extract, let teachers fill folders for the first MINUTES, train
#   train.sh wait SECONDS          show how it goes until it ends, so many seconds at most
#   train.sh end OUT               the network, in float32 and in eight bits, and the run's log, to the folder OUT
#
# Everything lies in $OFFLINE (offline-run in the home folder). TEACHERS (14) engines work beside the run, or beside what comes
# before it, and SCORERS (half) of them are those that score every move in `own`. OWN (16384) games are played by `own`, and of
# their positions that are told TOLD (0.1) or more at most HARD (262144) get every move scored. SAMPLE (0.1) of the games' positions are learned from, WANDER (0) of them after a move of
# chance. The shipped network is made data/start.safetensors where that has not arrived. GAMES (0): at the end the network of
# eight bits plays so many games against the shipped one, and four times as many against its own float32; another machine
# can do that as well, and later.
set -eu
at=${OFFLINE:-$HOME/offline-run}
mkdir -p "$at"
at=$(cd "$at" && pwd)
mkdir -p "$at/data"
export PYTHONPATH="$at/program/src:$at/program/site"
tabiya="${PYTHON:-python3} -m tabiya"
teachers=${TEACHERS:-14}
each=$((teachers / 2))
scorers=${SCORERS:-$each}

take() {
  for archive in "$@"; do
    tar xf "$archive" -C "$at"
  done
  ls "$at"
}

# Some of the teachers, at work by themselves: `teach HOW_MANY SOURCE MINUTES OUT OPTION …`.
teach() {
  many=$1 source=$2 minutes=$3 out=$4
  shift 4
  chmod +x program/stockfish
  setsid nice -n 19 timeout "$((minutes * 60))" $tabiya data choose "$source" --out "data/$out" --teacher "$at/program/stockfish" \
    --nodes 1500 --positions 20000000 --line 4 --wander 0.25 --puzzles data/lichess.csv.zst --workers "$many" "$@" \
    >"$out.log" 2>&1 &
}

own() {
  cd "$at"
  start=data/start.safetensors
  if [ ! -e "$start" ]; then
    start=own.safetensors
    $tabiya export checkpoint resnet --out "$start"
  fi
  $tabiya data selfplay "$start" --games "${OWN:-16384}" --openings data/noob_3moves.epd.zst --device "${DEVICE:-cuda}" --out own.fen
  if [ "$each" -gt 0 ]; then
    teach $((teachers - scorers)) own.fen "$1" lines-own --seed 300
    score "$1"
  fi
}

# The others, at work on what is hard, in files that are done one after the other: `score MINUTES`.
score() {
  $tabiya data curate own.fen --network "$start" --told "${TOLD:-0.1}" --max "${HARD:-262144}" \
    --puzzles data/lichess.csv.zst --device "${DEVICE:-cuda}" --out hard.fen
  mkdir -p hard
  split -l "${PIECE:-8192}" -a 3 -d --additional-suffix=.fen hard.fen hard/
  setsid nice -n 19 timeout "$(($1 * 60))" $tabiya data label hard/*.fen --all-moves --depth 6 --out data/labels-own \
    --teacher "$at/program/stockfish" --workers "$scorers" >labels-own.log 2>&1 &
}

begin() {
  config=$(basename "$1") minutes=$2
  [ "$1" -ef "$at/$config" ] || cp "$1" "$at/$config"
  cd "$at"
  extract="$tabiya data extract --dedup --from-ply 6 --puzzles data/lichess.csv.zst"
  if [ ! -e data/games/manifest.json ]; then
    $extract --sample "${SAMPLE:-0.1}" --wander "${WANDER:-0}" --seed 5 --out data/games more/games/*
  fi
  for lines in lines*; do
    if [ -d "$lines" ]; then mv "$lines" data/; fi
  done
  if [ "$each" -gt 0 ] && [ "$minutes" -gt 0 ]; then
    # Each folder from games of its own, or they would hold the same positions.
    number=2
    for men in 2-32 8-28; do
      games=$(ls more/games/* | awk "NR % 2 == $number % 2")
      $extract --sample 0.5 --out "data/from-$number" $games
      teach "$each" "data/from-$number" "$minutes" "lines-$number" --men "$men" --seed "${number}02"
      number=$((number + 1))
    done
  fi
  if [ ! -e data/start.safetensors ] && grep -q '^start_from = "data/start.safetensors"' "$config"; then
    $tabiya export checkpoint resnet --out data/start.safetensors --normalised-by data/games
  fi
  setsid $tabiya train "$config" --out runs/offline >train.log 2>&1 &
  echo $! >train.pid
}

wait_for() {
  cd "$at"
  until=$(($(date +%s) + $1))
  while [ "$(date +%s)" -lt "$until" ] && kill -0 "$(cat train.pid)" 2>/dev/null; do
    sleep 2
  done
  tail -n 6 train.log
  kill -0 "$(cat train.pid)" 2>/dev/null || echo 'the run has ended'
}

end() {
  mkdir -p "$1"
  out=$(cd "$1" && pwd)
  cd "$at"
  $tabiya export onnx runs/offline --out runs/float.onnx
  $tabiya export int8 runs/float.onnx --weights-only --out runs/int8.onnx
  cp runs/int8.onnx runs/int8.json runs/float.json runs/offline/log.jsonl "$out"
  # In parts that pass where files of 16 MiB do: `cat float.onnx.gz.* | gunzip` makes it one again.
  gzip -c runs/float.onnx | split -b 15m -d -a 1 - "$out/float.onnx.gz."
  if [ "${GAMES:-0}" -gt 0 ]; then play "$out"; fi
}

play() {
  duel() {
    $tabiya export duel runs/int8.onnx "$1" --games "$2" --seed "$3" --out "runs/against-$4" --at-once 2000 \
      --book data/noob_3moves.epd.zst --device "${DEVICE:-cuda}" >"$4.log" 2>&1
  }
  duel resnet "$GAMES" 30 shipped &
  duel runs/float.onnx "$((4 * GAMES))" 31 float &
  wait
  for pair in shipped float; do
    tail -n 5 "$pair.log"
    cp "runs/against-$pair/duel.json" "$1/duel-$pair.json"
  done
}

case "${1:-}" in
  take) shift; take "$@" ;;
  own) own "$2" ;;
  begin) begin "$2" "$3" ;;
  wait) wait_for "$2" ;;
  end) end "$2" ;;
  *) echo 'usage: train.sh take ARCHIVE … | own MINUTES | begin CONFIG MINUTES | wait SECONDS | end OUT' >&2; exit 2 ;;
esac
