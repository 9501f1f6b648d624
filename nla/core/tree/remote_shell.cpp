#include "nla/core/tree/remote_shell.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::nla {

namespace {

constexpr std::string_view kGreeting = "SCELA-NLA ";

// Returns true if the character means itself between double quotes in any shell.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-+@%,:=[] ").find(c) != std::string_view::npos;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c); });
}

// These scripts are for /bin/sh.

// Sets C to the folder of the cache and a to the file of this package in it, or both to nothing.
constexpr std::string_view kCache =
    "C=; a=; r=; if test -n \"$XDG_CACHE_HOME$HOME\"; then "
    "C=\"${XDG_CACHE_HOME:-$HOME/.cache}/scela\"; a=\"$C/@KEPT@@SHA256@\"; fi; "
    "case \"$C\" in /*) ;; *) C=; a=;; esac; ";

// Executes the package in the cache. A folder or file of another user is not used. A package with
// other bytes is removed: it was changed, or the disk was full. One of which no digest can be
// computed is left alone. The digests are those of b2sum, which is faster, or sha256sum, which old
// systems have too.
constexpr std::string_view kLook =
    "if test -f \"$a\" && test -O \"$C\" && test -O \"$a\"; then "
    "h=\"$(b2sum < \"$a\" 2> /dev/null)\"; "
    "case \"$h\" in \"@BLAKE2B@ \"*) ;; *) "
    "h=\"$(sha256sum < \"$a\" 2> /dev/null)\";; esac; "
    "case \"$h\" in \"@BLAKE2B@ \"*|\"@SHA256@ \"*) "
    "exec \"$a\" --stdio --name \"@NODE@\" --id @BUILD@@MORE@ --cached \"$a\";; "
    "?*) rm -f \"$a\"; r=\"$a\";; esac; fi; ";

// Makes the folder of the cache, which takes the package if it can. Sets D to it, or to nothing.
constexpr std::string_view kStore =
    "if test -n \"$C\" && { test -d \"$C\" || (umask 077; mkdir -p \"$C\") 2> /dev/null; } && "
    "test -O \"$C\"; then D=\"$C\"; fi; ";

// Looks for a place, asks for the package and executes it. An empty file that may be executed is
// run by the shell itself and succeeds; on a noexec mount it fails. The file is filled once before
// the package is asked for, so that a quota is met before any byte was sent that would then be
// lost. A file that was cut off on its way is not executed: it could not remove itself.
constexpr std::string_view kShip =
    "f=; c() { test -z \"$f\" || rm -f \"$f\"; }; trap c EXIT; trap \"exit 1\" HUP INT PIPE TERM; "
    "R=; for d in ${D:+\"$D\"} "
    "${TMPDIR:+\"$TMPDIR\"} /tmp /dev/shm /var/tmp ${HOME:+\"$HOME\"} =; do "
    "test \"$d\" = = && d=\"/run/user/$(id -u)\"; "
    "f=\"$d/@NAME@@TOKEN@\"; w=\"not writable\"; "
    "if (umask 077; set -C; : > \"$f\") 2> /dev/null; then w=noexec; "
    "if chmod 700 \"$f\" && (\"$f\") < /dev/null > /dev/null 2>&1 && w=full && "
    "head -c @SIZE@ /dev/zero 2> /dev/null > \"$f\"; then "
    "echo; echo \"SCELA\"\"-NLA ship $(uname -m)\"; s=; test \"$d\" = \"$D\" && s=\"$a\"; "
    "head -c @SIZE@ > \"$f\" && test \"$(wc -c < \"$f\")\" -ge @SIZE@ && "
    "exec \"$f\" --stdio --name \"@NODE@\" --id @BUILD@@MORE@ ${s:+--store \"$s\"} "
    "${r:+--removed \"$r\"}; "
    "exit 1; fi; "
    "rm -f \"$f\"; fi; R=\"$R, $d ($w)\"; f=; done; "
    "echo; echo \"SCELA\"\"-NLA refused no directory takes an executable file of @SIZE@ bytes:"
    "${R#,} - make room, or install scela-nla and name it with --agent\"";

// Without a package, the answer tells the other side that it would be needed.
constexpr std::string_view kNone = "echo; echo \"SCELA\"\"-NLA ship $(uname -m)\"";

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

Result<std::string> remote_command(const RemoteAgent& agent, std::string_view node) {
  std::vector<std::string_view> texts = {agent.path, node};
  texts.insert(texts.end(), agent.words.begin(), agent.words.end());
  std::string more;
  for (const std::string& word : agent.words)
    more += cat(" \"", word, "\"");
  for (const std::string_view text : texts) {
    if (is_plain(text)) continue;
    return fail(Error{ErrorKind::usage, "start an agent through a remote shell", std::string(node),
                      cat("'", text, "' has characters that shells do not agree about"),
                      "use letters, digits and /._-+@ only"});
  }
  std::string installed;
  if (!agent.path.empty()) {
    // The word is quoted, so that it is no alias. csh too expands aliases here.
    installed = cat("\"test\" -x \"", agent.path, "\" && exec \"", agent.path,
                    "\" --stdio --name \"", node, "\" --id ", agent.build, more, "; ");
  }
  const bool has_package = agent.package.size > 0;
  std::string script;
  if (has_package) script = cat("D=; ", kCache);
  if (has_package && agent.look_in_cache) script += kLook;
  if (has_package && agent.store_in_cache) script += kStore;
  script += has_package ? kShip : kNone;
  replace(script, "@NAME@", kShippedName);
  replace(script, "@KEPT@", kKeptName);
  replace(script, "@TOKEN@", agent.token);
  replace(script, "@SIZE@", cat(agent.package.size));
  replace(script, "@SHA256@", agent.package.sha256);
  replace(script, "@BLAKE2B@", agent.package.blake2b);
  replace(script, "@NODE@", node);
  replace(script, "@BUILD@", agent.package.build);
  replace(script, "@MORE@", more);
  return cat(installed, "exec /bin/sh -c '", script, "'");
}

// Each line begins with a newline, because noise may have left an unfinished line.
std::string ready_line(std::string_view build) {
  return cat("\n", kGreeting, "ready 1 ", build, "\n");
}
std::string other_line(std::string_view version, std::string_view build) {
  return cat("\n", kGreeting, "other ", version, " ", build, "\n");
}

Result<std::optional<RemoteAnswer>> AnswerScanner::feed(std::string_view& bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    skipped_ += piece.size() + 1;
    if (line_.size() + piece.size() > kMaxLine) overlong_ = true;
    line_ += piece.substr(0, kMaxLine - line_.size());
    if (end != std::string_view::npos) {
      if (auto answer = end_line()) {
        skipped_ = 0;
        return answer;
      }
    }
    if (skipped_ > kMaxNoise) {
      return fail(Error{
          ErrorKind::protocol,
          "wait for the agent's first word",
          {},
          cat("the login shell printed more than ", kMaxNoise >> 20, " MiB, last '", noise_, "'"),
          "let its start-up files print nothing when there is no terminal"});
    }
  }
  return std::optional<RemoteAnswer>();
}

std::optional<RemoteAnswer> AnswerScanner::end_line() {
  std::string line = std::exchange(line_, {});
  if (line.ends_with('\r')) line.pop_back();
  const bool whole = !std::exchange(overlong_, false);
  std::string_view rest = line;
  if (whole && rest.starts_with(kGreeting)) {
    rest.remove_prefix(kGreeting.size());
    const std::string_view word = rest.substr(0, rest.find(' '));
    const std::string text(rest.substr(std::min(rest.size(), word.size() + 1)));
    using Kind = RemoteAnswer::Kind;
    if (word == "ready" && text.starts_with("1 ")) return RemoteAnswer{Kind::ready, text.substr(2)};
    if (word == "other") return RemoteAnswer{Kind::other, text};
    if (word == "ship") return RemoteAnswer{Kind::ship, text};
    if (word == "refused") return RemoteAnswer{Kind::refused, text};
  }
  constexpr std::size_t kShown = 200;
  if (!line.empty()) noise_ = line.substr(0, kShown);
  return std::nullopt;
}

}  // namespace scela::nla
