#!/usr/bin/env python3
"""How long a scrape of vramguard-exporter takes beside many guarded processes, and what memory it needs.

Usage: scrape_bench.py BUILD_DIR [PROCESSES]
"""
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

build, count = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "1000"


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


with tempfile.TemporaryDirectory(dir="/dev/shm") as state:
    subjects = subprocess.Popen([f"{build}/tests/exporter/fabricate_state", state, count, "5"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    subjects.stdout.readline()
    for options in ([], ["--per-process"]):
        exporter = subprocess.Popen([f"{build}/vramguard-exporter", "--listen", "127.0.0.1:0", "--state-dir", state, *options],
                                    stderr=subprocess.PIPE, text=True)
        url = exporter.stderr.readline().split()[1]
        times = []
        for _ in range(20):
            start = time.monotonic()
            size = len(urllib.request.urlopen(url).read())
            times.append(time.monotonic() - start)
        with open(f"/proc/{exporter.pid}/status") as status:
            memory = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in status if line.startswith(("VmHWM", "VmRSS"))}
        cpu_ms = cpu_seconds(exporter.pid) / len(times) * 1e3
        print(f"{count} processes {' '.join(options)}: scrape median {sorted(times)[10] * 1e3:.0f} ms, worst {max(times) * 1e3:.0f} ms, {cpu_ms:.0f} ms of CPU time, "
              f"{size // 1024} KiB; exporter {memory['VmRSS']} MiB, at most {memory['VmHWM']} MiB")
        exporter.terminate()
        exporter.wait()
    subjects.kill()
    subjects.wait()
