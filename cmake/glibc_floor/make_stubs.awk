# Turns `objdump -T` of an installed glibc library into assembly and a version script for stub libraries.
#
#   objdump -T libc.so.6 | awk -v floor=2.17 -v soname=libc.so.6 -v out=DIR -f make_stubs.awk
#
# Writes DIR/<library>.s and DIR/<library>.map for `soname`, and adds to those of the libraries that glibc 2.34 merged into
# libc. Every symbol gets one version: the newest at or below the floor. Symbols that have none are left out, so that a
# use of one ends the link by its name.

function number(version,   parts) {
  sub(/^GLIBC_/, "", version)
  split(version, parts, ".")
  return parts[1] * 1000000 + parts[2] * 1000 + parts[3]
}

# Where a symbol lived before 2.32 .. 2.34 moved it: the only library of an older glibc that has it.
function old_home(name) {
  if (name ~ /^dl/) return "libdl.so.2"
  if (name ~ /^(_*pthread_|sem_|thrd_|mtx_|cnd_|tss_|call_once$)/) return "libpthread.so.0"
  if (name ~ /^(aio_|lio_|mq_|shm_|timer_)/) return "librt.so.1"
  if (name ~ /^(openpty|forkpty|login|login_tty|logout|logwtmp)$/) return "libutil.so.1"
  return soname
}

BEGIN { limit = number(floor); moved_from = number("2.32"); moved_to = number("2.34") }

NF < 5 || /\*UND\*/ || /\*ABS\*/ { next }
{
  version = $(NF - 1)
  name = $NF
  gsub(/[()]/, "", version)
  if (version !~ /^GLIBC_[0-9.]+$/) next
  # "0000000000000010 g    DF .text ...": flags in fixed columns; thread-local symbols (.tbss, .tdata) are all private.
  if ($0 ~ /\.t(bss|data)[ \t]/) next
  at = number(version)
  if (at > newest[name]) newest[name] = at
  if (at > limit || at < chosen_at[name]) next
  chosen_at[name] = at
  chosen[name] = version
  is_object[name] = substr($0, index($0, " ") + 1, 7) ~ /O$/
  size[name] = $(NF - 2)
}

END {
  for (name in chosen) {
    moved = newest[name] >= moved_from && newest[name] <= moved_to && newest[name] > limit
    home = moved ? old_home(name) : soname
    source = out "/" home ".s"
    type = is_object[name] ? "%object" : "%function"
    printf ".globl %s\n.type %s, %s\n.size %s, 0x%s\n%s:\n.skip 8\n", name, name, type, name, size[name], name >source
    symbols[home, chosen[name]] = symbols[home, chosen[name]] " " name ";"
    if (!((home, chosen[name]) in seen)) { seen[home, chosen[name]] = 1; versions[home] = versions[home] " " chosen[name] }
  }
  for (home in versions) {
    script = out "/" home ".map"
    count = split(versions[home], list, " ")
    for (i = 1; i <= count; i++) printf "%s {%s };\n", list[i], symbols[home, list[i]] >script
  }
}
