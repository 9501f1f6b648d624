#include "nla/core/job/word_parts.h"

#include "common/core/percent_pattern.h"
#include "common/core/text.h"

namespace scela::nla {

std::string expand_word(std::string_view word, const WordParts& parts) {
  std::string out;
  const auto add_part = [&](char letter) {
    switch (letter) {
      case 'h':
        out += parts.host;
        break;
      case 'n':
        out += cat(parts.node);
        break;
      case 'r':
        out += cat(parts.rank);
        break;
      case 'j':
        out += parts.job;
        break;
      case 'u':
        out += parts.user;
        break;
      case '%':
      case '\0':
        out += '%';
        break;
      default:
        out += cat('%', letter);
    }
  };
  read_percent_pattern(
      word, [&](std::string_view text) { out += text; }, add_part);
  return out;
}

}  // namespace scela::nla
