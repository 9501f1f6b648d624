#include "nla/core/job/word_parts.h"

#include "common/core/percent_pattern.h"
#include "common/core/text.h"

namespace scela::nla {

std::string expand_word(std::string_view word, const WordParts& parts) {
  return expand_percent_pattern(word, {{'h', std::string(parts.host)},
                                       {'n', cat(parts.node)},
                                       {'r', cat(parts.rank)},
                                       {'j', std::string(parts.job)},
                                       {'u', std::string(parts.user)}});
}

}  // namespace scela::nla
