// A program with a shared spdlog of its own: its loggers, patterns and registry are its own.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

extern "C" {
#include "tests/integration/programs/guest.h"
}

int main() {
  auto logger = spdlog::stdout_logger_mt("host");
  spdlog::set_default_logger(logger);
  spdlog::set_pattern("[%n] [%l] %v");
  spdlog::info("before {}", 1);
  const driver cu = start_cuda();
  const int refused = ask_too_much(&cu);
  spdlog::info("after {}", refused);
  int loggers = 0;
  spdlog::apply_all([&](const std::shared_ptr<spdlog::logger>&) { ++loggers; });
  spdlog::warn("{} logger, {}", loggers, spdlog::get("vramguard") ? "not alone" : "alone");
}
