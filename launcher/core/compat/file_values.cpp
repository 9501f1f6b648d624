// Values of peers' options that name files: patterns of output files, and files of programs.
#include <string>
#include <utility>

#include "common/core/text.h"
#include "launcher/core/compat/peer_values.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// Returns the pattern with the peer's parts replaced by those of scela-run. `parts` has pairs of
// letters: the peer's, and scela-run's.
Result<std::string> with_own_parts(std::string_view pattern, std::string_view parts) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    const char letter = ++i < pattern.size() ? pattern[i] : '\0';
    std::string known;
    bool is_known = false;
    for (std::size_t at = 0; at + 1 < parts.size(); at += 2) {
      known += cat(known.empty() ? "%" : ", %", parts[at]);
      if (parts[at] != letter) continue;
      out += cat('%', parts[at + 1]);
      is_known = true;
    }
    if (is_known) continue;
    return fail(value_error(letter == '\0' ? std::string("a '%' stands at its end")
                                           : cat("'%", letter, "' is not known in names of files"),
                            cat("known are ", known)));
  }
  return out;
}

constexpr std::string_view kHydraParts = "rrhh%%";
constexpr std::string_view kSrunParts = "trNhnnjj%%";

Result<void> give_translated(PeerCall& call, std::string_view value, std::string_view parts,
                             std::string_view extension) {
  auto pattern = with_own_parts(value, parts);
  if (!pattern) return fail(std::move(pattern.error()));
  return give_output_pattern(call, std::move(*pattern), extension);
}

}  // namespace

Result<void> give_output_pattern(PeerCall& call, std::string pattern, std::string_view extension) {
  const std::string ending = cat('.', extension);
  if (pattern.ends_with(ending))
    pattern.replace(pattern.size() - ending.size(), ending.size(), ".%s");
  const auto slash = pattern.rfind('/');
  const std::string name = pattern.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.find("%r") == std::string::npos) {
    return fail(value_error("several ranks would share a file",
                            "let the name of the file have the number of the rank, or write > FILE "
                            "behind the command"));
  }
  if (pattern.substr(0, pattern.size() - name.size()).find('%') != std::string::npos) {
    return fail(value_error("the name of its directory has a '%'",
                            "let only the name of the file have such parts"));
  }
  if (call.output_pattern && *call.output_pattern != pattern) {
    return fail(
        value_error("files of standard output and of standard error differ in more than "
                    "their endings .out and .err",
                    "give one of the options, or NAME.out and NAME.err"));
  }
  if (std::exchange(call.output_pattern, pattern)) return {};
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : pattern.substr(0, slash);
  if (auto done = call.add(cat("--output-dir=", directory)); !done) return done;
  return call.add(cat("--output-name=", name));
}

Result<void> programs_of_file(PeerCall& call, std::string_view path) {
  auto text = call.read(std::string(path));
  if (!text) return fail(std::move(text.error()));
  if (!call.file_words.empty())
    return fail(value_error("two files name the programs", "give one file"));
  for (std::string& line : split_list(*text, '\n')) {
    std::vector<std::string> words;
    for (char& c : line)
      if (c == '\t' || c == '\r') c = ' ';
    for (std::string& word : split_list(line, ' '))
      if (!word.empty()) words.push_back(std::move(word));
    if (!words.empty() && words.back() == ":") words.pop_back();
    if (words.empty() || words.front().starts_with('#')) continue;
    if (!call.file_words.empty()) call.file_words.emplace_back(":");
    call.file_words.insert(call.file_words.end(), words.begin(), words.end());
  }
  if (call.file_words.empty())
    return fail(value_error(cat("the file '", path, "' names no program"),
                            "write one program a line, with its options before it"));
  return {};
}

Result<void> hydra_output(PeerCall& call, std::string_view value) {
  return give_translated(call, value, kHydraParts, "out");
}

Result<void> hydra_error(PeerCall& call, std::string_view value) {
  return give_translated(call, value, kHydraParts, "err");
}

Result<void> srun_output(PeerCall& call, std::string_view value) {
  if (value == "all") return {};
  return give_translated(call, value, kSrunParts, "out");
}

Result<void> srun_error(PeerCall& call, std::string_view value) {
  if (value == "all") return {};
  return give_translated(call, value, kSrunParts, "err");
}

}  // namespace scela
