// Ranks that use the channel wrongly. The first and the last do. Each must be told what is wrong,
// with which rank and what to do, and go on.
//
//   channel_misuse truncated   messages that are longer than their receives
//   channel_misuse contexts    a receive of another context than the message's
//   channel_misuse buffers     buffers that do not exist
//   channel_misuse pieces      as buffers, but messages go in pieces: also freed on their way
//   channel_misuse huge        a few bytes of messages of more than 4 GiB
//   channel_misuse locked      messages of more than may be locked
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "tests/interop/programs/channel/channel_check.h"

using namespace scela;

namespace {

using Data = std::vector<std::byte>;
constexpr std::size_t kLarge = std::size_t{2} << 20;
constexpr int kTag = 3, kGoodTag = 4;

void must_say(const Status& status, int peer, const std::string& words) {
  must(!status.ok(), cat("no error that says '", words, "'"));
  must(status.rank() == peer,
       cat("'", status.message(), "' is about rank ", status.rank(), ", not ", peer));
  must(status.message().find(words) != std::string::npos,
       cat("'", status.message(), "' does not say '", words, "'"));
}

// The error has harmed nothing else.
void still_works(Channel& channel) {
  const int peer = channel.rank() == 0 ? channel.size() - 1 : 0;
  for (const std::size_t size : {std::size_t{100}, std::size_t{50'000}}) {
    const Data sent(size, std::byte{7});
    Data got(size);
    Request send = channel.isend(peer, kGoodTag, sent);
    must(channel.recv(peer, kGoodTag, got));
    must(send.wait());
    must(got == sent, "other bytes than were sent");
  }
}

void truncated(Channel& channel) {
  const int last = channel.size() - 1;
  for (const std::size_t size : {std::size_t{100}, std::size_t{6'000}, kLarge})
    for (const std::size_t room : {std::size_t{0}, size / 2, size - 1}) {
      if (channel.rank() == last) {
        must(channel.send(0, kTag, Data(size, std::byte{5})));
        continue;
      }
      Data got(room + 8, std::byte{1});
      const Status status = channel.recv(last, kTag, std::span(got).first(room));
      must(status.code() == Code::truncated, "a message that is too long ends otherwise");
      must_say(status, last, cat("with tag 3: it has ", size, " bytes and the buffer ", room));
      must_say(status, last, "give the receive a larger buffer");
      must(status.bytes() == size && status.source() == last && status.tag() == kTag,
           "the status of what was truncated");
      for (std::size_t i = 0; i < got.size(); ++i)
        must(got[i] == static_cast<std::byte>(i < room ? 5 : 1), "bytes of what was truncated");
    }
}

void contexts(Channel& channel) {
  const int last = channel.size() - 1;
  Data got(8);
  if (channel.rank() == last) {
    must(channel.send(0, kTag, Data(8, std::byte{5}), 7));
    return;
  }
  must(channel.probe(last, kTag, 7));  // it is there
  must(!channel.iprobe(last, kTag, 8).has_value(), "another context's message is seen");
  must(!channel.iprobe(kAnySource, kTag, kWorld).has_value(), "it is seen by everybody's");
  must(channel.recv(kAnySource, kAnyTag, got, 8, std::chrono::milliseconds(1)).code() ==
           Code::timed_out,
       "another context's message is received");
  must(channel.recv(last, kTag, got, 7));
}

// Returns a buffer that was memory and is none any more.
std::span<std::byte> nothing() {
  void* const gone =
      ::mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(gone != MAP_FAILED && ::munmap(gone, kLarge) == 0, "memory to give back");
  return {static_cast<std::byte*>(gone), kLarge};
}

// The rank without a buffer is told that its buffer is bad, the other rank of a failure. If the
// sender itself finds out, nothing was sent.
void buffers(Channel& channel) {
  const int last = channel.size() - 1;
  const bool one_node = channel.nodes() == 1;
  Data good(kLarge);
  if (channel.rank() == last) {
    const Status gone = channel.send(0, kTag, nothing());
    must_say(gone, 0, "buffer");
    must(gone.code() == Code::bad_buffer, "a freed buffer is another error");
    const Status other = channel.send(0, kTag, good);
    must_say(other, 0, "buffer");
    must(!one_node || other.code() == Code::bad_buffer, "an adapter that there is not has failed");
    return;
  }
  if (one_node) {
    const Status gone = channel.recv(last, kTag, good);
    must_say(gone, last, "a buffer was freed");
    must(gone.code() == Code::bad_buffer, "a freed buffer is another error");
  }
  const Status gone = channel.recv(last, kTag, nothing());
  must_say(gone, last, "a buffer was freed");
  must(gone.code() == Code::bad_buffer, "a freed buffer is another error");
}

void give_back(std::span<std::byte> bytes) {
  must(::munmap(bytes.data(), bytes.size()) == 0, "memory to give back");
}
std::span<std::byte> memory(std::size_t bytes) {
  void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  must(made != MAP_FAILED, "memory");
  return {static_cast<std::byte*>(made), bytes};
}

// Each side copies by itself, if there is room. A rank that finds on the way that the rest of its
// buffer is gone is told so, and goes on.
void pieces(Channel& channel) {
  const int peer = channel.rank() == 0 ? channel.size() - 1 : 0;
  const bool first = channel.rank() == 0;
  for (const bool sender_freed : {true, false}) {
    const std::span<std::byte> bytes = memory(kLarge);
    const bool sends = first, freed = sends == sender_freed;
    const std::span<std::byte> rest = bytes.last(kLarge / 2);
    if (freed) give_back(rest);
    Request request = sends ? channel.issend(peer, kTag, bytes) : channel.irecv(peer, kTag, bytes);
    const Status gone = request.wait();
    give_back(freed ? bytes.first(kLarge / 2) : bytes);
    must_say(gone, peer, freed ? "a buffer was freed" : "buffer");
    must(!freed || gone.code() == Code::bad_buffer, "a freed buffer is another error");
  }
  // A rank sends to itself, and frees the buffer of one side or the other.
  Data good(kLarge);
  for (const bool sender_frees : {true, false}) {
    const int self = channel.rank();
    Request send = channel.isend(self, kTag, sender_frees ? nothing() : std::span(good));
    const Status status = channel.recv(self, kTag, sender_frees ? std::span(good) : nothing());
    must_say(status, self, "a buffer was freed");
    must_say(send.wait(), self, "a buffer was freed");
  }
}

// The length is told in full, though no machine has so much memory.
void huge(Channel& channel) {
  constexpr std::size_t kHuge = (std::size_t{5} << 30) + 3;
  const int last = channel.size() - 1;
  if (channel.rank() == last) {
    const std::span<std::byte> bytes = memory(kHuge);
    std::fill_n(bytes.begin(), 100, std::byte{5});
    must(channel.send(0, kTag, bytes));
    return give_back(bytes);
  }
  Data got(100);
  const Status status = channel.recv(last, kTag, got);
  must(status.code() == Code::truncated && status.bytes() == kHuge,
       cat("a message of ", kHuge, " bytes: ", status.message()));
  must(got == Data(100, std::byte{5}), "its first bytes are others");
}

// The message is larger than the limit. The advice in the error would help.
void locked(Channel& channel) {
  const int peer = channel.rank() == 0 ? 1 : 0;
  const Data large(16 * kLarge);
  const Status status = channel.send(peer, kTag, large);
  must(status.code() == Code::resources, "memory that may not be locked is another error");
  must_say(status, peer, cat("send ", large.size(), " bytes to rank ", peer));
  must_say(status, peer, "ulimit -l unlimited");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const Channel::Opened opened = Channel::open();
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  constexpr std::pair<const char*, void (*)(Channel&)> kParts[] = {
      {"truncated", truncated}, {"contexts", contexts}, {"buffers", buffers},
      {"pieces", pieces},       {"huge", huge},         {"locked", locked}};
  const auto* const part =
      std::ranges::find_if(kParts, [&](const auto& one) { return what == one.first; });
  if (part == std::end(kParts)) failed(cat("'", what, "' is nothing it does"));
  if (channel.rank() == 0 || channel.rank() == channel.size() - 1) {
    part->second(channel);
    still_works(channel);
  }
  if (channel.rank() == 0)
    std::printf("misuse: %s, %d ranks on %d nodes\n", part->first, channel.size(), channel.nodes());
  return 0;
}
