// Values of the options of pdsh, clush and dshbak.
#include <algorithm>
#include <string>

#include "common/core/text.h"
#include "launcher/core/compat/peer_values.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// Ways of pdsh to reach a host, which may stand before it: "ssh:n1".
constexpr std::string_view kModules[] = {"rsh", "mrsh", "exec", "krb4", "xcpu", "mqsh", "sshcmd"};

// Returns the element of a list of pdsh in the form of scela-run, without "ssh:".
Result<std::string> pdsh_element(std::string element) {
  if (element.starts_with('/')) {
    return fail(value_error(cat("hosts are not chosen by an expression such as '", element, "'"),
                            "write the hosts, or their file as ^FILE"));
  }
  if (element.starts_with('@') || element.starts_with('%')) {
    return fail(value_error(cat("'", element, "' is a group, and scela-run knows none"),
                            "write the hosts, or their file as ^FILE"));
  }
  const auto colon = element.find(':');
  if (colon == std::string::npos || element.starts_with('^')) return element;
  const std::string module = element.substr(0, colon);
  if (module == "ssh") return element.substr(colon + 1);
  if (std::ranges::find(kModules, module) == std::end(kModules)) return element;
  return fail(value_error(cat("hosts of one list are not reached by '", module, "'"),
                          "give -R rsh for all hosts, or ssh:HOST"));
}

Result<void> refuse_groups(std::string_view value) {
  if (value.find_first_of("@*?") == std::string_view::npos) return {};
  const auto at = value.find('@');
  // me@host is a login.
  if (at != std::string_view::npos && at > 0 &&
      std::string_view(",!&^ ").find(value[at - 1]) == std::string_view::npos &&
      value.find_first_of("*?") == std::string_view::npos) {
    return {};
  }
  return fail(value_error(cat("'", value, "' names a group or a pattern, and scela-run knows none"),
                          "write the hosts, or give --hostfile=FILE"));
}

}  // namespace

Result<void> pdsh_hosts(PeerCall& call, std::string_view value) {
  std::string kept;
  for (const std::string& element : list_elements(value)) {
    const bool leaves_out = element.size() > 1 && element.front() == '-';
    auto host = pdsh_element(leaves_out ? element.substr(1) : element);
    if (!host) return fail(std::move(host.error()));
    if (leaves_out) {
      if (auto done = call.add(cat("--exclude=", *host)); !done) return done;
    } else {
      kept += cat(kept.empty() ? "" : ",", *host);
    }
  }
  return kept.empty() ? Result<void>() : call.add(cat("--hosts=", kept));
}

Result<void> pdsh_exclude(PeerCall& call, std::string_view value) {
  std::string all;
  for (const std::string& element : list_elements(value)) {
    auto host = pdsh_element(element);
    if (!host) return fail(std::move(host.error()));
    all += cat(all.empty() ? "" : ",", *host);
  }
  return call.add(cat("--exclude=", all));
}

Result<void> pdsh_module(PeerCall& call, std::string_view value) {
  if (value == "ssh") return call.add("--launch=ssh");
  if (value == "rsh") return call.add("--launch=rsh:rsh");
  return fail(value_error(cat("hosts are not reached by '", value, "'"),
                          "give ssh or rsh, or set SCELA_LAUNCH=rsh:COMMAND"));
}

Result<void> clush_hosts(PeerCall& call, std::string_view value) {
  if (auto done = refuse_groups(value); !done) return done;
  return call.add(cat("--hosts=", value));
}

Result<void> clush_exclude(PeerCall& call, std::string_view value) {
  if (auto done = refuse_groups(value); !done) return done;
  return call.add(cat("--exclude=", value));
}

Result<void> clush_ssh_options(PeerCall& call, std::string_view value) {
  return call.add(cat("--launch=ssh-exec:ssh -x -T -o BatchMode=yes ", value));
}

Result<void> dshbak_coalesce(PeerCall& call, std::string_view) {
  call.coalesces = true;
  return {};
}

}  // namespace scela
