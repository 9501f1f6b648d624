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

bool is_name_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+,@%";
  return word.find_first_not_of(kPlain) == std::string_view::npos;
}

}  // namespace

std::string name_of_start(std::string_view text) {
  constexpr std::size_t kMaxWords = 3;
  const std::vector<std::string> words = words_of(text);
  std::string name;
  for (std::size_t i = 0; i < std::min(words.size(), kMaxWords); ++i) {
    if (i > 0 && !is_name_word(words[i])) break;
    name += cat(name.empty() ? "" : " ", words[i]);
  }
  return name;
}

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
