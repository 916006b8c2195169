// The program `vramguard-exporter`: shows Prometheus what the guarded processes of this machine tell.

#include "cli/exit_status.h"
#include "cli/exporter/collector.h"
#include "cli/exporter/listen_address.h"
#include "cli/exporter/textfile.h"

#include <prometheus/exposer.h>
#include <CLI/CLI.hpp>

#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace {

using namespace vramguard;

struct Options {
  CollectorOptions collector;
  std::string listen = kDefaultListen;
  std::string textfile;
  unsigned interval_s = 15;
  bool serve = true, once = false, no_nvml = false;
};

void print_problem(const std::string& message) {
  std::fprintf(stderr, "vramguard-exporter: error: %s\n", message.c_str());
}

void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", std::string("vramguard-exporter ") + VRAMGUARD_VERSION);
  app.add_option("--listen", options.listen, "Where Prometheus finds /metrics; port 0: a free one")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  app.add_option("--textfile", options.textfile,
                 "Write DIR/vramguard.prom for node_exporter's textfile collector; without --listen no port is opened")
      ->type_name("DIR");
  app.add_option("--interval", options.interval_s, "How often that file is written")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, 86'400U))
      ->capture_default_str();
  app.add_flag("--once", options.once, "Print the metrics and exit");
  app.add_option("--state-dir", options.collector.state_dirs,
                 "Read this folder instead of those of all users; may be given more than once")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag("--per-process", options.collector.per_process,
               "Label gauges with pid, comm and user; a series for each process");
  app.add_flag("--no-nvml", options.no_nvml, "Do not ask NVML who else uses the cards");
  app.footer("Metrics and labels: docs/metrics.md. Exit status 125 when it cannot start.");
}

// Blocked before any thread is started, so that all have it blocked and this one takes it.
sigset_t block_ends() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

// Until one of `ends` comes. A file that cannot be written is tried again: the disk may have room then.
void keep_writing(const Options& options, const Collector& collector, const sigset_t& ends) {
  std::string last_problem;
  do {
    const auto problem = write_textfile(options.textfile, exposition(collector));
    if (problem && *problem != last_problem) print_problem(*problem);
    last_problem = problem.value_or("");
    const timespec interval{static_cast<time_t>(options.interval_s), 0};
    if (sigtimedwait(&ends, nullptr, &interval) > 0) return;
  } while (true);
}

int run(const Options& options) {
  const auto collector = std::make_shared<Collector>(options.collector);
  if (options.once) {
    const std::string text = exposition(*collector);
    const bool printed = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return printed ? 0 : kVramguardFailed;
  }
  const sigset_t ends = block_ends();
  std::unique_ptr<prometheus::Exposer> server;
  if (options.serve) {
    if (const auto why = why_not_listen(options.listen)) {
      print_problem(*why);
      return kVramguardFailed;
    }
    server = std::make_unique<prometheus::Exposer>(options.listen);
    server->RegisterCollectable(collector);
    const std::string host = options.listen.substr(0, options.listen.rfind(':'));
    std::fprintf(stderr, "vramguard-exporter: http://%s:%d/metrics\n", host.c_str(),
                 server->GetListeningPorts().front());
  }
  if (!options.textfile.empty()) {
    keep_writing(options, *collector, ends);
  } else {
    int signal = 0;
    sigwait(&ends, &signal);
  }
  return 0;
}

int dispatch(int argc, char** argv) {
  CLI::App app("Shows Prometheus what the programs under vramguard on this machine do.", "vramguard-exporter");
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("vramguard-exporter: error: ") + error.what() + "; see 'vramguard-exporter --help'\n";
  });
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kVramguardFailed;
  }
  options.collector.nvml = !options.no_nvml;
  options.serve = options.textfile.empty() || app.count("--listen") > 0;
  return run(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const std::exception& error) {
    print_problem(error.what());
    return kVramguardFailed;
  }
}
