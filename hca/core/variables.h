// The variables SCELA_HCA_... of the environment: which there are, and how their words are read.
//
// Some are the engine's, which reads them once, when it begins; so it tells its processes what it
// has read (EngineMemory), and a process in whose environment they say something else can say that
// they do nothing there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "hca/core/layout.h"

namespace scela::hca {

// Those of the engine, in the order of EngineMemory::settings.
enum class Variable : std::uint8_t { strict, faults, encrypt, no_open_qp, no_xrc, trace };
inline constexpr std::size_t kEngineVariables = 6;

// What an engine's processes map of it.
struct EngineMemory {
  EnginePage page;
  alignas(64) std::atomic<std::uint64_t> settings[kEngineVariables] = {};  // marks; 0: not told
};

// The first kEngineVariables are the engine's; the others are the library's, which finds an engine
// and joins a job by them.
inline constexpr std::string_view kVariables[] = {
    "SCELA_HCA_STRICT", "SCELA_HCA_FAULTS", "SCELA_HCA_ENCRYPT", "SCELA_HCA_NO_OPEN_QP",
    "SCELA_HCA_NO_XRC", "SCELA_HCA_TRACE",  "SCELA_HCA_SOCKET",  "SCELA_HCA_ADDRESS"};

constexpr const char* name_of(Variable variable) {
  return kVariables[static_cast<std::size_t>(variable)].data();
}

// "yes", "1", "no", "0", and nothing, which is no. Error (usage): it is something else.
Result<bool> parse_switch(Variable variable, std::string_view text);

// What the words come to: equal for words that ask for the same, 0 where they ask for nothing.
std::uint64_t mark_of(Variable variable, std::string_view text);

// `entry`: NAME=value. What is wrong with the name: nothing (empty), or it begins as if it were a
// setting of the adapter, and is none.
std::string unknown_variable(std::string_view entry);

// What is to be said of a variable in the environment of a process whose engine has begun already;
// empty: nothing, both ask for the same.
std::string without_effect(Variable variable, std::string_view text, std::uint64_t of_engine);

}  // namespace scela::hca
