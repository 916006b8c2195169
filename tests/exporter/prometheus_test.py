#!/usr/bin/env python3
"""Has a real Prometheus scrape vramguard-exporter while guarded processes come, are killed and go.

Usage: prometheus_test.py EXPORTER FABRICATE_STATE SOURCE_DIR SIMULATED_DRIVER_DIR
Exit status 77 where there is no Prometheus.
"""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

EXPORTER, FABRICATE, SOURCE, DRIVER = sys.argv[1:5]
RECOVERED = "vramguard_ooms_recovered_total"
started = []


def start(command, **options):
    process = subprocess.Popen(command, text=True, **options)
    started.append(process)
    return process


def guarded(folder, count, recovered, *pod):
    process = start([FABRICATE, folder, str(count), str(recovered), *pod], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    return process


def exporter(*options):
    """The process and the address that it names."""
    process = start([EXPORTER, *options], stderr=subprocess.PIPE)
    line = process.stderr.readline()
    assert line.startswith("vramguard-exporter: http://"), line
    return process, line.split()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


def sum_in(text, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.startswith((name + "{", name + " ")))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    def __init__(self, scratch, target):
        config = os.path.join(scratch, "prometheus.yml")
        with open(config, "w") as file:
            file.write("global: {scrape_interval: 1s}\n"
                       "scrape_configs:\n"
                       "  - job_name: vramguard\n"
                       "    honor_labels: true\n"
                       f"    static_configs: [{{targets: ['{target}']}}]\n")
        subprocess.run(["promtool", "check", "config", config], check=True, stdout=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{free_port()}"
        log = open(os.path.join(scratch, "prometheus.log"), "w")
        start(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={scratch}/data",
               "--web.listen-address=" + self.url.removeprefix("http://")], stdout=log, stderr=log)

    def query(self, expression):
        """By labels, each as a frozen set."""
        url = self.url + "/api/v1/query?query=" + urllib.parse.quote(expression)
        try:
            answer = json.loads(get(url))
        except OSError:  # not up yet
            return {}
        return {frozenset(series["metric"].items()): float(series["value"][1]) for series in answer["data"]["result"]}

    def wait_for(self, expression, value, patience_s=20):
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if list(self.query(expression).values()) == [value]:
                return
            time.sleep(0.1)
        sys.exit(f"{expression} is {self.query(expression)} and not {value}")


def check_scrapes(scratch, state):
    one = guarded(state, 2, 5)
    guarded(state, 1, 7, "train-0")
    _, url = exporter("--listen", "127.0.0.1:0", "--state-dir", state, "--no-nvml")
    prometheus = Prometheus(scratch, urllib.parse.urlsplit(url).netloc)
    prometheus.wait_for(f"sum({RECOVERED})", 17)
    prometheus.wait_for('vramguard_used_bytes{gpu_uuid="GPU-1",pod="",namespace=""}', 2 * 3 * 2**30)
    prometheus.wait_for('vramguard_budget_bytes{gpu_uuid="GPU-0",pod="train-0",namespace="research"}', 8 * 2**30)
    prometheus.wait_for("sum(vramguard_guarded_processes)", 3)
    prometheus.wait_for('vramguard_pressure_level{gpu_uuid="GPU-0",level="none",pod="train-0"}', 1)

    # Killed while others look all the time, too.
    one.kill()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        total = sum_in(get(url), RECOVERED)
        assert total == 17, f"a total of 17 has become {total}"
    prometheus.wait_for("sum(vramguard_guarded_processes)", 1)
    prometheus.wait_for(f"sum({RECOVERED})", 17)
    assert not glob.glob(f"{state}/{one.pid}-*"), "the files of a killed process are still there"

    guarded(state, 1, 3)
    prometheus.wait_for(f"sum({RECOVERED})", 20)
    for total in ("vramguard_requests_refused_total", "vramguard_hook_runs_total", RECOVERED):
        prometheus.wait_for(f"max(resets({total}[5m]))", 0)


def check_text(scratch, state):
    once = subprocess.run([EXPORTER, "--once", "--state-dir", state, "--per-process"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    assert 'comm="fabricate_state"' in once, once
    lint = subprocess.run(["promtool", "check", "metrics"], input=once, text=True, capture_output=True)
    assert lint.returncode == 0 and not lint.stderr, lint
    for rules in glob.glob(f"{SOURCE}/docs/examples/recipes/*rules.yml"):
        subprocess.run(["promtool", "check", "rules", rules], check=True, stdout=subprocess.DEVNULL)


def check_nvml(scratch, state):
    """One that is stuck costs half a second, and nothing that others tell."""
    def once(**driver):
        environment = os.environ | {"LD_LIBRARY_PATH": DRIVER, "VGSIM_STATE": f"{scratch}/card"} | driver
        begin = time.monotonic()
        text = subprocess.run([EXPORTER, "--once", "--state-dir", state], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        assert sum_in(text, RECOVERED) == 20, text
        return text, time.monotonic() - begin

    text, _ = once()
    assert sum_in(text, "vramguard_exporter_nvml_up") == 1 and 'vramguard_unguarded_processes{gpu="0"' in text, text
    text, took = once(VGSIM_DELAY="nvmlInit_v2=20000")
    assert sum_in(text, "vramguard_exporter_nvml_up") == 0 and "vramguard_unguarded" not in text, text
    assert took < 10, f"the scrape took {took} s"


def check_endings(scratch, state):
    process, url = exporter("--listen", "127.0.0.1:0", "--state-dir", state, "--textfile", scratch)
    address = urllib.parse.urlsplit(url).netloc
    second = subprocess.run([EXPORTER, "--listen", address], text=True, capture_output=True)
    assert second.returncode == 125 and second.stdout == "", second
    assert second.stderr == (f"vramguard-exporter: error: {address} is in use already; --listen names another\n"), second
    end = time.monotonic() + 10
    while not os.path.exists(f"{scratch}/vramguard.prom") and time.monotonic() < end:
        time.sleep(0.05)
    with open(f"{scratch}/vramguard.prom") as file:
        assert sum_in(file.read(), RECOVERED) == 20
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def main():
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("skipped: there is no prometheus here (scripts/setup.sh installs it)")
        return 77
    with tempfile.TemporaryDirectory(prefix="vramguard-prometheus-") as scratch:
        state = os.path.join(scratch, "state")
        os.mkdir(state, 0o755)
        try:
            for check in (check_scrapes, check_text, check_nvml, check_endings):
                check(scratch, state)
        finally:
            for process in started:
                process.kill()
                process.wait()
    return 0


sys.exit(main())
