#include "shim/configuration.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "config/load_config.h"
#include "core/clock.h"
#include "core/log_record.h"
#include "core/pressure_log.h"
#include "core/stderr_line.h"
#include "shim/driver.h"

namespace vramguard {

namespace {

constinit std::atomic<const Configuration*> published{nullptr};

const Diagnostic* first_error(const LoadResult& loaded) {
  for (const Diagnostic& diagnostic : loaded.diagnostics) {
    if (diagnostic.severity == Severity::Error) return &diagnostic;
  }
  return nullptr;
}

void say_on_stderr(const LoadResult& loaded, const Diagnostic& first) {
  const auto errors = std::ranges::count(loaded.diagnostics, Severity::Error, &Diagnostic::severity);
  std::string text = to_string(first);
  if (errors > 1) text += " (and " + std::to_string(errors - 1) + " more: see vramguard check)";
  write_stderr_line(text, what_happens_now());
}

// In a log object of its own: the guard's does not exist yet, and never will if the program is stopped here.
void write_to_log(const LoadResult& loaded) {
  if (loaded.diagnostics.empty()) return;
  static constinit Clock clock;
  auto* log = new (std::nothrow) PressureLog(loaded.config.log, clock);
  if (log == nullptr) return;
  for (const Diagnostic& diagnostic : loaded.diagnostics) {
    const bool error = diagnostic.severity == Severity::Error;
    LogRecord record(Event::ConfigError, error ? LogLevel::Error : LogLevel::Warn);
    const Place& place = diagnostic.place;
    record.add("file", place.variable.empty() ? place.file : place.variable);
    if (place.line > 0) record.add("line", place.line).add("col", place.column);
    if (!diagnostic.key.empty()) record.add("key", diagnostic.key);
    if (!diagnostic.suggestion.empty()) record.add("suggest", diagnostic.suggestion);
    record.add("message", diagnostic.message).add("action", error ? "refused" : "ignored");
    log->post(record);
  }
  log->write_queued();
}

}  // namespace

const char* what_happens_now() noexcept {
  return preload().run_on_error() != 0
             ? "; going on without a budget (VRAMGUARD_ON_ERROR=run)"
             : "; cuInit fails (VRAMGUARD=0 switches vramguard off, VRAMGUARD_ON_ERROR=run goes on without a budget)";
}

namespace {

std::vector<std::string> entries_that_matter() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    for (const std::string_view start : {"VRAMGUARD_", "HOME=", "XDG_"}) {
      if (text.starts_with(start)) entries.emplace_back(text);
    }
  }
  return entries;
}

}  // namespace

const Configuration* configuration() noexcept try {
  if (const Configuration* read = published.load(std::memory_order_acquire)) return read;
  const LoadResult loaded = load_config({environ}, system_paths());
  const Diagnostic* error = first_error(loaded);
  auto* fresh = new Configuration{loaded.config, error == nullptr, entries_that_matter()};
  const Configuration* expected = nullptr;
  if (!published.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) {
    delete fresh;
    return expected;
  }
  write_to_log(loaded);
  if (error != nullptr) say_on_stderr(loaded, *error);
  return fresh;
} catch (...) {
  return nullptr;
}

}  // namespace vramguard
