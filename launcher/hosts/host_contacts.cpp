#include "launcher/hosts/host_contacts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/detect/bulk_output.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/report/report_text.h"
#include "launcher/hosts/bulk/bulk_starts.h"
#include "launcher/hosts/key_hash.h"
#include "launcher/hosts/late/joined_agents.h"
#include "launcher/hosts/ssh_files.h"
#include "launcher/hosts/ssh_hosts.h"

namespace scela {

namespace {

// The data that scela-run keeps to itself. A host may be added while the hooks read others.
struct HostsByName {
  std::mutex mutex;
  std::map<std::string, SshHost> hosts;
  // The hosts with a new key that could not be recorded, by the file and the cause.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> unrecorded;
  std::set<std::string> changed;  // hosts with another key than the known one
};

MissingHost missing(const SshHost& host) {
  const Error& error = host.failure->error;
  return {host.contact.name, std::string(name_of(host.failure->phase)), error.why, error.hint};
}

// Returns one error for all hosts that failed before anything was started. It names each of them.
Result<void> check(const std::vector<SshHost>& hosts) {
  std::vector<std::string> others;
  const HostFailure* first = nullptr;
  for (const SshHost& host : hosts) {
    if (!host.failure) continue;
    if (first == nullptr)
      first = &*host.failure;
    else
      others.push_back(host.contact.name);
  }
  if (first == nullptr) return {};
  Error error = first->error;
  if (others.size() == 1) error.why += cat("; another host has failed too: ", others.front());
  if (others.size() > 1)
    error.why += cat("; ", others.size(), " more hosts have failed too: ", folded(others));
  return fail(std::move(error));
}

nla::SshAccess access_to(const SshHost& host) {
  return {host.identities, host.certificates, host.identities_only, host.identity_agent,
          host.proxy_command};
}

// Records the key "TYPE BASE64" of a host of which none is known. Returns false if it is revoked. If
// another key of the host is known, the user reads a warning instead, as in ssh.
bool remember(HostsByName& known_hosts, const SshHost& host, const std::string& key) {
  const std::size_t space = key.find(' ');
  const KnownKey known{key.substr(0, space), key.substr(space + 1)};
  const nla::HostKey shown{known.type, key_digest(known.blob)};
  if (std::ranges::find(host.revoked, shown) != host.revoked.end()) return false;
  if (!host.contact.keys.empty()) {
    known_hosts.changed.insert(host.contact.name);
    return true;
  }
  if (host.known_hosts_file.empty()) return true;
  // As in ssh, the connection goes on if the key cannot be recorded, and the user reads a warning.
  // Each later job takes any key of the host again.
  const auto recorded =
      append_known_host(host.known_hosts_file, host.known_hosts_name, host.known_hosts_port, known);
  if (!recorded) {
    known_hosts.unrecorded[{host.known_hosts_file, recorded.error().why}].insert(host.contact.name);
  }
  return true;
}

// Returns one line for all hosts with another key than the known one, and one for each file and
// cause that has not recorded keys, with the hosts that share them.
std::vector<std::string> warning_lines(const HostsByName& known) {
  std::vector<std::string> lines;
  if (!known.changed.empty()) {
    const std::string names = folded({known.changed.begin(), known.changed.end()});
    lines.push_back(cat("warning: ", names, known.changed.size() == 1 ? " shows" : " show",
                        " another host key than known_hosts has, which StrictHostKeyChecking no "
                        "allows (ssh-keygen -R HOST removes the old one)"));
  }
  for (const auto& [place, names] : known.unrecorded) {
    lines.push_back(cat("warning: the host key", names.size() == 1 ? "" : "s", " of ",
                        folded({names.begin(), names.end()}), names.size() == 1 ? " is" : " are",
                        " not recorded in '", place.first, "': ", place.second,
                        " (any key is taken again the next time)"));
  }
  return lines;
}

// Another program finds the host by itself, by its own configuration. Only this machine is
// recognised here. Returns an error if the host has a port, which only ssh is given.
Result<std::string> contact_by_name(const std::string& name, const Options& options,
                                    const SshUser& user) {
  nla::Contact contact;
  contact.name = name;
  const bool is_own_login = options.user.value_or(user.name) == user.name;
  contact.root_only = is_own_login && (name == "localhost" || name == user.host_name ||
                                       user.host_name.starts_with(name + "."));
  if (contact.root_only) return nla::format(contact);
  contact.root_only = options.launch_from_here;
  contact.address = name;
  contact.user = user.name;
  contact.any_key = true;
  const LoginParts parts = parts_of_login(name);
  const std::string login =
      parts.user.empty() ? options.user.value_or("") : std::string(parts.user);
  if (!login.empty() && !parts.port) contact.address = cat(login, "@", parts.host);
  if (parts.port) {
    if (!options.launch_takes_port) {
      return fail(
          Error{ErrorKind::usage, cat("start an agent by '", options.launch_program, "'"), name,
                "no port can be given to this program",
                "leave the port out, or give --launch ssh-exec:COMMAND if it takes '-p PORT'"});
    }
    contact.address = cat(login, login.empty() ? "" : "@", parts.host);
    contact.port = *parts.port;
  }
  return nla::format(contact);
}

std::vector<HostLookup> contacts_by_name(const std::vector<std::string>& hosts,
                                         const Options& options, const SshUser& user) {
  std::vector<HostLookup> out;
  for (const std::string& name : hosts) {
    HostLookup& one = out.emplace_back();
    one.name = name;
    if (auto contact = contact_by_name(name, options, user); contact)
      one.contact = std::move(*contact);
    else
      one.why = contact.error().text();
  }
  return out;
}

// Pairs hosts with contacts that need no lookup.
std::vector<HostLookup> paired(const std::vector<std::string>& hosts,
                               const std::vector<std::string>& contacts) {
  std::vector<HostLookup> out;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    out.push_back({hosts[i], contacts[i], {}});
  return out;
}

std::vector<HostLookup> find_by_ssh(const std::vector<std::string>& names,
                                    const SshHostsOptions& wanted, HostsByName& known) {
  Result<SshHosts> found = find_ssh_hosts(names, wanted, this_ssh_user());
  std::vector<HostLookup> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    HostLookup& one = out.emplace_back();
    one.name = names[i];
    if (!found) {
      one.why = found.error().text();
    } else if (SshHost& host = found->hosts[i]; host.failure) {
      one.why = host.failure->error.text();
    } else {
      one.contact = nla::format(host.contact);
      const std::lock_guard lock(known.mutex);
      known.hosts.insert_or_assign(names[i], std::move(host));
    }
  }
  return out;
}

// Returns an error for the hosts without an agent if the plan needs all hosts.
Result<void> check(const std::vector<MissingHost>& missing, const Plan& plan,
                   const std::string& command) {
  const bool needs_all = plan.min_nodes == plan.hosts.size() && !plan.once_per_host;
  if (missing.empty() || !needs_all) return {};
  std::vector<std::string> names;
  for (const MissingHost& host : missing)
    names.push_back(host.host);
  const MissingHost& first = missing.front();
  return fail(Error{ErrorKind::launch,
                    cat("start agents by ", command, " (", counted(names.size(), "host"), " of ",
                        plan.hosts.size(), ")"),
                    folded(names), first.why, first.hint});
}

// Starts the agents of all hosts by one command.
Result<HostContacts> start_by_bulk(const Options& options, const Plan& plan,
                                   const std::vector<std::string>& environment,
                                   HostPatience& patience) {
  const auto agent = nla::find_agent(options.agent.value_or(""), true);
  if (!agent) return fail(agent.error());
  HostContacts out;
  out.bulk = std::make_shared<BulkStarts>(BulkRequest{options.bulk,
                                                      {},
                                                      *agent,
                                                      options.agent.value_or(*agent),
                                                      environment,
                                                      options.network,
                                                      {},
                                                      plan.job.id,
                                                      options.connect_timeout});
  const WatchedPatience watched(patience);
  patience.wait_for(cat("waiting for ", options.bulk.command, " to start the agents of ",
                        counted(plan.hosts.size(), "host")));
  auto made = out.bulk->start(plan.hosts, patience.end_descriptor());
  if (patience.is_given_up()) return fail(HostPatience::error());
  if (!made) return fail(std::move(made.error()));
  if (auto good = check(made->missing, plan, options.bulk.command); !good)
    return fail(std::move(good.error()));
  out.missing = std::move(made->missing);
  out.contacts = std::move(made->contacts);
  out.spawn.dial_secret = out.bulk->secret();
  out.spawn.bulk_starters = [bulk = out.bulk] { return bulk->pids(); };
  out.find_later = [bulk = out.bulk](const auto& hosts) { return bulk->find_later(hosts); };
  out.warnings_at_end = [bulk = out.bulk] { return bulk->output(); };
  return out;
}

// The agents of these hosts run already, and wait for their parents.
Result<HostContacts> contacts_of_joined(const Plan& plan,
                                        const std::shared_ptr<JoinedAgents>& joined) {
  const auto look_up = [joined](const std::vector<std::string>& hosts) {
    std::vector<HostLookup> out;
    for (const std::string& host : hosts) {
      const auto contact = joined->contact(host);
      out.push_back({host, contact.value_or(""), contact ? "" : "no agent has joined from there"});
    }
    return out;
  };
  HostContacts out;
  for (const HostLookup& host : look_up(plan.hosts)) {
    if (host.why.empty())
      out.contacts.push_back(host.contact);
    else
      out.missing.push_back({host.name, "start its agent", host.why, ""});
  }
  out.joined = joined;
  out.spawn.dial_secret = joined->secret();
  out.find_later = look_up;
  return out;
}

Result<HostContacts> contacts_by_ssh(const Options& options, const Plan& plan,
                                     HostPatience& patience) {
  HostContacts out;
  SshHostsOptions wanted;
  wanted.config_file = options.ssh_config;
  wanted.user = options.user;
  if (options.host_keys) {
    wanted.host_keys = *options.host_keys == HostKeys::accept_new ? HostKeyPolicy::accept_new
                                                                  : HostKeyPolicy::strict;
  }
  Result<SshHosts> found = find_late_hosts(plan.hosts, wanted, this_ssh_user(),
                                           {options.connect_timeout, options.fanout}, patience);
  if (!found) return fail(found.error());
  const bool needs_all = plan.min_nodes == plan.hosts.size() && !plan.once_per_host;
  if (auto good = check(found->hosts); needs_all && !good) return fail(good.error());
  const auto hosts = std::make_shared<HostsByName>();
  for (SshHost& host : found->hosts) {
    if (host.failure) {
      out.missing.push_back(missing(host));
      continue;
    }
    out.contacts.push_back(nla::format(host.contact));
    const std::string name = host.contact.name;
    hosts->hosts.emplace(name, std::move(host));
  }
  out.notes = std::move(found->notes);
  out.spawn.access_of = [hosts](const std::string& node) {
    const std::lock_guard lock(hosts->mutex);
    const auto at = hosts->hosts.find(node);
    return at == hosts->hosts.end() ? nla::SshAccess() : access_to(at->second);
  };
  out.spawn.met_host_key = [hosts](const nla::Contact& contact, const std::string& key) {
    const std::lock_guard lock(hosts->mutex);
    const auto at = hosts->hosts.find(contact.name);
    return at == hosts->hosts.end() || remember(*hosts, at->second, key);
  };
  out.warnings_at_end = [hosts] {
    const std::lock_guard lock(hosts->mutex);
    return warning_lines(*hosts);
  };
  out.find_later = [hosts, wanted](const std::vector<std::string>& names) {
    return find_by_ssh(names, wanted, *hosts);
  };
  return out;
}

}  // namespace

Result<HostContacts> find_contacts(const Options& options, const Plan& plan,
                                   const std::vector<std::string>& environment,
                                   HostSearch& search) {
  HostContacts out;
  if (search.joined) return contacts_of_joined(plan, search.joined);
  if (!plan.remote) {
    out.contacts = plan.hosts;
    out.find_later = [](const std::vector<std::string>& hosts) { return paired(hosts, hosts); };
    return out;
  }
  if (options.launch == LaunchMethod::bulk)
    return start_by_bulk(options, plan, environment, search.patience);
  if (options.launch == LaunchMethod::program) {
    const SshUser user = this_ssh_user();
    for (const std::string& name : plan.hosts) {
      auto contact = contact_by_name(name, options, user);
      if (!contact) return fail(std::move(contact.error()));
      out.contacts.push_back(std::move(*contact));
    }
    out.find_later = [options](const std::vector<std::string>& hosts) {
      return contacts_by_name(hosts, options, this_ssh_user());
    };
    return out;
  }
  return contacts_by_ssh(options, plan, search.patience);
}

void keep_numbers(const Plan& plan, HostContacts& reach) {
  for (const MissingHost& host : reach.missing)
    reach.spawn.unreachable.emplace(host.host, host.why);
  std::vector<std::string> contacts;
  auto next = reach.contacts.begin();
  for (const std::string& name : plan.hosts) {
    nla::Contact none;
    none.name = name;
    none.root_only = true;
    const bool is_missing = reach.spawn.unreachable.contains(name);
    contacts.push_back(is_missing ? nla::format(none) : std::move(*next++));
  }
  reach.contacts = std::move(contacts);
}

}  // namespace scela
