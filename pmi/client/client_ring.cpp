#include "pmi/client/client_ring.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "common/os/futex.h"
#include "common/os/syscall.h"

namespace scela::pmi::client {

namespace {

// The kernel kills a rank when its agent ends. A rank that survives notices the agent's end within
// this time.
constexpr int kLookAfterAgentMs = 1000;

// Some programs close all descriptors except the first few, and then open others under the same low
// numbers. A write to the doorbell must not go into a file of such a program.
constexpr int kOutOfTheWay = 500;

Fd out_of_the_way(Fd fd) {
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
  return moved ? std::move(moved) : std::move(fd);
}

Error lost(std::string why) {
  return Error{ErrorKind::protocol, "read an answer", "", std::move(why), ""};
}

}  // namespace

std::unique_ptr<Ring> Ring::make(Fd memory, Fd doorbell) {
  auto mapped = SealedMemory::attach(std::move(memory), SealedMemory::Writers::all);
  if (!mapped || mapped->bytes() != ring::kTotalBytes) return nullptr;
  mapped->close_fd();
  const pid_t parent = ::getppid();
  Fd agent(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
  if (!agent) return nullptr;
  std::unique_ptr<Ring> made(
      new Ring(std::move(*mapped), out_of_the_way(std::move(doorbell)), std::move(agent)));
  // The parent is asked for again after the pidfd was opened: if the agent had ended before and
  // another process had its number, that process would not be the parent.
  const bool usable = made->end_.usable() && ::getppid() == parent &&
                      made->end_.served_by() == static_cast<std::uint64_t>(parent);
  return usable ? std::move(made) : nullptr;
}

Ring::Ring(SealedMemory memory, Fd doorbell, Fd agent)
    : memory_(std::move(memory)),
      doorbell_(std::move(doorbell)),
      agent_(std::move(agent)),
      end_(ring::SharedMemory(memory_.base())),
      uses_(memory_.base()),
      futex_(ring::SharedMemory(memory_.base()).futex()) {}

void Ring::take() {
  end_.take();
  static_cast<void>(ring_doorbell());
}

bool Ring::ring_doorbell() const {
  const std::uint64_t one = 1;
  return retry([&] { return ::write(doorbell_.get(), &one, sizeof one); }) > 0 || errno == EAGAIN;
}

// Sleeps until the agent's counter `news` differs from `seen`, or kLookAfterAgentMs has passed.
// Returns false if the agent has ended.
bool Ring::wait(std::uint64_t seen, std::uint64_t for_what) {
  bool there = true;
  if (end_.sleeps(seen, for_what)) {
    const timespec until = deadline_in_ms(kLookAfterAgentMs);
    pollfd agent{agent_.get(), POLLIN, 0};
    there =
        futex_wait(futex_, static_cast<std::uint32_t>(seen), &until) || ::poll(&agent, 1, 0) <= 0;
  }
  end_.awake();
  return there;
}

// After a request that could not be sent, no other is sent. The agent may still read the failed
// request later by itself. A caller that was told of the failure must not be served later requests.
void Ring::send(std::string_view text) {
  const std::lock_guard lock(sending_);
  if (!unsent_ && !try_send(text)) unsent_ = true;
}

bool Ring::try_send(std::string_view text) {
  while (!text.empty()) {
    const std::uint64_t seen = end_.noted();
    bool rings = false;
    const auto wrote = end_.write(text, rings);
    if (!wrote || end_.is_closed()) return false;
    if (rings && !ring_doorbell()) return false;
    text.remove_prefix(*wrote);
    if (*wrote == 0 && !wait(seen, ring::kForRoom)) return false;
  }
  return true;
}

Result<void> Ring::read_more(std::string& input) {
  char bytes[ring::kCapacity];
  for (;;) {
    const std::uint64_t seen = end_.noted();
    bool rings = false;
    const auto got = end_.read(bytes, sizeof bytes, rings);
    if (!got) return fail(lost("the launcher wrote what cannot be"));
    if (rings && !ring_doorbell()) {
      unsent_ = true;
      return fail(lost("this program closed a descriptor of its library"));
    }
    input.append(bytes, *got);
    if (*got > 0) return {};
    if (end_.is_closed()) return fail(lost("the launcher closed the connection"));
    if (unsent_) return fail(lost("the request before it could not be sent"));
    if (!wait(seen, ring::kForAnswers)) return fail(lost("the launcher's agent has ended"));
  }
}

}  // namespace scela::pmi::client
