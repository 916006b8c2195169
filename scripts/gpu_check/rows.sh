# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# What is printed and kept: one row for each thing that was looked at.

current=''

# Two spaces at least between columns, and none within a name: by them compare_drivers.sh takes a row apart.
print_row() { printf '%-4s  %-13s  %-51s  %-43s  %s\n' "$@"; }

# row STATUS NAME EXPECTED SEEN
row() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$current" "$2" "$3" "$4" >>"$rows"
  print_row "$1" "$current" "$2" "$3" "$4"
}
# truth COMMAND...: 1 if it succeeds, else 0.
truth() { if "$@"; then echo 1; else echo 0; fi; }
verdict() { # verdict TRUTH NAME EXPECTED SEEN; TRUTH: 1 or 0
  if (($1)); then row PASS "$2" "$3" "$4"; else row FAIL "$2" "$3" "$4"; fi
}
skip() { row SKIP "$1" '' "$2"; }

first_line() { tr '\n\t' '  ' <"$1" | cut -c1-160; }
