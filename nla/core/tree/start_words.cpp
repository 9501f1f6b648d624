#include "nla/core/tree/start_words.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::nla {
namespace {

constexpr std::string_view kHost = "{host}";
constexpr std::string_view kCommand = "{command}";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

std::vector<std::string> start_words(std::string_view text, const StartTarget& target,
                                     const std::string& command) {
  std::vector<std::string> words = words_of(text);
  if (words.empty()) return words;
  const bool has_places = std::ranges::find(words, kHost) != words.end();
  if (!has_places) {
    if (target.port) {
      words.emplace_back("-p");
      words.push_back(cat(*target.port));
    }
    words.push_back(target.host);
    words.push_back(command);
    return words;
  }
  const bool has_command = std::ranges::find(words, kCommand) != words.end();
  for (std::string& word : words) {
    if (word == kHost) {
      word = target.host;
    } else if (word == kCommand) {
      word = command;
    }
  }
  if (!has_command) words.push_back(command);
  return words;
}

}  // namespace scela::nla
