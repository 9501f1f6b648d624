// Messages: which receive has to get which message, whatever the wildcards.
//
// Receives are judged in the order in which their context got them. Each has the first of its
// source's messages that it fits and no earlier receive got. If it had fitted an earlier one too,
// and a later receive got that, then that message would have met this receive, which was posted
// first.
#include <algorithm>

#include "tests/strangers/rank.h"

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

std::size_t shift_of(std::uint64_t key) {
  return mix(key, 3) % 4 == 0 ? mix(key, 4) % 16 : 0;
}

}  // namespace

void Rank::expect_messages() {
  for (const Scene& scene : scenes_) {
    const Step& step = *scene.step;
    if (!scene.takes_place || step.kind != Kind::message || step.to != rank_) continue;
    for (int round = 0; round < step.times; ++round)
      incoming_[{static_cast<Context>(scene.context()), step.from}].push_back(
          {step.tag, key_of(step, round), step.bytes, false});
  }
}

void Rank::message(const Scene& scene) {
  const Step& step = *scene.step;
  const auto [source, tag] = asked(scene);
  if (step.from == step.to && step.from == rank_) {
    for (int round = 0; round < step.times; ++round) {
      begin_receive(scene, static_cast<Context>(scene.context()), source, tag, step.room);
      send(scene, round);
    }
  } else if (step.from == rank_) {
    if (step.sending == Sending::persistent) return repeat_sends(scene);
    for (int round = 0; round < step.times; ++round)
      send(scene, round);
  } else if (step.to == rank_) {
    if (step.receiving == Receiving::persistent) return repeat_receives(scene);
    for (int round = 0; round < step.times; ++round)
      receive(scene);
  }
}

void Rank::judge_send(const Scene& scene, int to, const Status& status) const {
  if (status.ok()) return;
  const Code code = status.code();
  if (scene.endangers(to) && status.rank() == to &&
      (code == Code::peer_ended || code == Code::closed))
    return;
  wrong("a send to rank " + std::to_string(to) + " failed: " + status.message() + " [" +
        text_of(*scene.step) + "]");
}

void Rank::begin_send(const Scene& scene, Context context, int to, int tag, std::uint64_t key,
                      std::uint64_t bytes, bool synchronous) {
  const auto buffer = std::make_shared<Buffer>(bytes, shift_of(key));
  fill(buffer->bytes(), key);
  Begun& begun = begin(scene);
  begun.request = synchronous ? channel_->issend(to, tag, buffer->bytes(), context)
                              : channel_->isend(to, tag, buffer->bytes(), context);
  begun.judge = [this, buffer, to](Begun& over) {
    const Status status = over.request.wait(patience_);
    if (status.code() == Code::timed_out)
      hangs("a send is not over within the limit: " + text_of(*over.scene->step));
    judge_send(*over.scene, to, status);
  };
}

void Rank::send(const Scene& scene, int round) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(scene.context());
  const std::uint64_t key = key_of(step, round);
  if (step.sending == Sending::send && !others_need_calls(-1)) {
    Buffer buffer(step.bytes, shift_of(key));
    fill(buffer.bytes(), key);
    return judge_send(scene, step.to, channel_->send(step.to, step.tag, buffer.bytes(), context));
  }
  begin_send(scene, context, step.to, step.tag, key, step.bytes, step.sending == Sending::issend);
  if (step.sending == Sending::send) finish(*begun_.back());
}

void Rank::repeat_sends(const Scene& scene) {
  const Step& step = *scene.step;
  const auto buffer = std::make_shared<Buffer>(step.bytes, shift_of(step.number));
  Begun& begun = begin(scene);
  begun.request = channel_->send_init(step.to, step.tag, buffer->bytes(),
                                      static_cast<Context>(scene.context()));
  expect(begun.request.persistent(), "send_init() has made a request that is not persistent");
  begun.judge = [this, buffer](Begun& over) {
    const Status status = over.request.wait(patience_);
    if (status.code() == Code::timed_out) hangs("a persistent send is not over");
    judge_send(*over.scene, over.scene->step->to, status);
  };
  for (int round = 0; round < step.times; ++round) {
    fill(buffer->bytes(), key_of(step, round));
    const Status started = begun.request.start();
    expect(started.ok(), "a persistent send does not start: " + started.message());
    begun.over = begun.done = false;
    finish(begun);
  }
  forget_done();
}

Posted& Rank::post(const Scene& scene, Context context, int source, int tag, std::uint64_t room) {
  Posted& posted = posted_[context].emplace_back();
  posted.source = source;
  posted.tag = tag;
  posted.buffer = Buffer(room, shift_of(mix(scene.step->number, context)));
  posted.scene = &scene;
  return posted;
}

void Rank::begin_receive(const Scene& scene, Context context, int source, int tag,
                         std::uint64_t room) {
  Posted& posted = post(scene, context, source, tag, room);
  Begun& begun = begin(scene);
  begun.request = channel_->irecv(source, tag, posted.buffer.bytes(), context);
  begun.judge = [this, context, &posted](Begun& over) {
    const Status status = over.request.wait(patience_);
    if (status.code() == Code::timed_out)
      hangs("a receive is not over within the limit: " + text_of(*over.scene->step));
    received(context, posted, status);
  };
}

void Rank::receive(const Scene& scene) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(scene.context());
  const auto [source, tag] = asked(scene);
  switch (step.receiving) {
    case Receiving::recv:
      if (!others_need_calls(-1)) {
        Posted& posted = post(scene, context, source, tag, step.room);
        const Status status =
            channel_->recv(source, tag, posted.buffer.bytes(), context, patience_);
        if (status.code() == Code::timed_out) hangs("a blocking receive is not over");
        return received(context, posted, status);
      }
      begin_receive(scene, context, source, tag, step.room);
      return finish(*begun_.back());
    case Receiving::probe:
    case Receiving::improbe:
      return probe_and_receive(scene, context, source, tag);
    default:
      return begin_receive(scene, context, source, tag, step.room);
  }
}

void Rank::probe_and_receive(const Scene& scene, Context context, int source, int tag) {
  const Step& step = *scene.step;
  const bool takes = step.receiving == Receiving::improbe;
  const auto until = std::chrono::steady_clock::now() + patience_;
  std::optional<scela::ProbedMessage> probed;
  std::optional<Status> found;
  if (!takes && !others_need_calls(-1)) {
    found = channel_->probe(source, tag, context, patience_);
    if (found->code() == Code::timed_out) hangs("a probe finds nothing");
  }
  while (!found) {
    if (takes && (probed = channel_->improbe(source, tag, context))) found = probed->status();
    if (!takes) found = channel_->iprobe(source, tag, context);
    if (!found) move_all();
    if (std::chrono::steady_clock::now() > until) hangs("probes find nothing");
  }
  // A probe that has failed names no message.
  const bool failed = !found->ok();
  const int from = failed ? source : found->source(), with = failed ? tag : found->tag();
  Posted& posted = post(scene, context, from, with, step.room);
  Begun& begun = begin(scene);
  begun.request = takes ? channel_->imrecv(std::move(*probed), posted.buffer.bytes())
                        : channel_->irecv(from, with, posted.buffer.bytes(), context);
  begun.judge = [this, context, &posted, found](Begun& over) {
    const Status status = over.request.wait(patience_);
    if (status.code() == Code::timed_out) hangs("a receive of what was probed is not over");
    if (status.ok() && found->ok())
      expect(status.source() == found->source() && status.tag() == found->tag() &&
                 status.bytes() == found->bytes(),
             "a receive has another message than was probed");
    received(context, posted, status);
  };
}

void Rank::repeat_receives(const Scene& scene) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(scene.context());
  const auto [source, tag] = asked(scene);
  const auto buffer = std::make_shared<Buffer>(step.room, shift_of(step.number));
  Begun& begun = begin(scene);
  begun.request = channel_->recv_init(source, tag, buffer->bytes(), context);
  expect(begun.request.persistent(), "recv_init() has made a request that is not persistent");
  begun.judge = [this, context, buffer](Begun& over) {
    const Status status = over.request.wait(patience_);
    if (status.code() == Code::timed_out) hangs("a persistent receive is not over");
    // The last receive that was posted has this buffer.
    auto& waiting = posted_[context];
    waiting.back().buffer = *buffer;
    received(context, waiting.back(), status);
  };
  for (int round = 0; round < step.times; ++round) {
    post(scene, context, source, tag, 0);
    const Status started = begun.request.start();
    expect(started.ok(), "a persistent receive does not start: " + started.message());
    begun.over = begun.done = false;
    finish(begun);
  }
  forget_done();
}

void Rank::received(Context context, Posted& posted, const Status& status) {
  posted.status = status;
  posted.complete = true;
  auto& waiting = posted_[context];
  while (!waiting.empty() && waiting.front().complete) {
    judge_receive(context, waiting.front());
    waiting.pop_front();
  }
  if (waiting.empty()) posted_.erase(context);
}

void Rank::judge_receive(Context context, const Posted& posted) {
  const Status& status = posted.status;
  const std::string about = " [" + text_of(*posted.scene->step) + "]";
  const bool failed = !status.ok() && status.code() != Code::truncated;
  if (failed && !(posted.scene->endangers(posted.source) && status.code() == Code::peer_ended &&
                  status.rank() == posted.source))
    wrong("a receive failed: " + status.message() + about);
  const int source = failed ? posted.source : status.source();
  if (!failed)
    expect((posted.source == kAnySource || posted.source == source) &&
               (posted.tag == kAnyTag || posted.tag == status.tag()),
           "a message from rank " + std::to_string(source) + " with tag " +
               std::to_string(status.tag()) + " does not fit its receive" + about);
  auto& coming = incoming_[{context, source}];
  const auto found = std::find_if(coming.begin(), coming.end(), [&](const Incoming& each) {
    return !each.taken && (posted.tag == kAnyTag || each.tag == posted.tag);
  });
  expect(found != coming.end(), "a message that was not sent" + about);
  found->taken = true;
  const Incoming message = *found;
  while (!coming.empty() && coming.front().taken)
    coming.pop_front();
  if (coming.empty()) incoming_.erase({context, source});
  if (failed) return;
  expect(message.tag == status.tag() && message.bytes == status.bytes(),
         "a message with tag " + std::to_string(status.tag()) + " of " +
             std::to_string(status.bytes()) + " bytes instead of that with tag " +
             std::to_string(message.tag) + " of " + std::to_string(message.bytes) + about);
  const auto got = posted.buffer.bytes();
  const bool longer = message.bytes > got.size();
  expect(longer == (status.code() == Code::truncated),
         "a message of " + std::to_string(message.bytes) + " bytes in a buffer of " +
             std::to_string(got.size()) + ": " + status.message() + about);
  const auto different = difference(got.first(longer ? got.size() : message.bytes), message.key);
  expect(!different, "a message: " + different.value_or("") + about);
  const auto damage = posted.buffer.damage();
  expect(!damage, "a message: " + damage.value_or("") + about);
}

// Sends messages of a context that no other step has, so that all receives can have wildcards.
// Every rank has begun all of its own before it waits for any.
void Rank::burst(const Scene& scene) {
  const Step& step = *scene.step;
  const auto context = static_cast<Context>(kBursts + step.number);
  const std::vector<Letter> letters = letters_of(step, others());
  // Exact receives come first, then wildcards, so that each finds a message whatever comes first.
  const std::uint64_t drawn = mix(step.number, static_cast<std::uint64_t>(rank_), 6);
  std::vector<const Letter*> mine;
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters[i].to == rank_) {
      incoming_[{context, letters[i].from}].push_back(
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
    if (letters[i].from == rank_)
      begin_send(scene, context, letters[i].to, letters[i].tag, key_of(step, static_cast<int>(i)),
                 letters[i].bytes, mix(drawn, i) % 4 == 0);
  if (late) receive_all();
}

void Rank::cancel(const Scene& scene) {
  Buffer buffer(64, 0);
  const auto context = static_cast<Context>(kBursts + scene.step->number);
  // The receive is from this rank itself, because all others may have ended.
  auto request = channel_->irecv(rank_, 1, buffer.bytes(), context);
  expect(!request.test(), "a receive is complete that no message meets");
  expect(!channel_->iprobe(rank_, kAnyTag, context), "a probe finds what was not sent");
  const bool cancelled = request.cancel();
  const Status status = request.wait(patience_);
  expect(cancelled && status.code() == Code::cancelled,
         "a receive cannot be withdrawn: " + status.message());
  expect(!buffer.damage(), "a receive that was withdrawn has written");
}

// The last of the reserved contexts has messages to the next rank.
void Rank::reserve(const Scene& scene) {
  const Step& step = *scene.step;
  const Context first = channel_->reserve_contexts(static_cast<Context>(step.count));
  expect(first >= (1U << 31), "reserve_contexts() gives context " + std::to_string(first));
  const Context context = first + static_cast<Context>(step.count) - 1;
  const std::vector<int> ranks = others();
  const auto here = static_cast<std::size_t>(std::ranges::find(ranks, rank_) - ranks.begin());
  const int next = ranks[(here + 1) % ranks.size()];
  const int before = ranks[(here + ranks.size() - 1) % ranks.size()];
  incoming_[{context, before}].push_back({0, key_of(step, before), 100, false});
  begin_receive(scene, context, before, 0, 100);
  begin_send(scene, context, next, 0, key_of(step, rank_), 100, false);
}

// Returns when all ranks have finished what they had begun. They tell a rank that is not about to
// end: the messages of a process may be lost with it.
void Rank::meet() {
  finish_all();
  const std::vector<int> ranks = others();
  const int first =
      *std::ranges::find_if_not(ranks, [&](int rank) { return now_->endangers(rank); });
  const Context context = kMeetings;
  const int tag = static_cast<int>(now_->step->number & scela::kMaxTag);
  const auto must = [&](const Status& status) {
    if (status.code() == Code::timed_out) hangs("not all ranks meet");
    expect(status.ok(), "a meeting failed: " + status.message());
  };
  if (rank_ != first) {
    must(channel_->send(first, tag, {}, context));
    return must(channel_->recv(first, tag, {}, context, patience_));
  }
  for (const int each : ranks)
    if (each != first) must(channel_->recv(each, tag, {}, context, patience_));
  for (const int each : ranks)
    if (each != first) must(channel_->send(each, tag, {}, context));
}

}  // namespace strangers
