// A communicator beyond each number that it could run out of, and one that is used by a process or
// rank that has no part in it. The program uses the public interface alone.
//
//   communicator_bounds CASE EXECUTOR [COUNT]      COUNT: how many; each case has its own default
//
//   outstanding   so many operations are under way, and are waited for in several orders
//   memory        one rank has no memory for so many
//   early         one rank waits at once for an operation that the others wait for at the end
//   dups          so many copies of one communicator that contexts come again, also of living ones
//   families      so many are made over the channel and let go, one after the other
//   kinds         one rank calls another operation: all operations end, with a rank's name
//   lengths       as kinds, but messages have the lengths that are expected
//   algorithms    all ranks, or one, name an algorithm that does not exist
//   subgroups     ranks name different subgroups, or one that cannot be
//   child         a child process calls everything; its parent and the others go on
//   closed        the channel is closed before its communicator
//   unreceived    both ends close with messages that nothing receives
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm-channel/include/scela/channel.h"
#include "common/core/random.h"
#include "common/core/text.h"
#include "tests/interop/programs/collectives/communicator_check.h"

using namespace scela;

namespace {

using Numbers = std::vector<int>;
constexpr auto kLimit = std::chrono::seconds(100);

struct Here {
  std::unique_ptr<Channel> channel;
  CommunicatorOptions options;
  Communicator world;
  long count = 0;  // 0: the case's own

  long count_or(long own) const { return count != 0 ? count : own; }
  Communicator make_world() { return Communicator::world(*channel, options); }
};

int sum_of_ranks(const Communicator& all) {
  return all.size() * (all.size() - 1) / 2;
}

void still_works(Communicator& all, const std::string& what) {
  const Numbers own{all.rank()};
  Numbers sum(1);
  Request request = all.start(Collective::allreduce(own, sum, ReduceOp::sum));
  must(request.wait(kLimit), what);
  must(sum[0] == sum_of_ranks(all), what + ": another sum");
}

void must_name(const Status& status, Code code, int rank, const std::string& words) {
  const std::string said = cat("'", status.message(), "' of rank ", status.rank());
  must(status.code() == code, cat(said, " is not: ", name_of(code)));
  must(status.rank() == rank, cat(said, " is not about rank ", rank));
  must(status.message().find(words) != std::string::npos, cat(said, " does not say '", words, "'"));
}

// Returns the size of this process's address space.
std::size_t virtual_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Each operation has another result.
void outstanding(Here& here) {
  const auto count = static_cast<std::size_t>(here.count_or(20'000));
  Numbers own(count), sums(count);
  std::vector<Request> requests;
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    own[i] = static_cast<int>(i) + here.world.rank();
    order[i] = i;
    requests.push_back(here.world.start(Collective::allreduce(
        std::span(own).subspan(i, 1), std::span(sums).subspan(i, 1), ReduceOp::sum)));
  }
  // Each rank waits in an order of its own: as begun, backwards, or at random.
  Random random(static_cast<std::uint64_t>(here.world.rank()));
  if (here.world.rank() % 3 == 0) std::ranges::reverse(order);
  for (std::size_t i = count; here.world.rank() % 3 == 2 && i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  for (const std::size_t i : order) {
    must(requests[i].wait(kLimit), cat("operation ", i));
    const int right = static_cast<int>(i) * here.world.size() + sum_of_ranks(here.world);
    must(sums[i] == right, cat("operation ", i, ": ", sums[i], " instead of ", right));
  }
  still_works(here.world, "what comes after all of them");
}

// Rank 1 may have only so much more memory. It is refused an operation. All ranks are refused that
// one and all after it, and what came before it went well.
void memory(Here& here) {
  constexpr rlim_t kMore = rlim_t{8} * 1024 * 1024;
  const auto count = static_cast<std::size_t>(here.count_or(20'000));
  const bool is_short = here.world.rank() == 1;
  Numbers own(count), sums(count);
  std::vector<Request> requests;
  requests.reserve(count);
  std::vector<bool> refused(count);
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  if (is_short) {
    rlimit less = before;
    less.rlim_cur = static_cast<rlim_t>(virtual_bytes()) + kMore;
    must(::setrlimit(RLIMIT_AS, &less) == 0, "a limit of memory");
  }
  for (std::size_t i = 0; i < count; ++i) {
    own[i] = static_cast<int>(i) + here.world.rank();
    requests.push_back(here.world.start(Collective::allreduce(
        std::span(own).subspan(i, 1), std::span(sums).subspan(i, 1), ReduceOp::sum)));
  }
  std::size_t first = count;
  for (std::size_t i = 0; i < count; ++i) {
    const Status status = requests[i].wait(kLimit);
    if (!status.ok() && first == count) first = i;
    must(status.ok() == (i < first), cat("operation ", i, " went well after ", first));
    must(status.ok() || (status.code() == Code::resources && status.rank() == 1),
         cat("operation ", i, ": ", status.message()));
    const int right = static_cast<int>(i) * here.world.size() + sum_of_ranks(here.world);
    must(!status.ok() || sums[i] == right,
         cat("operation ", i, ": ", sums[i], " instead of ", right));
  }
  must(first != count, "all operations have found memory");
  requests.clear();
  ::setrlimit(RLIMIT_AS, &before);
  // The others were refused as many operations, not one more or fewer.
  Communicator again = here.world.shrink();
  must(again.status(), "shrink after memory was exhausted");
  std::vector<std::size_t> own_first{first}, firsts(static_cast<std::size_t>(again.size()));
  must(again.run(Collective::allgather(std::span(own_first), std::span(firsts))), "compare");
  for (const std::size_t other : firsts)
    must(other == first, cat("operation ", first, " is the first refused, and ", other));
}

// An operation that one rank has begun and waited for, and others have only begun, hinders no later
// one.
void early(Here& here) {
  const int count = static_cast<int>(here.count_or(5'000));
  Numbers first{here.world.rank() == 0 ? 7 : 0};
  Request old = here.world.start(Collective::bcast(first, 0));
  if (here.world.rank() == 0) must(old.wait(kLimit), "the first one");
  for (int i = 0; i < count; ++i) {
    Numbers value{here.world.rank() == 0 ? i : -1};
    must(here.world.run(Collective::bcast(value, 0)), cat("operation ", i));
    must(value[0] == i, cat("operation ", i, ": its root sent ", i, ", and ", value[0], " came"));
  }
  if (here.world.rank() != 0) must(old.wait(kLimit), "the first one");
  must(first[0] == 7, "the first one has another result");
}

// Each rank begins with another communicator, so that messages that could meet would meet.
void apart(Communicator& one, Communicator& other) {
  Numbers of_one{one.rank() == 0 ? 111 : 0}, of_other{other.rank() == 0 ? 222 : 0};
  Request first, second;
  const auto begin_one = [&] { first = one.start(Collective::bcast(of_one, 0)); };
  const auto begin_other = [&] { second = other.start(Collective::bcast(of_other, 0)); };
  if (one.rank() == 0) begin_one();
  begin_other();
  if (one.rank() != 0) begin_one();
  must(first.wait(kLimit), "of the one");
  must(second.wait(kLimit), "of the other");
  must(of_one[0] == 111 && of_other[0] == 222,
       cat("messages of two communicators met: ", of_one[0], " and ", of_other[0]));
}

void dups(Here& here) {
  Communicator other = here.make_world();
  Communicator kept = here.world.dup();
  // Each rank does this alone, so that ranks come to different numbers. The count is beyond all
  // contexts of the family.
  Communicator self = here.world.split(here.world.rank(), 0);
  const long count = here.count_or(1'100'000) + here.world.rank() * 1'000L;
  for (long i = 0; i < count; ++i) {
    Communicator copy = self.dup();
    if (!copy) failed(cat("dup ", i, ": ", copy.status().message()));
    if (i % 2 == 0) copy.free();
  }
  for (int i = 0; i < 20; ++i) {
    Communicator copy = here.world.dup();
    if (!copy) failed(cat("the dup of all: ", copy.status().message()));
    apart(copy, other);
    apart(copy, kept);
    apart(copy, here.world);
    if (i == 10) copy.free();
  }
  Communicator half = here.world.split(here.world.rank() % 2, 0);
  still_works(half, "a half");
  still_works(here.world, "the world");
  Communicator rest = here.world.shrink();
  if (!rest) failed(cat("shrink: ", rest.status().message()));
  apart(rest, kept);
}

// Some communicators are kept meanwhile, and one has operations under way.
void families(Here& here) {
  const int count = static_cast<int>(here.count_or(5'000));
  std::vector<Communicator> kept;
  for (int i = 0; i < 3; ++i)
    kept.push_back(here.make_world());
  for (int i = 0; i < count; ++i) {
    Communicator one = here.make_world();
    if (!one) failed(cat("number ", i, ": ", one.status().message()));
    if (i % 100 == 0) {
      still_works(one, "a new one");
      apart(one, kept[static_cast<std::size_t>(i / 100) % kept.size()]);
      Communicator copy = one.dup();
      apart(copy, one);
    }
    if (i % 3 == 0) one.free();
  }
  for (Communicator& one : kept)
    still_works(one, "one that was kept");
}

// The last rank calls a barrier where the others sum up.
void must_differ(Communicator& all, const Collective& call) {
  Request request = all.start(call);
  const Status status = request.wait(kLimit);
  must(status.code() == Code::mismatch, cat("it ends so: ", status.message()));
  must(status.rank() >= 0 && status.rank() < all.size(), "it names no rank");
}

void shrink_and_go_on(Here& here) {
  Communicator rest = here.world.shrink();
  if (!rest) failed(cat("shrink: ", rest.status().message()));
  still_works(rest, "what shrink gives");
}

void kinds(Here& here) {
  const bool differs = here.world.rank() == here.world.size() - 1;
  Numbers own(100, here.world.rank()), sum(100);
  for (int time = 0; time < 3; ++time)
    must_differ(here.world,
                differs ? Collective::barrier() : Collective::allreduce(own, sum, ReduceOp::sum));
  shrink_and_go_on(here);
}

// Each message has the length that is expected, and the other ranks have theirs before the mismatch
// is known.
void lengths(Here& here) {
  const bool differs = here.world.rank() == here.world.size() - 1;
  Numbers part(100), all(100 * static_cast<std::size_t>(here.world.size()));
  Collective call = differs ? Collective::bcast(part, 0) : Collective::scatter(all, part, 0);
  call.algorithm("sequential");
  if (differs)
    must_differ(here.world, call);
  else
    static_cast<void>(here.world.start(call).wait(kLimit));
  must_differ(here.world, Collective::barrier());
  shrink_and_go_on(here);
}

void algorithms(Here& here) {
  const int last = here.world.size() - 1;
  const Numbers own(100, 1);
  Numbers sum(100);
  Collective wrong = Collective::allreduce(own, sum, ReduceOp::sum);
  wrong.algorithm("nonsense");
  Communicator all = here.world.dup();
  Request asked = all.start(wrong);
  must_name(asked.wait(kLimit), Code::bad_argument, here.world.rank(), "'nonsense'");
  Communicator one = here.world.dup();
  for (int time = 0; time < 3; ++time) {
    const bool is_wrong = time == 0 && here.world.rank() == last;
    Request request = one.start(is_wrong ? wrong : Collective::allreduce(own, sum, ReduceOp::sum));
    const Status status = request.wait(kLimit);
    if (is_wrong)
      must_name(status, Code::bad_argument, last, "'nonsense'");
    else
      must_name(status, Code::mismatch, last, "its call was refused");
  }
  still_works(here.world, "the world");
}

void subgroups(Here& here) {
  const int last = here.world.size() - 1;
  const bool differs = here.world.rank() == last;
  const Numbers right{0, last}, wrong{0, 99}, turned{last, 0};
  for (int time = 0; time < 3; ++time) {
    Communicator none = here.world.subgroup(differs ? wrong : right);
    must(!none, "there is a subgroup with a rank that there is not");
    if (differs)
      must_name(none.status(), Code::bad_argument, last, "there is no rank 99");
    else
      must_name(none.status(), Code::mismatch, last, "its call was refused");
    none = here.world.subgroup(differs ? turned : right);
    must(!none, "ranks have a subgroup of which others have other ranks");
    must_name(none.status(), Code::mismatch, differs ? 0 : last, "with other ranks");
    none = here.world.split(differs ? -5 : 0, 0);
    must(!none, "there is a communicator of a color that is none");
    must_name(none.status(), differs ? Code::bad_argument : Code::mismatch, last,
              differs ? "invalid color -5" : "its call was refused");
    none = differs ? here.world.subgroup(right) : here.world.split(0, 0);
    must(!none, "split and subgroup gave a communicator");
    must_name(none.status(), Code::mismatch, differs ? 0 : last, "has called");
    Communicator good = here.world.subgroup(right);
    if (here.world.rank() == 0 || differs)
      still_works(good, "the subgroup");
    else
      must(!good, "a rank that was not named is of it");
  }
  still_works(here.world, "the world");
}

[[noreturn]] void be_the_child(Here& here, Request& begun, Request& posted) {
  Channel& channel = *here.channel;
  std::byte byte{1};
  const std::span<std::byte> bytes(&byte, 1);
  const auto is_closed = [](const Status& status, const char* what) {
    must(status.code() == Code::closed, cat(what, ": ", name_of(status.code())));
    must(status.message().find("fork") != std::string::npos,
         cat(what, ": '", status.message(), "' does not say why"));
  };
  is_closed(channel.send(0, 1, bytes), "send");
  is_closed(channel.isend(0, 1, bytes).wait(), "isend");
  is_closed(channel.recv(0, 1, bytes), "recv");
  is_closed(channel.irecv(0, 1, bytes).wait(), "irecv");
  is_closed(channel.probe(0, 1), "probe");
  is_closed(*channel.iprobe(0, 1), "iprobe");
  is_closed(channel.improbe(0, 1)->status(), "improbe");
  is_closed(posted.wait(), "a receive of the parent's");
  Request requests[] = {channel.irecv(0, 1, bytes)};
  must(wait_any(requests) == 0, "a wait for any of the child's");
  must(!channel.progress() && !channel.has_exited(0), "the channel of a child moves");
  is_closed(here.world.barrier(), "barrier");
  is_closed(here.world.start(Collective::barrier()).wait(), "start");
  is_closed(here.world.prepare(Collective::barrier()).start(), "prepare");
  is_closed(here.world.dup().status(), "dup");
  is_closed(here.world.shrink().status(), "shrink");
  is_closed(here.world.agree(true).status, "agree");
  is_closed(begun.wait(), "an operation of the parent's");
  // All objects end, as they do in a child that returns.
  begun = {};
  posted = {};
  here.world.free();
  here.world = {};
  here.channel.reset();
  std::fflush(nullptr);
  ::_exit(0);
}

void child(Here& here) {
  Communicator& world = here.world;
  const int right = (world.rank() + 1) % world.size();
  const int left = (world.rank() + world.size() - 1) % world.size();
  int got = -1;
  Request posted = here.channel->irecv(left, 5, std::as_writable_bytes(std::span(&got, 1)));
  Numbers own{world.rank()}, sum(1);
  Request begun = world.start(Collective::allreduce(own, sum, ReduceOp::sum));
  const pid_t pid = ::fork();
  must(pid >= 0, "no child can be made");
  if (pid == 0) be_the_child(here, begun, posted);
  int status = -1;
  must(::waitpid(pid, &status, 0) == pid && status == 0, "the child did not end well");
  must(begun.wait(kLimit), "what was begun before the child");
  must(sum[0] == sum_of_ranks(world), "it has another sum");
  for (int i = 0; i < 3; ++i) {
    const int sent = 100 * world.rank() + i;
    must(here.channel->send(right, 5 + i, std::as_bytes(std::span(&sent, 1))), "a send");
    const Status received =
        i == 0 ? posted.wait(kLimit)
               : here.channel->recv(left, 5 + i, std::as_writable_bytes(std::span(&got, 1)));
    must(received, "a receive");
    must(got == 100 * left + i, cat("another message came: ", got));
  }
  still_works(world, "the world");
}

void closed(Here& here) {
  Communicator copy = here.world.dup();
  Numbers own{here.world.rank()}, sum(1);
  // No operation of the copy is left under way: others would wait for a rank that closes in
  // between.
  must(copy.barrier(), "a barrier");
  Request prepared = copy.prepare(Collective::allreduce(own, sum, ReduceOp::sum));
  here.channel.reset();
  const auto is_closed = [](const Status& status, const char* what) {
    must(!status.ok(), cat(what, " went well"));
    must(status.message().find("closed") != std::string::npos,
         cat(what, ": '", status.message(), "' does not say that the channel was closed"));
  };
  is_closed(copy.barrier(), "barrier");
  is_closed(copy.run(Collective::allreduce(own, sum, ReduceOp::sum)), "allreduce");
  must(prepared.start(), "start");
  is_closed(prepared.wait(kLimit), "what was prepared");
  is_closed(here.world.dup().status(), "dup");
  copy.free();
}

// The sizes are such that messages go by each way there is, to each rank and to oneself.
void unreceived(Here& here) {
  Channel& channel = *here.channel;
  const std::vector<std::byte> bytes(std::size_t{4} << 20);
  std::vector<std::pair<int, Request>> sends;
  must(here.world.barrier(), "a barrier");
  for (int peer = 0; peer < channel.size(); ++peer)
    for (const std::size_t size :
         {std::size_t{8}, std::size_t{10'000}, std::size_t{100'000}, bytes.size()}) {
      const auto some = std::span(bytes).first(size);
      for (int time = 0; time < 5; ++time)
        sends.emplace_back(peer, channel.isend(peer, 1, some));
      sends.emplace_back(peer, channel.issend(peer, 2, some));
    }
  here.world = {};
  here.channel.reset();
  for (auto& [peer, send] : sends) {
    const Status status = send.wait(std::chrono::nanoseconds(0));
    if (status.ok()) continue;  // a small one that was on its way
    must(status.code() == Code::closed || status.code() == Code::peer_ended,
         cat("a send ends so: ", status.message()));
    must(status.rank() == peer, cat("it does not name rank ", peer, ": ", status.message()));
  }
}

using Case = void (*)(Here&);
Case find(const std::string& name) {
  const std::pair<const char*, Case> all[] = {{"outstanding", outstanding},
                                              {"memory", memory},
                                              {"early", early},
                                              {"dups", dups},
                                              {"families", families},
                                              {"kinds", kinds},
                                              {"lengths", lengths},
                                              {"algorithms", algorithms},
                                              {"subgroups", subgroups},
                                              {"child", child},
                                              {"closed", closed},
                                              {"unreceived", unreceived}};
  for (const auto& [known, run] : all)
    if (name == known) return run;
  return nullptr;
}

}  // namespace

int main(int count, char** words) {
  const std::string name = count > 1 ? words[1] : "";
  const std::string by = count > 2 ? words[2] : "polled";
  const Case run = find(name);
  if (run == nullptr) failed("there is no case '" + name + "'");
  Here here;
  here.count = count > 3 ? std::atol(words[3]) : 0;
  ChannelOptions options;
  if (by == "thread") options.threads = Threads::multiple;
  here.options.progress = by == "thread"   ? ProgressMode::thread
                          : by == "engine" ? ProgressMode::engine
                          : by == "once"   ? ProgressMode::at_once
                                           : ProgressMode::polled;
  auto opened = Channel::open(options);
  if (!opened.channel) failed(opened.status.message());
  here.channel = std::move(opened.channel);
  here.world = here.make_world();
  if (!here.world) failed(here.world.status().message());
  const int rank = here.world.rank();
  run(here);
  if (rank == 0) std::printf("communicator: %s %s went well\n", name.c_str(), by.c_str());
  here.world = {};
  return 0;
}
