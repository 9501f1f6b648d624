// Each receive has the first of its source's messages that it fits and no earlier receive got. If
// that message had fitted an earlier receive too, and a later one got it, then it would have met
// this receive, which was posted first.
#include "tests/strangers/rank/rank_mailbox.h"

#include <algorithm>
#include <string>

namespace strangers {

using scela::Code;
using scela::kAnySource;
using scela::kAnyTag;
using scela::Status;

std::size_t shift_of(std::uint64_t key) {
  return mix(key, 3) % 4 == 0 ? mix(key, 4) % 16 : 0;
}

namespace {

std::string about(const Posted& posted) {
  return " [" + text_of(*posted.scene->step) + "]";
}

}  // namespace

Posted& Mailbox::post(const Scene& scene, scela::Context context, int source, int tag,
                      std::uint64_t room) {
  Posted& posted = posted_[context].emplace_back();
  posted.source = source;
  posted.tag = tag;
  posted.buffer = Buffer(room, shift_of(mix(scene.step->number, context)));
  posted.scene = &scene;
  return posted;
}

void Mailbox::received(scela::Context context, Posted& posted, const Status& status) {
  posted.status = status;
  posted.complete = true;
  auto& waiting = posted_[context];
  while (!waiting.empty() && waiting.front().complete) {
    judge(context, waiting.front());
    waiting.pop_front();
  }
  if (waiting.empty()) posted_.erase(context);
}

void Mailbox::check_empty() const {
  for (const auto& [context, waiting] : posted_)
    situation_.expect(waiting.empty(),
                      "a receive in context " + std::to_string(context) + " was not judged");
}

void Mailbox::judge(scela::Context context, const Posted& posted) {
  const Status& status = posted.status;
  const bool failed = !status.ok() && status.code() != Code::truncated;
  if (failed && !(posted.scene->endangers(posted.source) && status.code() == Code::peer_ended &&
                  status.rank() == posted.source))
    situation_.wrong("a receive failed: " + status.message() + about(posted));
  const int source = failed ? posted.source : status.source();
  if (!failed)
    situation_.expect((posted.source == kAnySource || posted.source == source) &&
                          (posted.tag == kAnyTag || posted.tag == status.tag()),
                      "a message from rank " + std::to_string(source) + " with tag " +
                          std::to_string(status.tag()) + " does not fit its receive" +
                          about(posted));
  const Incoming message = take(context, source, posted);
  if (!failed) judge_contents(posted, message);
}

Incoming Mailbox::take(scela::Context context, int source, const Posted& posted) {
  auto& coming = incoming_[{context, source}];
  const auto found = std::find_if(coming.begin(), coming.end(), [&](const Incoming& each) {
    return !each.taken && (posted.tag == kAnyTag || each.tag == posted.tag);
  });
  situation_.expect(found != coming.end(), "a message that was not sent" + about(posted));
  found->taken = true;
  const Incoming message = *found;
  while (!coming.empty() && coming.front().taken)
    coming.pop_front();
  if (coming.empty()) incoming_.erase({context, source});
  return message;
}

void Mailbox::judge_contents(const Posted& posted, const Incoming& message) const {
  const Status& status = posted.status;
  const std::string where = about(posted);
  situation_.expect(message.tag == status.tag() && message.bytes == status.bytes(),
                    "a message with tag " + std::to_string(status.tag()) + " of " +
                        std::to_string(status.bytes()) + " bytes instead of that with tag " +
                        std::to_string(message.tag) + " of " + std::to_string(message.bytes) +
                        where);
  const auto got = posted.buffer.bytes();
  const bool longer = message.bytes > got.size();
  situation_.expect(longer == (status.code() == Code::truncated),
                    "a message of " + std::to_string(message.bytes) + " bytes in a buffer of " +
                        std::to_string(got.size()) + ": " + status.message() + where);
  const auto different = difference(got.first(longer ? got.size() : message.bytes), message.key);
  situation_.expect(!different, "a message: " + different.value_or("") + where);
  const auto damage = posted.buffer.damage();
  situation_.expect(!damage, "a message: " + damage.value_or("") + where);
}

}  // namespace strangers
