#include "nla/core/agent/log_relay.h"

#include <utility>

#include "nla/core/wire/contact.h"

namespace scela::nla {

namespace {

// A subtree may send this many bytes of log records in all, for each of its nodes. An honest node
// says some lines in a job, and with --verbose some for each rank. If it were larger, a node that
// was taken over could take more of the user's terminal. It could also take more of the launcher's
// memory if the terminal stalls.
constexpr std::uint64_t kMaxLogOfNode = std::uint64_t{64} * 1024;
// A subtree may send this many more bytes for each of its ranks: --report-bindings has a line for
// each.
constexpr std::uint64_t kMaxLogOfRank = 1024;
constexpr std::size_t kMaxLogText = 4096;
constexpr std::size_t kLogCost = 64;  // bytes of a record beside its text

}  // namespace

void LogRelay::on(const event::Say& event) {
  if (context_.is_root()) {
    context_.act(action::ShowLog{event.record});
  } else {
    send({event.record, context_.node});
  }
}

// The sender of a log record is not trusted to name its node. It gives a number, which must belong
// to the link that the record came by. The root looks up the name of that node.
void LogRelay::send(msg::Log log) {
  if (context_.is_root()) {
    log.record.node = contact_name(context_.host(log.node));
    context_.act(action::ShowLog{std::move(log.record)});
  } else {
    log.record.node.clear();
    context_.send_up(std::move(log));
  }
}

bool LogRelay::from_child(Child& child, const msg::Log& message) {
  if (!child.covers(message.node)) return false;
  const std::uint64_t most =
      kMaxLogOfNode * child.slice.size() + kMaxLogOfRank * child.ranks.size();
  if (child.log_bytes > most) return true;
  msg::Log passed = message;
  if (passed.record.text.size() > kMaxLogText) passed.record.text.resize(kMaxLogText);
  child.log_bytes += kLogCost + passed.record.text.size();
  if (child.log_bytes > most) {
    passed.node = child.slice.first;
    passed.record = {LogLevel::warning,
                     Subsystem::tree,
                     {},
                     "it has said too much: nothing that it says from now on is shown"};
  }
  send(std::move(passed));
  return true;
}

}  // namespace scela::nla
