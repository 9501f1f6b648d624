#include "nla/process/leftover_processes.h"

#include <signal.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "nla/guard/guardian.h"
#include "nla/io/constants.h"

namespace scela::nla {

namespace {

// Programs that agents start beside the ranks have names that begin so. They are ended with the
// job, and no command has left them.
constexpr std::string_view kOwnPrograms = "scela-";
// More kinds of processes than this are counted only.
constexpr std::size_t kMaxKinds = 8;

// Returns, for example, "sleep, sh (3)".
std::string counted_names(const std::vector<std::string>& names) {
  std::map<std::string, int> kinds;
  for (const std::string& process : names)
    ++kinds[process];
  std::string text;
  std::size_t shown = 0;
  for (const auto& [process, count] : kinds) {
    if (shown++ == kMaxKinds) return cat(text, ", ...");
    text += cat(text.empty() ? "" : ", ", process, count > 1 ? cat(" (", count, ")") : "");
  }
  return text;
}

}  // namespace

bool LeftoverProcesses::are_kept() const {
  return context_.job && context_.job->keep && context_.ended_by_itself();
}

void LeftoverProcesses::name() {
  if (!context_.job || !context_.job->once_per_host || !context_.ended_by_itself()) return;
  if (state_ == State::killing) return;  // they were killed already, and are about to end
  std::vector<std::string> names = descendants_.names(children_.kept_sessions());
  std::erase_if(names,
                [](const std::string& process) { return process.starts_with(kOwnPrograms); });
  if (names.empty()) return;
  context_.log(LogLevel::info, Subsystem::launch,
               cat(are_kept() ? kKeptProcesses : kEndedProcesses, counted_names(names)));
}

void LeftoverProcesses::end(bool force) {
  if (!force) name();
  if (are_kept()) {
    tell_keep(context_.guardian_socket);
    return context_.emit(event::NodeEmpty{});
  }
  if (force) {
    state_ = State::killing;
    return kill();
  }
  state_ = State::asked;
  check();
  if (state_ == State::asked) descendants_.signal_all(SIGTERM, children_.kept_sessions());
}

void LeftoverProcesses::check() {
  if (descendants_.any(children_.kept_sessions())) return;
  state_ = State::not_awaited;
  if (kill_timer_) kill_timer_->cancel();
  context_.emit(event::NodeEmpty{});
}

void LeftoverProcesses::kill() {
  descendants_.signal_all(SIGKILL, children_.kept_sessions());
  check();
  if (state_ != State::killing) return;
  if (!kill_timer_) kill_timer_.emplace(context_.io);
  kill_timer_->set(std::chrono::milliseconds(kKillAgainMs), [this] {
    if (state_ != State::killing) return;
    kill();
    context_.pump();
  });
}

}  // namespace scela::nla
