#include "launcher/core/program/singleton_call.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {

namespace {

constexpr std::string_view kCall = "-pmi_args";
constexpr std::size_t kCallWords = 5;  // itself, PORT, INTERFACE, KEY, PID

}  // namespace

Result<std::optional<SingletonCall>> singleton_call(const std::vector<std::string>& words) {
  // Only options may precede the word: after a program's name it belongs to the program.
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const auto options_end = std::find_if_not(words.begin(), words.end(), is_option);
  const auto at = std::find(words.begin(), options_end, kCall);
  if (at == options_end || std::find(words.begin(), at, "--") != at) return std::nullopt;
  const auto refused = [](std::string why) {
    return fail(
        Error{ErrorKind::usage, cat("option ", kCall), "", std::move(why),
              "a PMI client without a launcher calls so: -pmi_args PORT INTERFACE KEY PID"});
  };
  if (static_cast<std::size_t>(words.end() - at) != kCallWords) {
    return refused("a port, an interface, a key and a process are to follow, and nothing else");
  }
  if (!parse_number(at[1], 1, UINT16_MAX)) return refused(cat("'", at[1], "' is no port"));
  const auto process = parse_number(at[4], 0, INT32_MAX);
  if (!process) return refused(cat("'", at[4], "' is no process"));
  return SingletonCall{{words.begin(), at}, at[1], *process};
}

std::vector<std::string> singleton_words(const SingletonCall& call, const std::string& self) {
  std::vector<std::string> words = call.options;
  for (const std::string_view word :
       {std::string_view("-n"), std::string_view("1"), std::string_view("--"),
        std::string_view(self), kSingletonRank, std::string_view(call.port)}) {
    words.emplace_back(word);
  }
  return words;
}

void narrow_to_singleton(Options& options) {
  options.hosts.reset();
  options.hostfile.reset();
  options.exclude.reset();
  options.rankfile.reset();
  options.rank_places.clear();
  // The only program of the job is the one that represents the process. --wdir and similar options
  // do not apply to it.
  for (App& app : options.apps) {
    app.wdir.reset();
    app.path.reset();
    app.ppn.reset();
    app.hosts.reset();
  }
  options.spares = 0;
  options.min_nodes.reset();
  options.pmi = PmiKind::fd;
  options.pty = false;
  options.stdin_to = StdinTarget{StdinTarget::Kind::none, 0};
  if (!options.usize) options.usize = UniverseSize{UniverseSize::Kind::infinite, 0};
}

}  // namespace scela
