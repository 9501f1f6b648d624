#include "launcher/hosts/ssh_hosts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "launcher/core/detect/detect.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/ssh/ssh_jump.h"
#include "launcher/core/ssh/ssh_patterns.h"
#include "launcher/core/values/text_values.h"
#include "launcher/hosts/key_hash.h"
#include "launcher/hosts/ssh_files.h"

extern char** environ;

namespace scela {

namespace {

// Runs a command of "Match exec" as ssh does, without the user's streams, and returns true if it
// succeeds. The exit status comes through a pipe: once the job runs, another part of this process
// may reap the child first. Returns false once `stop`, if it is set, returns true.
bool command_succeeds(const std::string& shell, const std::string& command,
                      const std::function<bool()>& stop) {
  if (stop && stop()) return false;
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const Fd status(ends[0]);
  Fd told(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, told.get(), 3);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string words[] = {"sh", "-c", R"("$0" -c "$1" 3>&-; echo $? >&3)", shell, command};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(),
                        words[3].data(), words[4].data(), nullptr};
  pid_t child = -1;
  const int error = ::posix_spawn(&child, "/bin/sh", &actions, &attributes, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return false;
  told.reset();
  pollfd ready{status.get(), POLLIN, 0};
  while (stop && retry([&] { return ::poll(&ready, 1, kStopInterval.count()); }) == 0)
    if (stop()) return false;  // as if this process had been killed
  std::string text;
  char piece[16];
  for (ssize_t got; (got = retry([&] { return ::read(status.get(), piece, sizeof piece); })) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  retry([&] { return ::waitpid(child, nullptr, 0); });
  return text == "0\n";
}

// Returns true if `text` is one word and does not look like an option of a program.
bool is_word(std::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c <= ' ' || c == 127; });
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

// The intermediate data of a host.
struct Draft {
  std::string original;  // without "user@"
  SshSettings settings;
  SshTokens tokens;
  bool own_user = true;                  // the session's user is this user
  bool port_stated = false;              // the user wrote a port with the host
  std::vector<std::string> known_hosts;  // files; the user's come first
};

class Finder {
 public:
  Finder(const SshHostsOptions& options, const SshUser& user, std::vector<SshConfig> configs)
      : options_(options), user_(user), configs_(std::move(configs)) {}

  SshHosts find(const std::vector<std::string>& names);

 private:
  void configure(SshHost& host, Draft& draft);
  Result<void> apply_settings(SshHost& host, Draft& draft);
  Result<void> choose_keys(SshHost& host, const Draft& draft);
  Result<void> choose_known_hosts(SshHost& host, Draft& draft);
  Result<void> choose_proxy(SshHost& host, const Draft& draft);
  bool is_here_by_name(const SshHost& host, const Draft& draft) const;
  bool is_here_by_address(const SshHost& host, const Draft& draft) const;
  void resolve(SshHosts& out);
  void take_answer(SshHost& host, const Draft& draft, const NameAnswer& answer);
  Result<void> check_host_key(SshHost& host, const Draft& draft, SshHosts& out);
  const KnownHosts& known_hosts(const std::vector<std::string>& files, SshHosts& out);
  Result<std::vector<std::string>> paths(const std::vector<std::string>& words,
                                         const SshTokens& tokens) const;

  const SshHostsOptions& options_;
  const SshUser& user_;
  std::vector<SshConfig> configs_;
  std::vector<Draft> drafts_;
  std::map<std::vector<std::string>, std::unique_ptr<KnownHosts>> known_hosts_;
};

void fail_host(SshHost& host, HostPhase phase, Error error) {
  if (error.what.empty()) error.what = "use the ssh configuration";
  error.why = error.where.empty() ? error.why : cat(error.where, ": ", error.why);
  error.where = host.contact.name;
  host.failure = HostFailure{phase, std::move(error)};
}

SshHosts Finder::find(const std::vector<std::string>& names) {
  SshHosts out;
  out.hosts.resize(names.size());
  drafts_.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.hosts[i].contact.name = names[i];
    configure(out.hosts[i], drafts_[i]);
  }
  resolve(out);
  for (std::size_t i = 0; i < names.size(); ++i) {
    SshHost& host = out.hosts[i];
    if (host.failure || host.contact.here()) continue;
    if (auto done = check_host_key(host, drafts_[i], out); !done) {
      fail_host(host, HostPhase::host_key, std::move(done.error()));
    }
  }
  return out;
}

void Finder::configure(SshHost& host, Draft& draft) {
  const std::string& name = host.contact.name;
  const LoginParts parts = parts_of_login(name);
  draft.original = parts.host;
  SshQuery query{draft.original, std::nullopt, user_.name, [this](const std::string& text) {
                   return command_succeeds(user_.shell, text, options_.lookup.stop);
                 }};
  query.user = parts.user.empty() ? options_.user : std::string(parts.user);
  draft.tokens.original_name = draft.original;
  draft.tokens.local_user = user_.name;
  draft.tokens.home = user_.home;
  draft.tokens.local_host = user_.host_name;
  draft.tokens.user_id = user_.id;

  auto settings = ssh_settings(configs_, query, draft.tokens);
  if (!settings) return fail_host(host, HostPhase::configuration, std::move(settings.error()));
  draft.settings = std::move(*settings);
  if (query.user) draft.settings.user = query.user;
  if (parts.port) draft.settings.port = parts.port;
  draft.port_stated = parts.port.has_value();
  if (auto done = apply_settings(host, draft); !done) {
    fail_host(host, HostPhase::configuration, std::move(done.error()));
  }
}

Result<void> Finder::apply_settings(SshHost& host, Draft& draft) {
  const SshSettings& said = draft.settings;
  SshTokens& tokens = draft.tokens;
  tokens.host_name = said.host_name.value_or(draft.original);
  tokens.host_key_alias = said.host_key_alias.value_or("");
  tokens.port = said.port.value_or(22);
  tokens.user = said.user.value_or(user_.name);
  draft.own_user = tokens.user == user_.name;
  if (!is_word(tokens.host_name) || !is_word(tokens.user)) {
    const bool is_host = !is_word(tokens.host_name);
    return fail(value_error(cat("'", is_host ? tokens.host_name : tokens.user,
                                "' cannot be the name of a ", is_host ? "host" : "user"),
                            "write names without blanks that do not begin with '-'"));
  }
  host.contact.user = tokens.user;
  host.contact.port = tokens.port;
  if (auto done = choose_keys(host, draft); !done) return done;
  if (auto done = choose_known_hosts(host, draft); !done) return done;
  if (auto done = choose_proxy(host, draft); !done) return done;
  if (!host.proxy_command.empty()) host.contact.address = tokens.host_name;
  host.contact.root_only = !host.proxy_command.empty();
  return {};
}

Result<std::vector<std::string>> Finder::paths(const std::vector<std::string>& words,
                                               const SshTokens& tokens) const {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    if (to_lower(word) == "none") continue;
    auto path = expand_path(word, tokens, user_.environment);
    if (!path) return fail(std::move(path.error()));
    out.push_back(std::move(*path));
  }
  return out;
}

Result<void> Finder::choose_keys(SshHost& host, const Draft& draft) {
  const SshSettings& said = draft.settings;
  auto identities = paths(said.identity_files, draft.tokens);
  if (!identities) return fail(std::move(identities.error()));
  auto certificates = paths(said.certificate_files, draft.tokens);
  if (!certificates) return fail(std::move(certificates.error()));
  host.identities = std::move(*identities);
  host.certificates = std::move(*certificates);
  host.identities_only = said.identities_only.value_or(false);
  if (said.identity_files.empty()) {
    for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"}) {
      std::string path = cat(user_.home, "/.ssh/", name);
      if (::access(path.c_str(), F_OK) == 0) host.identities.push_back(std::move(path));
    }
  }
  std::string agent = said.identity_agent.value_or("SSH_AUTH_SOCK");
  if (agent == "SSH_AUTH_SOCK" || (agent.starts_with('$') && !agent.starts_with("${"))) {
    const std::string variable = agent.starts_with('$') ? agent.substr(1) : agent;
    const auto found = user_.environment.find(variable);
    host.identity_agent = found == user_.environment.end() ? "" : found->second;
  } else if (agent != "none") {
    auto path = expand_path(agent, draft.tokens, user_.environment);
    if (!path) return fail(std::move(path.error()));
    host.identity_agent = std::move(*path);
  }
  return {};
}

Result<void> Finder::choose_known_hosts(SshHost& host, Draft& draft) {
  const SshSettings& said = draft.settings;
  // `usual` and `usual` + "2" are the files that ssh reads by default.
  const auto files = [&](const std::optional<std::vector<std::string>>& named,
                         const std::string& usual) -> Result<std::vector<std::string>> {
    if (named) return paths(*named, draft.tokens);
    return std::vector{usual, usual + "2"};
  };
  auto own = files(said.user_known_hosts, user_.home + "/.ssh/known_hosts");
  if (!own) return fail(std::move(own.error()));
  auto global = files(said.global_known_hosts, user_.system_folder + "/ssh_known_hosts");
  if (!global) return fail(std::move(global.error()));
  if (!own->empty() && own->front() != "/dev/null") host.known_hosts_file = own->front();
  draft.known_hosts = std::move(*own);
  draft.known_hosts.insert(draft.known_hosts.end(), global->begin(), global->end());
  // As in ssh, an alias is used alone, without a port.
  host.known_hosts_name = said.host_key_alias.value_or(draft.tokens.host_name);
  host.known_hosts_port = said.host_key_alias ? 22 : host.contact.port;
  return {};
}

Result<void> Finder::choose_proxy(SshHost& host, const Draft& draft) {
  const SshSettings& said = draft.settings;
  const SshTokens& tokens = draft.tokens;
  if (said.proxy_command && to_lower(*said.proxy_command) != "none") {
    auto command = expand_tokens(*said.proxy_command, tokens);
    if (!command) return fail(std::move(command.error()));
    host.proxy_command = std::move(*command);
  }
  if (!said.proxy_jump || to_lower(*said.proxy_jump) == "none") return {};
  auto text = expand_tokens(*said.proxy_jump, tokens);
  if (!text) return fail(std::move(text.error()));
  auto jump = parse_jump(*text);
  if (!jump) return fail(std::move(jump.error()));
  const bool leads_back = to_lower(jump->host) == to_lower(tokens.host_name) &&
                          jump->port.value_or(22) == tokens.port &&
                          (jump->user.empty() || jump->user == tokens.user);
  if (leads_back) {
    return fail(value_error(cat("ProxyJump leads to ", tokens.host_name, " through itself"),
                            "write ProxyJump none for that host, before the line that says it"));
  }
  host.proxy_command = jump_command(*jump, options_.config_file, tokens.host_name, tokens.port);
  host.proxy_is_jump = true;
  return {};
}

bool Finder::is_here_by_name(const SshHost& host, const Draft& draft) const {
  if (!host.proxy_command.empty() || !draft.own_user || draft.port_stated) return false;
  const std::string name = to_lower(draft.original);
  const std::string own = to_lower(user_.host_name);
  if (name == own || name == own.substr(0, own.find('.'))) return !draft.settings.host_name;
  return host.contact.port == 22 && to_lower(draft.tokens.host_name) == "localhost";
}

// Another port on this machine is a tunnel or a container, so for ssh it is another machine. But
// a full name of this machine, with one of its addresses, is this machine if the configuration has
// the port for many hosts: a launcher pod that is a worker too, with sshd at 2222 in the others.
bool Finder::is_here_by_address(const SshHost& host, const Draft& draft) const {
  const std::string& address = host.contact.address;
  const std::string plain = address.substr(0, address.find('%'));
  const bool is_own_name = !draft.port_stated && !draft.settings.host_name && !is_loopback(plain) &&
                           is_same_machine(to_lower(draft.original), to_lower(user_.host_name));
  if (!draft.own_user || (host.contact.port != 22 && !is_own_name)) return false;
  return is_loopback(plain) ||
         std::find(user_.addresses.begin(), user_.addresses.end(), plain) != user_.addresses.end();
}

void Finder::resolve(SshHosts& out) {
  std::map<NameQuery, std::size_t> known;  // index in `queries`
  std::vector<NameQuery> queries;
  std::vector<std::pair<std::size_t, std::size_t>> waiting;  // host, query
  for (std::size_t i = 0; i < out.hosts.size(); ++i) {
    const SshHost& host = out.hosts[i];
    if (host.failure || !host.proxy_command.empty()) continue;
    if (is_here_by_name(host, drafts_[i])) {
      out.hosts[i].contact.root_only = true;
      continue;
    }
    const SshFamily family = drafts_[i].settings.family.value_or(SshFamily::any);
    NameQuery query{drafts_[i].tokens.host_name, family == SshFamily::any    ? AF_UNSPEC
                                                 : family == SshFamily::inet ? AF_INET
                                                                             : AF_INET6};
    const auto [entry, is_new] = known.try_emplace(query, queries.size());
    if (is_new) queries.push_back(std::move(query));
    waiting.emplace_back(i, entry->second);
  }
  const std::vector<NameAnswer> answers = look_up_names(queries, options_.lookup);
  for (const auto& [host, query] : waiting)
    take_answer(out.hosts[host], drafts_[host], answers[query]);
}

void Finder::take_answer(SshHost& host, const Draft& draft, const NameAnswer& answer) {
  const std::string& name = draft.tokens.host_name;
  if (answer.address.empty()) {
    const char* whence = draft.settings.host_name ? " (HostName in the ssh configuration)" : "";
    return fail_host(host, HostPhase::resolve,
                     {ErrorKind::unreachable, cat("resolve the name '", name, "'", whence), "",
                      answer.why, answer.hint});
  }
  host.contact.address = answer.address;
  const bool is_here = is_here_by_address(host, draft);
  host.contact.root_only =
      is_here || is_loopback(answer.address) || answer.address.find('%') != std::string::npos;
  if (is_here) host.contact.address.clear();
}

const KnownHosts& Finder::known_hosts(const std::vector<std::string>& files, SshHosts& out) {
  auto& known = known_hosts_[files];
  if (known) return *known;
  known = std::make_unique<KnownHosts>();
  for (const std::string& file : files) {
    auto text = read_ssh_file(file, options_.lookup.stop);
    if (!text) {
      out.notes.push_back(text.error().text());
    } else if (*text) {
      known->add(**text, file);
    }
  }
  if (known->broken() > 0) {
    out.notes.push_back(cat(known->broken(),
                            " lines of known_hosts files cannot be read and are "
                            "skipped; the first is ",
                            known->first_broken()));
  }
  return *known;
}

// Returns the ssh command that connects to a host. ssh takes a port as an option only.
std::string ssh_command(std::string_view name) {
  const LoginParts parts = parts_of_login(name);
  if (!parts.port) return cat("ssh ", name);
  return cat("ssh -p ", *parts.port, " ", parts.user, parts.user.empty() ? "" : "@", parts.host);
}

Error unknown_key(const SshHost& host, const KnownKeys& keys, const KnownHosts& known) {
  const std::string shown = known_hosts_name(host.known_hosts_name, host.known_hosts_port);
  Error error{ErrorKind::unreachable, "check the host key", "",
              cat("no key of ", shown, " is known"), ""};
  if (!keys.revoked.empty()) error.why += ", but revoked ones are";
  if (keys.has_authority) {
    error.why += ", only an authority for certificates (@cert-authority), which is not understood";
  }
  if (known.broken() > 0) {
    error.why += cat("; ", known.broken(), " lines of known_hosts cannot be read, the first is ",
                     known.first_broken());
  }
  // If no file records keys, a connection by ssh would not help.
  if (host.known_hosts_file.empty()) {
    error.hint =
        "UserKnownHostsFile names no file that could have it: give --ssh-host-keys accept-new, or "
        "write StrictHostKeyChecking accept-new";
    return error;
  }
  error.hint = cat("connect once with '", ssh_command(host.contact.name), "'");
  if (host.proxy_command.empty()) {
    const std::string port = host.contact.port == 22 ? "" : cat("-p ", host.contact.port, " ");
    error.hint += cat(", or compare what 'ssh-keyscan ", port, host.contact.address,
                      "' shows and add it to ", host.known_hosts_file);
  }
  error.hint += ", or give --ssh-host-keys accept-new";
  return error;
}

HostKeyPolicy policy_of(std::optional<SshKeyChecking> checking) {
  switch (checking.value_or(SshKeyChecking::strict)) {
    case SshKeyChecking::any:
      return HostKeyPolicy::any;
    case SshKeyChecking::accept_new:
      return HostKeyPolicy::accept_new;
    case SshKeyChecking::strict:
      break;
  }
  return HostKeyPolicy::strict;
}

Result<void> Finder::check_host_key(SshHost& host, const Draft& draft, SshHosts& out) {
  const std::string address = host.proxy_command.empty() ? host.contact.address : "";
  const KnownHosts& known = known_hosts(draft.known_hosts, out);
  const KnownKeys keys =
      known.find(host.known_hosts_name, address, host.known_hosts_port, hmac_sha1);
  for (const KnownKey& key : keys.accepted)
    host.contact.keys.push_back({key.type, key_digest(key.blob)});
  for (const KnownKey& key : keys.revoked)
    host.revoked.push_back({key.type, key_digest(key.blob)});
  const HostKeyPolicy policy = options_.host_keys.value_or(policy_of(draft.settings.key_checking));
  const bool is_known = !host.contact.keys.empty();
  if (is_known && policy != HostKeyPolicy::any) return {};
  if (policy == HostKeyPolicy::strict) return fail(unknown_key(host, keys, known));
  host.contact.any_key = true;
  // Only scela-run itself can record the key that the host shows, and refuse a revoked one.
  if (!is_known || !host.revoked.empty()) host.contact.root_only = true;
  return {};
}

}  // namespace

std::string_view name_of(HostPhase phase) {
  switch (phase) {
    case HostPhase::configuration:
      return "configuration";
    case HostPhase::resolve:
      return "resolve";
    case HostPhase::host_key:
      return "host key";
  }
  return "unknown";
}

Result<SshHosts> find_ssh_hosts(const std::vector<std::string>& names,
                                const SshHostsOptions& options, const SshUser& user) {
  auto configs =
      read_ssh_config(options.config_file, user.home, user.system_folder, options.lookup.stop);
  if (!configs) return fail(std::move(configs.error()));
  return Finder(options, user, std::move(*configs)).find(names);
}

}  // namespace scela
