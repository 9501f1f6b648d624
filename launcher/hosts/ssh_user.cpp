#include "launcher/hosts/ssh_user.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

extern char** environ;

namespace scela {

namespace {

std::vector<std::string> own_addresses() {
  std::vector<std::string> out;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return out;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    const void* address = nullptr;
    if (family == AF_INET) {
      address = &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr;
    } else if (family == AF_INET6) {
      address = &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    }
    char text[INET6_ADDRSTRLEN];
    if (address != nullptr && ::inet_ntop(family, address, text, sizeof text) != nullptr) {
      out.emplace_back(text);
    }
  }
  return out;
}

}  // namespace

SshUser this_ssh_user() {
  SshUser out;
  out.id = ::geteuid();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      out.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  // Several threads look up hosts, so the entry must not lie in memory that the C library shares.
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> texts(1024);
  while (::getpwuid_r(::geteuid(), &entry, texts.data(), texts.size(), &found) == ERANGE)
    texts.resize(2 * texts.size());
  if (found != nullptr) {
    out.name = found->pw_name;
    out.home = found->pw_dir;
    if (found->pw_shell != nullptr && *found->pw_shell != '\0') out.shell = found->pw_shell;
  }
  const auto home = out.environment.find("HOME");
  if (home != out.environment.end() && home->second.starts_with('/')) out.home = home->second;
  const auto shell = out.environment.find("SHELL");
  if (shell != out.environment.end() && shell->second.starts_with('/')) out.shell = shell->second;
  utsname names{};
  ::uname(&names);
  out.host_name = names.nodename;
  out.addresses = own_addresses();
  return out;
}

}  // namespace scela
