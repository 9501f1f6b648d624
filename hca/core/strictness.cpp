#include "hca/core/strictness.h"

#include <charconv>

#include "common/core/text.h"

namespace scela::hca {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Error wrong(std::string_view what, std::string_view text, std::string_view why) {
  return {ErrorKind::usage, std::string(what), "", cat("'", text, "' ", why), ""};
}

}  // namespace

Result<Faults> parse_faults(std::string_view text) {
  constexpr std::string_view kWhat = "read SCELA_HCA_FAULTS";
  Faults faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    std::uint32_t* const to = name == "ud-lost"      ? &faults.ud_lost
                              : name == "ud-twice"   ? &faults.ud_twice
                              : name == "not-ready"  ? &faults.not_ready
                              : name == "unanswered" ? &faults.unanswered
                                                     : nullptr;
    if (!to)
      return fail(
          wrong(kWhat, name, "is no fault: there are ud-lost, ud-twice, not-ready, unanswered"));
    if (equals == std::string_view::npos || !read_number(word.substr(equals + 1), *to) ||
        *to > 1000)
      return fail(
          wrong(kWhat, word, "names no number from 0 to 1000, which is times in a thousand"));
  }
  return faults;
}

Result<std::uint64_t> parse_seed(std::string_view text) {
  std::uint64_t seed = 0;
  if (!text.empty() && !read_number(text, seed))
    return fail(wrong("read SCELA_HCA_STRICT", text, "is no number"));
  return seed;
}

}  // namespace scela::hca
