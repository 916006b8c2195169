#!/usr/bin/env python3
"""Checks the files of docs/examples/recipes with what reads them, as far as that is here.

Usage: recipes_test.py SOURCE_DIR VRAMGUARD
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, VRAMGUARD = sys.argv[1:3]
FOLDER = f"{SOURCE}/docs/examples/recipes"
ENVIRONMENT = {"PATH": os.environ["PATH"]}


def content(name):
    with open(f"{FOLDER}/{name}") as file:
        return file.read()


def succeeds(command, environment=None):
    done = subprocess.run(command, env=ENVIRONMENT | (environment or {}), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def page_and_files_name_each_other():
    with open(f"{SOURCE}/docs/recipes.md") as page:
        named = set(re.findall(r"\]\(examples/recipes/([^)]+)\)", page.read()))
    assert named == set(os.listdir(FOLDER)), named ^ set(os.listdir(FOLDER))


def yaml_parses():
    try:
        import yaml
    except ImportError:
        return "python3-yaml"
    kinds = []
    for path in glob.glob(f"{FOLDER}/*.y*ml"):
        with open(path) as file:
            kinds += [document.get("kind") for document in yaml.safe_load_all(file)]
    assert {"Pod", "DaemonSet"} <= set(kinds), kinds
    services = yaml.safe_load(content("compose.yaml"))["services"]
    assert all(service["user"] == "1000:1000" for service in services.values())


def json_parses():
    kernel = json.loads(content("kernel.json"))
    assert kernel["argv"][1:5] == ["run", "-b", "8GiB", "--"]


def toml_is_a_configuration():
    shown = succeeds([VRAMGUARD, "check", f"{FOLDER}/config.toml"])
    assert re.search(r"^budget +20GiB", shown, re.M), shown


def units_verify():
    if not shutil.which("systemd-analyze"):
        return "systemd-analyze"
    with tempfile.TemporaryDirectory() as units:
        for name, text in {"vramguard-exporter.service": content("vramguard-exporter.service"),
                           "ollama.service": "[Service]\nExecStart=/bin/true\n"}.items():
            with open(f"{units}/{name}", "w") as file:
                file.write(re.sub(r"/opt/vramguard/bin/\S+", "/bin/true", text))
        os.mkdir(f"{units}/ollama.service.d")
        shutil.copy(f"{FOLDER}/ollama.conf", f"{units}/ollama.service.d/vramguard.conf")
        said = succeeds(["systemd-analyze", "verify", "--man=no", f"{units}/vramguard-exporter.service",
                         f"{units}/ollama.service"], {"SYSTEMD_UNIT_PATH": f"{units}:"})
        assert units not in said, said


def folders_are_made():
    if not shutil.which("systemd-tmpfiles") or os.geteuid() != 0:
        return "systemd-tmpfiles as root"
    with tempfile.TemporaryDirectory() as root:
        succeeds(["systemd-tmpfiles", "--create", f"--root={root}", f"{FOLDER}/vramguard.tmpfiles.conf"])
        assert os.stat(f"{root}/run/vramguard/1000").st_uid == 1000


def task_prolog_exports():
    script = f"{FOLDER}/slurm-taskprolog.sh"
    assert succeeds(["sh", script], {"SLURM_JOB_ID": "4711"}).splitlines() == [
        "export LD_PRELOAD=/opt/vramguard/lib/libvramguard.so",
        "export VRAMGUARD_BUDGET=50%",
        "export VRAMGUARD_GROUP=slurm-4711"]
    assert "VRAMGUARD_BUDGET=8GiB" in succeeds(["sh", script], {"SLURM_JOB_ID": "1", "VRAMGUARD_BUDGET": "8GiB"})
    assert succeeds(["sh", script], {"SLURM_JOB_ID": "1", "VRAMGUARD": "0"}) == ""
    succeeds(["sh", "-n", f"{FOLDER}/slurm-prolog.sh"])


for check in (page_and_files_name_each_other, yaml_parses, json_parses, toml_is_a_configuration, units_verify,
              folders_are_made, task_prolog_exports):
    missing = check()
    print(f"{check.__name__}: {'skipped, no ' + missing if missing else 'ok'}")
