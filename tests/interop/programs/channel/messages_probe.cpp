// This program tries messages within communicators, messages of several pieces, and messages that
// outlive their requests, by the functions that libscela exports. It runs on 4 ranks or more; rank
// 0 prints one line if all is well.
//
//   messages_probe communicators|pieces|detached|threads|death|abort STATUS
#include <sys/wait.h>
#include <unistd.h>

#include "tests/interop/programs/channel/messages_check.h"

namespace messages {

namespace {

// Messages of each length go on without their requests.
void detached_messages(Channel& channel, Communicator* part) {
  const int next = (part->rank() + 1) % part->size();
  const int last = (part->rank() + part->size() - 1) % part->size();
  for (const std::size_t length : kLengths) {
    const Data mine = data_of(length, part->rank()), right = data_of(length, last);
    Data got(length), late(length);
    // The receive's end is learned by the message that follows it.
    must(part->irecv(last, 1, got).detach(), "detach of a receive");
    must(part->issend(next, 1, mine).detach(), "detach of a send");
    must(part->isend(next, 2, mine).detach(), "detach of a second send");
    must(part->recv(last, 2, late, kLimit), "the second message");
    must(late == right, "the second message is another");
    Apart message(mine, 100);
    must(part->isend(next, 3, message.sent).detach(), "detach of a send of pieces");
    must(part->recv(last, 3, late, kLimit), "the third message");
    must(late == right, "the third message is another");
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (got != right && std::chrono::steady_clock::now() < end)
      channel.progress();
    must(got == right, "what a detached receive got is another message");
    // Each answers when it has received all three; their buffers may go then.
    int answer = 0, heard = -1;
    Request thanks = part->isend(last, 4, bytes_of(answer));
    must(part->recv(next, 4, room_of(heard), kLimit), "the answer");
    must(thanks.wait(kLimit), "the answer's send");
  }
}

// Requests that are not under way, wrong ones, and those of operations.
void detached_others(Communicator* part) {
  const int next = (part->rank() + 1) % part->size();
  const int last = (part->rank() + part->size() - 1) % part->size();
  int number = 0, other = 0;
  Request persistent_send = part->send_init(next, 5, bytes_of(number));
  must(persistent_send.detach(), "detach of one that was not started");
  must(persistent_send.start().code() == Code::bad_request, "it is empty");
  persistent_send = part->send_init(next, 5, bytes_of(number));
  must(persistent_send.start(), "start");
  must(persistent_send.detach(), "detach of one that was started");
  must(part->recv(last, 5, room_of(other), kLimit), "what was started");
  Request gone;
  must(gone.detach(), "detach of an empty one");
  // Errors are dropped.
  must(part->isend(part->size(), 1, bytes_of(number)).detach(), "detach of a wrong one");
  must(part->isend(next, -1, bytes_of(number)).detach(), "detach of a wrong tag");
  // Collective operations need each rank.
  must(part->barrier(), "barrier");
  if (part->rank() == 0) {
    Request operation = part->start(Collective::barrier());
    must(operation.detach().code() == Code::bad_request, "detach of an operation");
    const int start = 1;
    for (int rank = 1; rank < part->size(); ++rank)
      must(part->send(rank, 6, bytes_of(start)), "the start");
    must(operation.wait(kLimit), "the operation goes on");
    must(operation.detach(), "detach of a complete operation");
  } else {
    must(part->recv(0, 6, room_of(other), kLimit), "the start");
    must(part->barrier(), "the operation");
  }
}

}  // namespace

void detached(Channel& channel) {
  Communicator world = Communicator::world(channel);
  must(world.status(), "world");
  Communicator turned = world.split(0, -world.rank());
  for (Communicator* const part : {&world, &turned}) {
    detached_messages(channel, part);
    detached_others(part);
  }
  // These are detached when the channel closes: a receive that nothing matches, and a long send to
  // the next rank, which receives it before it closes.
  static int never = 0;
  static Data last_bytes = data_of(300'000, 9);
  Data room(last_bytes.size());
  const int next = (channel.rank() + 1) % channel.size();
  const int last = (channel.rank() + channel.size() - 1) % channel.size();
  must(channel.irecv(last, 77, room_of(never)).detach(), "detach of a receive in vain");
  must(channel.isend(next, 78, last_bytes).detach(), "detach of the last send");
  must(channel.recv(last, 78, room), "the last message");
  must(room == last_bytes, "the last message is another");
}

void threads(Channel& channel) {
  Communicator world = Communicator::world(channel);
  must(world.status(), "world");
  Communicator turned = world.split(0, -world.rank());
  std::vector<std::thread> all;
  for (int thread = 0; thread < 3; ++thread)
    all.emplace_back([&, thread] {
      Communicator& part = thread == 0 ? world : turned;
      const int next = (part.rank() + 1) % part.size();
      const int last = (part.rank() + part.size() - 1) % part.size();
      for (int round = 0; round < 60; ++round) {
        const std::size_t length = kLengths[static_cast<std::size_t>(round) % 9];
        const Data mine = data_of(length, part.rank() + round),
                   right = data_of(length, last + round);
        const Apart message(mine, 1 + length / 5);
        Apart got(Data(length), 1 + length / 4);
        Request receive = part.irecv(last, thread, got.got);
        must(part.isend(next, thread, message.sent).wait(kLimit), "a thread's send");
        const Status status = receive.wait(kLimit);
        must(status, "a thread's receive");
        must(status.source() == last && got.joined() == right, "a thread got another message");
        // The buffer of a detached send stays until the answer to it.
        int number = round, answer = -1;
        must(part.isend(next, 10 + thread, bytes_of(number)).detach(), "a thread's detach");
        must(part.recv(kAnySource, 10 + thread, room_of(answer), kLimit), "a thread's answer");
        Request thanks = part.issend(last, 20 + thread, bytes_of(answer));
        int heard = -1;
        must(part.recv(next, 20 + thread, room_of(heard), kLimit), "a thread's last message");
        must(thanks.wait(kLimit), "a thread's thanks");
        must(heard == round, "a thread's number is another");
      }
    });
  std::vector<int> one{1}, sum{0};
  for (int round = 0; round < 30; ++round)
    must(world.run(Collective::allreduce(one, sum, scela::ReduceOp::sum)), "an operation");
  for (std::thread& thread : all)
    thread.join();
  must(world.barrier(), "the last barrier");
}

// Rank 1 ends the job, which the others wait for. In a child process (fork) only that ends.
void abort_by_one(Channel& channel, int status) {
  int nothing = 0;
  if (channel.rank() == 1) {
    const pid_t child = fork();
    if (child == 0) channel.abort(9, "the child ends alone");
    int ended = 0;
    must(waitpid(child, &ended, 0) == child && WIFEXITED(ended) && WEXITSTATUS(ended) == 9,
         "a child that aborts");
    must(channel.send(0, 1, bytes_of(nothing)), "the rank goes on after its child");
    must(channel.recv(0, 2, room_of(nothing)), "the answer");
    channel.abort(status, "rank 1 gives up");
  }
  if (channel.rank() == 0) {
    must(channel.recv(1, 1, room_of(nothing)), "the rank whose child has ended");
    must(channel.send(1, 2, bytes_of(nothing)), "the answer");
  }
  must(channel.recv(kAnySource, 3, room_of(nothing)), "a message in vain");
}

}  // namespace messages

using namespace messages;

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "communicators";
  scela::ChannelOptions options;
  if (mode == "threads") options.threads = scela::Threads::multiple;
  Channel::Opened opened = Channel::open(options);
  must(opened.status, "open");
  Channel& channel = *opened.channel;
  own_rank = channel.rank();
  const int size = channel.size(), nodes = channel.nodes();
  must(size >= 4, "4 ranks are needed");
  if (mode == "communicators") communicators(channel);
  if (mode == "pieces") pieces(channel);
  if (mode == "detached") detached(channel);
  if (mode == "threads") threads(channel);
  if (mode == "death") death(channel);
  if (mode == "families") families(channel);
  if (mode == "abort") abort_by_one(channel, argc > 2 ? std::atoi(argv[2]) : 7);
  opened.channel.reset();
  if (own_rank == 0)
    std::printf("messages %s: %d ranks on %d nodes\n", std::string(mode).c_str(), size, nodes);
  return 0;
}
