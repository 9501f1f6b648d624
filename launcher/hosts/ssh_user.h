// Describes the user of the job and this machine, as far as ssh needs it. The values are parameters
// everywhere else, so that tests can have a user and a machine of their own. ssh_hosts.cpp and
// launcher/hosts/host_access.cpp use it.
//
// this_ssh_user() blocks only as long as the lookup of the user takes (getpwuid_r).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scela {

struct SshUser {
  std::string name;  // of the effective user; empty: unknown
  std::uint32_t id = 0;
  // HOME if it is an absolute path (ssh itself does not use it), else the home in the user's entry.
  std::string home;
  std::string shell = "/bin/sh";
  std::string host_name;               // name of this machine
  std::vector<std::string> addresses;  // its interfaces' addresses, no scopes
  std::map<std::string, std::string> environment;
  std::string system_folder = "/etc/ssh";
};

SshUser this_ssh_user();

}  // namespace scela
