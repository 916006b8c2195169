#include "cli/escaping_commands.h"

#include <array>

namespace vramguard {
namespace {

struct Escape {
  std::string_view program;
  std::string_view remedy;
};

constexpr std::string_view kContainer =
    "runs its command in a container, which does not inherit the preload; mount vramguard's folder into it and put"
    " 'vramguard run ...' in front of the command there";
constexpr std::string_view kSlurm =
    "starts its tasks elsewhere; put vramguard in front of the program instead: 'srun ... vramguard run -b SIZE "
    "PROGRAM', in"
    " the batch script for sbatch";
constexpr std::string_view kRemote =
    "runs its command on another machine; write 'ssh HOST vramguard run -b SIZE COMMAND'";
constexpr std::string_view kRoot =
    "drops LD_PRELOAD for the command it starts; put vramguard behind it: 'sudo ... vramguard run -b SIZE COMMAND'";
constexpr std::string_view kService =
    "has its command started by a service manager; put vramguard behind it: 'systemd-run ... vramguard run -b SIZE "
    "COMMAND'";
constexpr std::string_view kPod =
    "runs its command in the cluster; put 'vramguard run ...' in front of the command in the pod's specification";
constexpr std::string_view kSandbox =
    "runs its program in a sandbox with libraries of its own; set the budget inside it, or run the program outside of "
    "it";
constexpr std::string_view kQueue =
    "hands its job to a queue; put 'vramguard run -b SIZE' in front of the program in the job script";
constexpr std::string_view kMpi =
    "may start its ranks on other machines; put vramguard in front of the program: 'mpirun ... vramguard run -b SIZE "
    "PROGRAM'";

constexpr std::array<Escape, 33> kEscapes{{
    {"docker", kContainer},
    {"podman", kContainer},
    {"nerdctl", kContainer},
    {"docker-compose", kContainer},
    {"lxc", kContainer},
    {"lxc-attach", kContainer},
    {"machinectl", kContainer},
    {"systemd-nspawn", kContainer},
    {"crictl", kContainer},
    {"ctr", kContainer},
    {"srun", kSlurm},
    {"sbatch", kSlurm},
    {"salloc", kSlurm},
    {"ssh", kRemote},
    {"mosh", kRemote},
    {"pdsh", kRemote},
    {"sudo", kRoot},
    {"doas", kRoot},
    {"su", kRoot},
    {"runuser", kRoot},
    {"pkexec", kRoot},
    {"systemd-run", kService},
    {"systemctl", kService},
    {"kubectl", kPod},
    {"oc", kPod},
    {"helm", kPod},
    {"flatpak", kSandbox},
    {"snap", kSandbox},
    {"qsub", kQueue},
    {"bsub", kQueue},
    {"condor_submit", kQueue},
    {"mpirun", kMpi},
    {"mpiexec", kMpi},
}};

}  // namespace

std::optional<std::string> remedy_for(std::string_view program) {
  for (const Escape& escape : kEscapes) {
    if (escape.program == program) return std::string(escape.remedy);
  }
  return std::nullopt;
}

}  // namespace vramguard
