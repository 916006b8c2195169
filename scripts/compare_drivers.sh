#!/usr/bin/env bash
# Holds the simulated driver to the real one: runs the programs of scripts/gpu_check.sh on the simulated driver and lays
# their verdicts beside those that a real card gave, row by row. Needs no GPU.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<TEXT
usage: scripts/compare_drivers.sh [RESULT_FILE] [--build DIR]

  RESULT_FILE    what a real card gave, or any other result of gpu_check.sh (default: the newest of tests/gpu/results)
  --build DIR    a finished build with its simulated driver (default: build/dev)

A line for each row: check, name, verdict on the simulated driver, verdict in RESULT_FILE, and
  same, DIFFERENT     both drivers were looked at
  only on the card    there is no such thing without a card, or it was skipped
  only simulated      RESULT_FILE does not have it, or it was skipped there
  skipped             nobody looked
Exit status: 0 no verdict differs, 1 one does or a row failed on the simulated driver, 2 cannot start.
TEXT
}

die() {
  printf 'compare_drivers: %s\n' "$*" >&2
  exit 2
}

card='' build=$root/build/dev
while (($#)); do
  case $1 in
    --build)
      (($# > 1)) || die '--build needs a value'
      build=$2
      shift
      ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && exit 2 ;;
    *)
      [[ -z $card ]] || die 'one result file at a time'
      card=$1
      ;;
  esac
  shift
done
if [[ -z $card ]]; then card=$(printf '%s\n' "$root"/tests/gpu/results/*.txt | sort -V | tail -n 1); fi
[[ -r $card ]] || die "cannot read '$card'"
[[ -e $build/sim/libcuda.so.1 ]] || die "no simulated driver in '$build': run scripts/build.sh, or say --build DIR"

work=$(mktemp -d "${TMPDIR:-/tmp}/vramguard-compare.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$root/scripts/gpu_check.sh" --build "$build" --simulated "$build/sim" --quick --results "$work" >"$work/output"
simulated=$(find "$work" -name '*.txt')
if [[ -z $simulated ]]; then
  cat "$work/output"
  die 'the programs do not run on the simulated driver'
fi

printf 'simulated: %s\ncard:      %s\n\n' "$(head -n 1 "$simulated")" "$(head -n 1 "$card")"
grep '^FAIL' "$simulated" && echo
awk -F '  +' '
  function judged(verdict) { return verdict == "PASS" || verdict == "FAIL" }
  # Figures that nobody judges are left out.
  !/^(PASS|FAIL|SKIP)  / { next }
  {
    side = FILENAME == ARGV[1] ? "card" : "simulated"
    key = $2 "  " $3
    if ((side, key) in verdicts) {
      printf "two rows of one name: %s, %s\n", FILENAME, key
      twice = 1
    }
    verdicts[side, key] = $1
    if (!($2 in rows_of)) checks[++check_count] = $2
    if (!(key in known)) keys[$2, ++rows_of[$2]] = key
    known[key] = 1
  }
  END {
    for (c = 1; c <= check_count; ++c) {
      for (r = 1; r <= rows_of[checks[c]]; ++r) {
        key = keys[checks[c], r]
        split(key, parts, "  ")
        here = verdicts["simulated", key]
        there = verdicts["card", key]
        if (judged(here) && judged(there)) word = here == there ? "same" : "DIFFERENT"
        else if (judged(there)) word = "only on the card"
        else if (judged(here)) word = "only simulated"
        else word = "skipped"
        ++count[word]
        failed += here == "FAIL"
        printf "%-13s  %-53s  %-4s  %-4s  %s\n", parts[1], parts[2], here == "" ? "-" : here, there == "" ? "-" : there, word
      }
    }
    printf "\n%d same, %d DIFFERENT, %d only on the card, %d only simulated, %d skipped\n", count["same"], count["DIFFERENT"],
      count["only on the card"], count["only simulated"], count["skipped"]
    if (count["same"] == 0) print "nothing in common: is it a result file of gpu_check.sh?"
    exit count["same"] == 0 || count["DIFFERENT"] > 0 || failed > 0 || twice
  }' "$card" "$simulated"
