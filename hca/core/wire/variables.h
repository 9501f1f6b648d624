// The environment variables SCELA_HCA_...: their names, and how their values are parsed. The
// engine, its library and the tests use it; the functions are pure.
//
// The engine reads some of them once, when it starts, and tells its processes their values
// (EngineMemory). If a process finds another value in its environment, it can warn that the value
// has no effect.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

// The engine's variables, in the order of EngineMemory::settings and of their names in kVariables.
enum class Variable : std::uint8_t { strict, faults, encrypt, no_open_qp, no_xrc, trace };
inline constexpr std::size_t kEngineVariables = 6;

// The engine's memory that its processes map: its page of doorbells, and what it was told when it
// started.
struct EngineMemory {
  EnginePage page;
  // The mark of each variable's value (mark_of()), in the order of Variable; 0 means that it is not
  // set.
  alignas(64) std::atomic<std::uint64_t> settings[kEngineVariables] = {};
};

// The names of all variables, in the order of Variable. The first kEngineVariables belong to the
// engine. The library uses the others to find an engine and to join a job.
inline constexpr std::string_view kVariables[] = {
    "SCELA_HCA_STRICT", "SCELA_HCA_FAULTS", "SCELA_HCA_ENCRYPT", "SCELA_HCA_NO_OPEN_QP",
    "SCELA_HCA_NO_XRC", "SCELA_HCA_TRACE",  "SCELA_HCA_SOCKET",  "SCELA_HCA_ADDRESS"};

// Returns the name, such as "SCELA_HCA_STRICT".
constexpr const char* name_of(Variable variable) {
  return kVariables[static_cast<std::size_t>(variable)].data();
}

// Parses the value of a variable that switches something on or off. Returns true for "yes" and "1",
// false for "no", "0" and an empty text. Every other text is an error (usage) with a message that
// names the variable.
Result<bool> parse_switch(Variable variable, std::string_view text);

// Returns a number that stands for the value `text` of the variable: 0 if it sets nothing. Values
// that ask for the same setting have the same number.
std::uint64_t mark_of(Variable variable, std::string_view text);

// Checks an entry NAME=value of an environment. Returns a message if the name begins with
// SCELA_HCA_ but is no variable of the adapter, or else an empty string.
std::string unknown_variable(std::string_view entry);

// Returns a warning if a process's environment sets the variable to `text` although its engine has
// started with another setting. `of_engine` is the engine's mark (EngineMemory::settings). Returns
// an empty string if both ask for the same setting, or if `text` is empty.
std::string without_effect(Variable variable, std::string_view text, std::uint64_t of_engine);

}  // namespace scela::hca
