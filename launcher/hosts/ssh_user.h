// Describes the user of the job and this machine, as far as ssh needs it. The values are parameters
// everywhere else, so that tests can have a user and a machine of their own. ssh_hosts.cpp and
// launcher/hosts/host_contacts.cpp use it.
//
// this_ssh_user() blocks only as long as the lookup of the user takes (getpwuid_r).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scela {

// The user of the job and this machine.
struct SshUser {
  std::string name;      // of the effective user; empty: unknown
  std::uint32_t id = 0;  // effective user id
  // HOME if it is an absolute path (ssh itself does not use it), else the home directory in the
  // user's entry.
  std::string home;
  // SHELL if it is an absolute path, else the shell in the user's entry. It runs the commands of
  // "Match exec".
  std::string shell = "/bin/sh";
  std::string host_name;               // name of this machine
  std::vector<std::string> addresses;  // of its interfaces, without scopes
  // The variables of this process, by name.
  std::map<std::string, std::string> environment;
  // The directory of the system's ssh_config and ssh_known_hosts.
  std::string system_folder = "/etc/ssh";
};

// Returns the user and the machine of this process. Any thread may call it.
SshUser this_ssh_user();

}  // namespace scela
