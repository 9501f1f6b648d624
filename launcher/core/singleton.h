// A process that was started without a launcher and has called for one (pmi/protocol/singinit.h in
// the agent's house): what the command line says of it, and which job serves it.
//
// Values only; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options.h"

namespace scela {

// How scela-run is started as the rank that stands for that process; a port follows. No option: it
// means nothing elsewhere.
inline constexpr std::string_view kStandFor = "-pmi_stand_for";

struct SingletonCall {
  std::vector<std::string> options;  // words before: MPICH's may say -v
  std::string port;
  std::uint32_t process = 0;  // as it says; MPICH's says scela-run's own
};

// Of argv[1..]. Nothing: this is no such call. Error (usage): it is one that cannot be served.
Result<std::optional<SingletonCall>> singleton_call(const std::vector<std::string>& words);

// The command line of the job: one rank, the one that stands for it.
std::vector<std::string> singleton_words(const SingletonCall& call, const std::string& self);

// That rank is here, whatever variables and configuration say of other jobs' hosts, ranks and
// input. Without a limit stated there is none for the universe, as under Hydra.
void narrow_to_singleton(Options& options);

}  // namespace scela
