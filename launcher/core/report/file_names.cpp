#include "launcher/core/report/file_names.h"

#include "common/core/percent_pattern.h"
#include "common/core/text.h"

namespace scela {

namespace {

constexpr std::string_view kLetters = "hnrjs";

bool has(std::string_view pattern, char wanted) {
  bool found = false;
  read_percent_pattern(
      pattern, [](std::string_view) {}, [&](char letter) { found = found || letter == wanted; });
  return found;
}

}  // namespace

Result<void> check_file_pattern(std::string_view pattern, bool once_per_host) {
  const auto refused = [&](std::string why, std::string hint) {
    return fail(Error{ErrorKind::usage, cat("option --output-name '", pattern, "'"), "",
                      std::move(why), std::move(hint)});
  };
  if (pattern.find('/') != std::string_view::npos) {
    return refused("a name has no '/'", "name the directory with --output-dir");
  }
  if (std::string why = unknown_part(pattern, kLetters); !why.empty())
    return refused(std::move(why), "there are %h, %n, %r, %j, %s and %%");
  const bool is_named =
      has(pattern, 'r') || (once_per_host && (has(pattern, 'h') || has(pattern, 'n')));
  if (is_named) return {};
  return refused("several ranks would share a file",
                 once_per_host ? "add %h, the host" : "add %r, the rank");
}

std::string expand_file_pattern(std::string_view pattern, const StreamParts& parts) {
  const std::string name = stream_pattern_text(pattern, parts);
  return has(pattern, 's') ? name : cat(name, '.', parts.stream);
}

}  // namespace scela
