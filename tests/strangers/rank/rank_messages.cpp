#include "tests/strangers/rank/rank_messages.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace strangers {
namespace {

using scela::Code;
using scela::Context;
using scela::kAnySource;
using scela::kAnyTag;
using scela::Status;

// Contexts that belong to one step, and contexts of meetings.
constexpr Context kBursts = 1U << 24;
constexpr Context kMeetings = 3U << 20;
constexpr int kBurstTags = 3;

std::uint64_t key_of(const Step& step, int index) {
  return mix(step.number, static_cast<std::uint64_t>(index), 5);
}

struct Letter {
  int from = 0, to = 0, tag = 0;
  std::uint64_t bytes = 0;
};

std::vector<Letter> letters_of(const Step& step, const std::vector<int>& ranks) {
  std::vector<Letter> letters;
  for (std::uint64_t i = 0; i < step.count; ++i) {
    const std::uint64_t drawn = mix(step.number, i, 8);
    const auto one = [&](std::uint64_t from) { return ranks[from % ranks.size()]; };
    letters.push_back({one(drawn), one(drawn >> 8), static_cast<int>((drawn >> 16) % kBurstTags),
                       mix(drawn) % (step.bytes + 1)});
  }
  return letters;
}

// Returns the source and tag that a message's receive asks for.
std::pair<int, int> asked(const Scene& scene) {
  const Pattern pattern = scene.pattern();
  const bool any_source = pattern == Pattern::any_source || pattern == Pattern::any;
  const bool any_tag = pattern == Pattern::any_tag || pattern == Pattern::any;
  return {any_source ? kAnySource : scene.step->from, any_tag ? kAnyTag : scene.step->tag};
}

}  // namespace

Messages::Messages(Situation& situation, Requests& requests, Mailbox& mailbox)
    : situation_(situation), requests_(requests), mailbox_(mailbox) {
  for (const Scene& scene : situation_.scenes()) {
    const Step& step = *scene.step;
    if (!scene.takes_place || step.kind != Kind::message || step.to != situation_.rank()) continue;
    for (int round = 0; round < step.times; ++round)
      mailbox_.announce(static_cast<Context>(scene.context()), step.from,
                        {step.tag, key_of(step, round), step.bytes, false});
  }
}

void Messages::message(const Scene& scene) {
  const Step& step = *scene.step;
  const auto [source, tag] = asked(scene);
  if (step.from == step.to && step.from == situation_.rank()) {
    for (int round = 0; round < step.times; ++round) {
      begin_receive(scene, static_cast<Context>(scene.context()), source, tag, step.room);
      send(scene, round);
    }
  } else if (step.from == situation_.rank()) {
    if (step.sending == Sending::persistent) return repeat_sends(scene);
    for (int round = 0; round < step.times; ++round)
      send(scene, round);
  } else if (step.to == situation_.rank()) {
    if (step.receiving == Receiving::persistent) return repeat_receives(scene);
    for (int round = 0; round < step.times; ++round)
      receive(scene);
  }
}

void Messages::judge_send(const Scene& scene, int to, const Status& status) const {
  if (status.ok()) return;
  const Code code = status.code();
  if (scene.endangers(to) && status.rank() == to &&
      (code == Code::peer_ended || code == Code::closed))
    return;
  situation_.wrong("a send to rank " + std::to_string(to) + " failed: " + status.message() + " [" +
                   text_of(*scene.step) + "]");
}

Begun& Messages::begin_send(const Scene& scene, Context context, int to, int tag, std::uint64_t key,
                            std::uint64_t bytes, bool synchronous) {
  const auto buffer = std::make_shared<Buffer>(bytes, shift_of(key));
  fill(buffer->bytes(), key);
  Begun& begun = requests_.begin(scene);
  begun.request = synchronous ? situation_.channel().issend(to, tag, buffer->bytes(), context)
                              : situation_.channel().isend(to, tag, buffer->bytes(), context);
  begun.judge = [this, buffer, to](Begun& over) {
    const Status status = over.request.wait(situation_.patience());
    if (status.code() == Code::timed_out)
      situation_.hangs("a send is not over within the limit: " + text_of(*over.scene->step));
    judge_send(*over.scene, to, status);
  };
  return begun;
}

void Messages::send(const Scene& scene, int round) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(scene.context());
  const std::uint64_t key = key_of(step, round);
  if (step.sending == Sending::send && !requests_.others_need_calls(-1)) {
    Buffer buffer(step.bytes, shift_of(key));
    fill(buffer.bytes(), key);
    return judge_send(scene, step.to,
                      situation_.channel().send(step.to, step.tag, buffer.bytes(), context));
  }
  Begun& begun = begin_send(scene, context, step.to, step.tag, key, step.bytes,
                            step.sending == Sending::issend);
  if (step.sending == Sending::send) requests_.finish(begun);
}

void Messages::repeat_sends(const Scene& scene) {
  const Step& step = *scene.step;
  const auto buffer = std::make_shared<Buffer>(step.bytes, shift_of(step.number));
  Begun& begun = requests_.begin(scene);
  begun.request = situation_.channel().send_init(step.to, step.tag, buffer->bytes(),
                                                 static_cast<Context>(scene.context()));
  situation_.expect(begun.request.persistent(),
                    "send_init() has made a request that is not persistent");
  begun.judge = [this, buffer](Begun& over) {
    const Status status = over.request.wait(situation_.patience());
    if (status.code() == Code::timed_out) situation_.hangs("a persistent send is not over");
    judge_send(*over.scene, over.scene->step->to, status);
  };
  for (int round = 0; round < step.times; ++round) {
    fill(buffer->bytes(), key_of(step, round));
    const Status started = begun.request.start();
    situation_.expect(started.ok(), "a persistent send does not start: " + started.message());
    begun.over = begun.done = false;
    requests_.finish(begun);
  }
  requests_.forget_done();
}

Begun& Messages::begin_receive(const Scene& scene, Context context, int source, int tag,
                               std::uint64_t room) {
  Posted& posted = mailbox_.post(scene, context, source, tag, room);
  Begun& begun = requests_.begin(scene);
  begun.request = situation_.channel().irecv(source, tag, posted.buffer.bytes(), context);
  begun.judge = [this, context, &posted](Begun& over) {
    const Status status = over.request.wait(situation_.patience());
    if (status.code() == Code::timed_out)
      situation_.hangs("a receive is not over within the limit: " + text_of(*over.scene->step));
    mailbox_.received(context, posted, status);
  };
  return begun;
}

void Messages::receive(const Scene& scene) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(scene.context());
  const auto [source, tag] = asked(scene);
  switch (step.receiving) {
    case Receiving::recv:
      if (!requests_.others_need_calls(-1)) {
        Posted& posted = mailbox_.post(scene, context, source, tag, step.room);
        const Status status = situation_.channel().recv(source, tag, posted.buffer.bytes(), context,
                                                        situation_.patience());
        if (status.code() == Code::timed_out) situation_.hangs("a blocking receive is not over");
        return mailbox_.received(context, posted, status);
      }
      return requests_.finish(begin_receive(scene, context, source, tag, step.room));
    case Receiving::probe:
    case Receiving::improbe:
      return probe_and_receive(scene, context, source, tag);
    default:
      begin_receive(scene, context, source, tag, step.room);
  }
}

Status Messages::probe(Context context, int source, int tag,
                       std::optional<scela::ProbedMessage>* probed) {
  const auto until = std::chrono::steady_clock::now() + situation_.patience();
  if (probed == nullptr && !requests_.others_need_calls(-1)) {
    const Status found = situation_.channel().probe(source, tag, context, situation_.patience());
    if (found.code() == Code::timed_out) situation_.hangs("a probe finds nothing");
    return found;
  }
  for (;;) {
    if (probed != nullptr) {
      *probed = situation_.channel().improbe(source, tag, context);
      if (*probed) return (*probed)->status();
    } else if (const auto found = situation_.channel().iprobe(source, tag, context)) {
      return *found;
    }
    requests_.move_all();
    if (std::chrono::steady_clock::now() > until) situation_.hangs("probes find nothing");
  }
}

void Messages::probe_and_receive(const Scene& scene, Context context, int source, int tag) {
  const Step& step = *scene.step;
  const bool takes = step.receiving == Receiving::improbe;
  std::optional<scela::ProbedMessage> probed;
  const Status found = probe(context, source, tag, takes ? &probed : nullptr);
  // A probe that has failed names no message.
  const bool failed = !found.ok();
  const int from = failed ? source : found.source(), with = failed ? tag : found.tag();
  Posted& posted = mailbox_.post(scene, context, from, with, step.room);
  Begun& begun = requests_.begin(scene);
  begun.request = takes ? situation_.channel().imrecv(std::move(*probed), posted.buffer.bytes())
                        : situation_.channel().irecv(from, with, posted.buffer.bytes(), context);
  begun.judge = [this, context, &posted, found](Begun& over) {
    const Status status = over.request.wait(situation_.patience());
    if (status.code() == Code::timed_out)
      situation_.hangs("a receive of what was probed is not over");
    if (status.ok() && found.ok())
      situation_.expect(status.source() == found.source() && status.tag() == found.tag() &&
                            status.bytes() == found.bytes(),
                        "a receive has another message than was probed");
    mailbox_.received(context, posted, status);
  };
}

void Messages::repeat_receives(const Scene& scene) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(scene.context());
  const auto [source, tag] = asked(scene);
  const auto buffer = std::make_shared<Buffer>(step.room, shift_of(step.number));
  Begun& begun = requests_.begin(scene);
  begun.request = situation_.channel().recv_init(source, tag, buffer->bytes(), context);
  situation_.expect(begun.request.persistent(),
                    "recv_init() has made a request that is not persistent");
  begun.judge = [this, context, buffer](Begun& over) {
    const Status status = over.request.wait(situation_.patience());
    if (status.code() == Code::timed_out) situation_.hangs("a persistent receive is not over");
    // The last receive that was posted has this buffer.
    Posted& posted = mailbox_.last(context);
    posted.buffer = *buffer;
    mailbox_.received(context, posted, status);
  };
  for (int round = 0; round < step.times; ++round) {
    mailbox_.post(scene, context, source, tag, 0);
    const Status started = begun.request.start();
    situation_.expect(started.ok(), "a persistent receive does not start: " + started.message());
    begun.over = begun.done = false;
    requests_.finish(begun);
  }
  requests_.forget_done();
}

void Messages::burst(const Scene& scene) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(kBursts + step.number);
  const std::vector<Letter> letters = letters_of(step, situation_.others());
  // Exact receives come first, then wildcards, so that each finds a message whatever comes first.
  const std::uint64_t drawn = mix(step.number, static_cast<std::uint64_t>(situation_.rank()), 6);
  std::vector<const Letter*> mine;
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i].to == situation_.rank()) {
      mailbox_.announce(
          context, letters[i].from,
          {letters[i].tag, key_of(step, static_cast<int>(i)), letters[i].bytes, false});
      mine.push_back(&letters[i]);
    }
  const std::size_t exact = mine.empty() ? 0 : drawn % (mine.size() + 1);
  const auto mode = static_cast<Pattern>(drawn / 64 % 4);
  const auto receive_all = [&] {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const Pattern pattern = i < exact ? Pattern::exact : mode;
      const bool source = pattern == Pattern::any || pattern == Pattern::any_source;
      const bool tag = pattern == Pattern::any || pattern == Pattern::any_tag;
      begin_receive(scene, context, source ? kAnySource : mine[i]->from,
                    tag ? kAnyTag : mine[i]->tag, step.bytes);
    }
  };
  const bool late = drawn / 4096 % 2 == 0;
  if (!late) receive_all();
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i].from == situation_.rank())
      begin_send(scene, context, letters[i].to, letters[i].tag, key_of(step, static_cast<int>(i)),
                 letters[i].bytes, mix(drawn, i) % 4 == 0);
  if (late) receive_all();
}

void Messages::cancel(const Scene& scene) {
  Buffer buffer(64, 0);
  const auto context = static_cast<Context>(kBursts + scene.step->number);
  // The receive is from this rank itself, because all others may have ended.
  auto request = situation_.channel().irecv(situation_.rank(), 1, buffer.bytes(), context);
  situation_.expect(!request.test(), "a receive is complete that no message meets");
  situation_.expect(!situation_.channel().iprobe(situation_.rank(), kAnyTag, context),
                    "a probe finds what was not sent");
  const bool cancelled = request.cancel();
  const Status status = request.wait(situation_.patience());
  situation_.expect(cancelled && status.code() == Code::cancelled,
                    "a receive cannot be withdrawn: " + status.message());
  situation_.expect(!buffer.damage(), "a receive that was withdrawn has written");
}

void Messages::reserve(const Scene& scene) {
  const Step& step = *scene.step;
  const Context first = situation_.channel().reserve_contexts(static_cast<Context>(step.count));
  situation_.expect(first >= (1U << 31),
                    "reserve_contexts() gives context " + std::to_string(first));
  const Context context = first + static_cast<Context>(step.count) - 1;
  const std::vector<int> ranks = situation_.others();
  const auto here =
      static_cast<std::size_t>(std::ranges::find(ranks, situation_.rank()) - ranks.begin());
  const int next = ranks[(here + 1) % ranks.size()];
  const int before = ranks[(here + ranks.size() - 1) % ranks.size()];
  mailbox_.announce(context, before, {0, key_of(step, before), 100, false});
  begin_receive(scene, context, before, 0, 100);
  begin_send(scene, context, next, 0, key_of(step, situation_.rank()), 100, false);
}

// The ranks tell one that is not about to end, because the messages of a process may be lost with
// it.
void Messages::meet() {
  requests_.finish_all();
  const std::vector<int> ranks = situation_.others();
  const int first =
      *std::ranges::find_if_not(ranks, [&](int rank) { return situation_.now().endangers(rank); });
  const Context context = kMeetings;
  const int tag = static_cast<int>(situation_.now().step->number & scela::kMaxTag);
  const auto must = [&](const Status& status) {
    if (status.code() == Code::timed_out) situation_.hangs("not all ranks meet");
    situation_.expect(status.ok(), "a meeting failed: " + status.message());
  };
  if (situation_.rank() != first) {
    must(situation_.channel().send(first, tag, {}, context));
    return must(situation_.channel().recv(first, tag, {}, context, situation_.patience()));
  }
  for (const int each : ranks)
    if (each != first)
      must(situation_.channel().recv(each, tag, {}, context, situation_.patience()));
  for (const int each : ranks)
    if (each != first) must(situation_.channel().send(each, tag, {}, context));
}

}  // namespace strangers
