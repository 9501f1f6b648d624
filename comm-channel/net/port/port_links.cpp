// How the machine of one port gets its events, and how its actions are carried out.
#include "comm-channel/net/port/port_links.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "common/core/overloaded.h"

namespace scela::channel {

namespace action = connect::action;
namespace event = connect::event;
using connect::Mode;

namespace {

// The time between two checks for an event of the device if nothing else happens.
constexpr connect::Time kBetweenEvents = std::chrono::milliseconds(1);
// If links are limited, a request is sent this many times. So a peer that does not answer does not
// keep others from their links.
constexpr std::uint8_t kTriesOfFew = 5;
// The repeats of a request come after ever longer waits. Together they outlast a queue pair that is
// connected late.
static_assert(connect::Options{}.first_wait * ((1 << kTriesOfFew) - 1) > PortPairs::kLastPatience);

}  // namespace

Result<void> PortLinks::make(const connect::PeerAddress& self, const Job& job) {
  if (auto made = datagrams_.make(job.word.key); !made) return made;
  self_ = self;
  self_.address = datagrams_.address();
  auto options = this->options(job);
  if (!options) return fail(std::move(options.error()));
  machine_.emplace(self_, *options);
  give_ups_ = connect::GiveUps(self_, {.mode = options->mode, .secret = options->secret});
  return {};
}

Result<connect::Options> PortLinks::options(const Job& job) const {
  const verbs::Capability& capability = parts_.device.capability;
  connect::Options options;
  options.mode = capability.mode == verbs::Mode::rc ? Mode::pairs
                 : capability.open_qp               ? Mode::shared
                                                    : Mode::owned;
  const int error =
      options.mode == Mode::pairs ? 0 : ::ibv_get_srq_num(parts_.srq.get(), &options.srq);
  if (error != 0)
    return fail(verbs::verbs_error("read the number of a shared receive queue",
                                   parts_.device.context.get(), error));
  options.secret = job.word.secret;
  options.ranks = job.ranks;
  options.mtu = static_cast<std::uint8_t>(port().mtu);
  options.max_links = static_cast<std::uint32_t>(
      std::min<std::size_t>(job.max_links, std::numeric_limits<std::uint32_t>::max()));
  if (options.max_links != 0) options.tries = kTriesOfFew;
  options.reads = pairs_.reads();
  return options;
}

void PortLinks::tell(const connect::Event& event) {
  machine_->handle(event, user_.now());
  user_.changed();
  auto& actions = machine_->actions();
  actions_.insert(actions_.end(), std::make_move_iterator(actions.begin()),
                  std::make_move_iterator(actions.end()));
  actions.clear();
  carry_out();
}

// Replies to the machine cause further actions, which are carried out after those already there.
void PortLinks::carry_out() {
  if (carrying_out_) return;
  carrying_out_ = true;
  while (!actions_.empty()) {
    const connect::Action action = std::move(actions_.front());
    actions_.pop_front();
    carry_out(action);
  }
  carrying_out_ = false;
}

void PortLinks::carry_out(const connect::Action& action) {
  std::visit(Overloaded{
                 [&](const action::SendDatagram& one) {
                   user_.addressed(index_, one.peer);
                   datagrams_.send(one.to, one.bytes);
                 },
                 [&](const action::CreateSendQp& one) { tell(pairs_.create(one)); },
                 [&](const action::ConnectQp& one) {
                   if (const auto connected = pairs_.connect(one)) tell(*connected);
                 },
                 [&](const action::CreateReceiveQp& one) { tell(pairs_.create(one)); },
                 [&](const action::OpenReceiveQp& one) { tell(pairs_.open(one)); },
                 [&](const action::CloseQp& one) { pairs_.close(one.qp, user_.now()); },
                 [](const action::Ready&) {},  // the user tries again at each poll
                 [&](const action::Drain& one) { user_.drain(index_, one.peer); },
                 [&](const action::Lost& one) { user_.posted_is_lost(index_, one.peer); },
                 [&](const action::Failed& one) { user_.not_connected(index_, one.peer, one.why); },
                 [](const action::WakeMe&) {},  // next_wake() is looked at
                 [&](const action::Left&) { left_ = true; },
             },
             action);
}

void PortLinks::give_up(connect::PeerId peer) {
  give_ups_.give_up(peers().address(peer), user_.now());
  send_give_ups();
}

void PortLinks::send_give_ups() {
  for (const connect::GiveUps::OutgoingDatagram& one : std::exchange(give_ups_.sayings(), {}))
    datagrams_.send(one.to.address, one.bytes);
}

std::optional<connect::Time> PortLinks::next_wake() const {
  auto due = machine_->next_wake();
  if (const auto other = give_ups_.next_wake()) due = std::min(due.value_or(*other), *other);
  if (!pairs_.is_receiving()) return due;
  const connect::Time look = user_.now() + kBetweenEvents;
  return due ? std::min(*due, look) : look;
}

void PortLinks::receive(const std::string& bytes) {
  if (!give_ups_.take(bytes, user_.now())) return tell(event::Datagram{bytes});
  for (const connect::PeerAddress& address : give_ups_.take_those_that_did())
    user_.gave_up(index_, machine_->add(address));
}

unsigned PortLinks::poll() {
  std::vector<std::string> received;
  const unsigned count = datagrams_.poll(received);
  for (const std::string& bytes : received)
    receive(bytes);
  while (const auto connected = pairs_.connect_waiting())
    tell(*connected);
  if (const auto due = machine_->next_wake(); due && *due <= user_.now()) tell(event::Timer{});
  give_ups_.wake(user_.now());
  send_give_ups();
  return count;
}

}  // namespace scela::channel
