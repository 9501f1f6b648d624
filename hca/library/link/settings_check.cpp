#include "hca/library/link/settings_check.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "hca/core/wire/variables.h"

namespace scela::hca::library {

namespace {

void say(const std::string& text) {
  std::fprintf(stderr, "libscela-ibverbs: %s\n", text.c_str());
}

// One bit for each variable of the engine, and one for all variables that do not exist.
std::atomic<std::uint32_t> said{0};

bool is_first(std::size_t bit) {
  return (said.fetch_or(1u << bit) >> bit & 1) == 0;
}

}  // namespace

void check_settings(const EngineMemory& engine) {
  for (std::size_t i = 0; i < kEngineVariables; ++i) {
    const auto variable = static_cast<Variable>(i);
    const char* const value = ::getenv(name_of(variable));
    if (value == nullptr) continue;
    const std::string text =
        without_effect(variable, value, engine.settings[i].load(std::memory_order_relaxed));
    if (!text.empty() && is_first(i)) say(text);
  }
  if (!is_first(kEngineVariables)) return;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry)
    if (const std::string text = unknown_variable(*entry); !text.empty()) say(text);
}

}  // namespace scela::hca::library
