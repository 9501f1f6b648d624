// ssh configurations, their tokens and jumps: any text gives settings or an error of the user's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "launcher/core/ssh/ssh_config.h"
#include "launcher/core/ssh/ssh_jump.h"

namespace {

void check(const scela::Error& error) {
  if (error.kind != scela::ErrorKind::usage || error.text().empty()) std::abort();
}

void check(const scela::SshSettings& settings) {
  if (settings.proxy_jump && settings.proxy_command) std::abort();
  if (settings.port && *settings.port == 0) std::abort();
  if (!settings.proxy_jump) return;
  const auto jump = scela::parse_jump(*settings.proxy_jump);
  if (!jump) return check(jump.error());
  if (jump->host.empty() || jump->host.front() == '-') std::abort();
  const std::string command = scela::jump_command(*jump, std::nullopt, "node1", 22);
  if (command.find('\n') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  using Files = std::vector<scela::SshConfig::File>;
  const auto include = [&](const std::string& pattern) -> scela::Result<Files> {
    if (pattern == "self") return Files{{"self", text}};
    return Files{};
  };
  const auto config = scela::SshConfig::parse({"config", text}, include);
  if (!config) {
    check(config.error());
    return 0;
  }
  scela::SshQuery query{"node1", {}, "me", [](const std::string& line) { return line == "true"; }};
  const auto settings = scela::ssh_settings(std::vector{*config}, query, {});
  if (settings) {
    check(*settings);
  } else {
    check(settings.error());
  }
  const auto path = scela::expand_path(text, {}, {{"A", "%h"}});
  if (!path) check(path.error());
  return 0;
}
