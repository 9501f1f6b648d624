// Who starts the job and from where, as far as ssh asks: found out once, passed in everywhere, so
// that tests have a user and a machine of their own.
//
// Does not block, but as the name service does that knows the users.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scela {

struct SshUser {
  std::string name;  // of the effective user; empty: nobody knows it
  std::uint32_t id = 0;
  std::string home;  // HOME, which ssh itself does not ask, else the user's entry
  std::string shell = "/bin/sh";
  std::string host_name;               // this machine's
  std::vector<std::string> addresses;  // of its interfaces, numeric, without scopes
  std::map<std::string, std::string> environment;
  std::string system_folder = "/etc/ssh";
};

SshUser this_ssh_user();

}  // namespace scela
