// The command line, variables and configuration file: any words give options or a usage error.
//
// Input: words of the command line, one a line; after a line "%" the environment, NAME=VALUE a
// line; after a line "%%" the configuration file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "launcher/core/options/options.h"

namespace {

scela::OptionSources sources_of(std::string_view text) {
  scela::OptionSources sources;
  sources.config_name = "conf";
  bool is_environment = false;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == "%%") {
      sources.config_text = std::string(text);
      break;
    }
    if (line == "%") {
      is_environment = true;
    } else if (is_environment) {
      const auto equals = line.find('=');
      if (equals == std::string_view::npos) continue;
      sources.environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    } else {
      sources.words.emplace_back(line);
    }
  }
  return sources;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto sources = sources_of(std::string_view(reinterpret_cast<const char*>(data), size));
  const scela::ConfigChoice choice = scela::config_choice(sources);
  if (choice.must_exist && choice.path.empty()) std::abort();
  const auto options = scela::parse_options(sources);
  if (!options) {
    const bool is_explained =
        options.error().kind == scela::ErrorKind::usage && !options.error().hint.empty();
    if (!is_explained) std::abort();
    return 0;
  }
  if (options->help || options->version || options->nodeset) return 0;
  if (options->apps.empty() || (options->hosts && options->hostfile)) std::abort();
  for (const scela::App& app : options->apps) {
    if (app.argv.empty() || app.np == 0u || app.ppn == 0u) std::abort();
  }
  return 0;
}
