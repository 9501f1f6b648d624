// Communicators and their operations, and the ends of ranks that others survive.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "tests/strangers/rank.h"

namespace strangers {
namespace {

using scela::Code;
using scela::Communicator;
using scela::ProgressMode;
using scela::Status;

}  // namespace

void Rank::make(const Scene& scene) {
  const Step& step = *scene.step;
  Member made;
  if (step.kind == Kind::world) {
    finish_other_families(step.as);
    scela::CommunicatorOptions options;
    options.progress = made.by = step.by;
    options.check = step.check;
    made.family = step.as;
    made.communicator = Communicator::world(*channel_, options);
  } else {
    const Group* const of = group_of(scene.groups, rank_);
    if (of == nullptr) return;
    Member& member = members_.at(step.of);
    finish_other_families(member.family);
    made.family = member.family;
    made.by = member.by;
    Communicator& from = member.communicator;
    const auto drawn = [&](const std::vector<int>& list) {
      return list.empty() ? 0 : list[static_cast<std::size_t>(rank_) % list.size()];
    };
    switch (step.kind) {
      case Kind::dup:
        made.communicator = from.dup();
        break;
      case Kind::split:
        made.communicator = from.split(drawn(step.list), drawn(step.keys));
        break;
      case Kind::node:
        made.communicator = from.node();
        break;
      case Kind::leaders:
        made.communicator = from.leaders();
        break;
      case Kind::shrink:
        made.communicator = from.shrink();
        break;
      default: {
        std::vector<int> ranks;
        for (const int place : step.list)
          if (place >= 0 && static_cast<std::size_t>(place) < of->size()) ranks.push_back(place);
        if (ranks.empty()) return;
        made.communicator = from.subgroup(ranks);
      }
    }
  }
  const Group* const group = group_of(scene.makes, rank_);
  expect((group != nullptr) == static_cast<bool>(made.communicator),
         "a communicator is there that is not to be, or is not there: " +
             made.communicator.status().message());
  if (group == nullptr) return;
  expect(made.communicator.size() == static_cast<int>(group->size()) &&
             made.communicator.rank() == place_in(*group, rank_),
         "a communicator has rank " + std::to_string(made.communicator.rank()) + " of " +
             std::to_string(made.communicator.size()) + " here");
  members_.emplace(step.as, std::move(made));
}

void Rank::judge_operation(const Scene& scene, Share& share, const Status& status) const {
  const Group& group = *group_of(scene.groups, rank_);
  const std::string about = " [" + text_of(*scene.step) + "]";
  if (status.code() == Code::timed_out) hangs("an operation is not over" + about);
  if (!status.ok()) {
    const bool named = status.code() == Code::peer_ended && status.rank() >= 0 &&
                       status.rank() < static_cast<int>(group.size()) &&
                       scene.endangers(group[static_cast<std::size_t>(status.rank())]);
    return expect(named, "an operation failed: " + status.message() + about);
  }
  const auto different = share.wrong();
  expect(!different, "an operation: " + different.value_or("") + about);
}

void Rank::collective(const Scene& scene) {
  const Step& step = *scene.step;
  const Group* const group = group_of(scene.groups, rank_);
  if (group == nullptr) return;
  Member& member = members_.at(step.of);
  Communicator& communicator = member.communicator;
  if (member.by == ProgressMode::at_once || step.calling != Calling::start)
    finish_other_families(member.family);
  const auto share = std::make_shared<Share>(step, *group, rank_, communicator.nodes());
  share->fill(0);
  if (step.calling == Calling::run)
    return judge_operation(scene, *share, communicator.run(share->collective()));
  Begun& begun = begin(scene);
  begun.is_operation = true;
  begun.family = member.family;
  begun.needs_calls = member.by != ProgressMode::thread;
  begun.judge = [this, share](Begun& over) {
    judge_operation(*over.scene, *share, over.request.wait(patience_));
  };
  if (step.calling == Calling::start) {
    begun.request = communicator.start(share->collective());
    return;
  }
  begun.request = communicator.prepare(share->collective());
  expect(begun.request.persistent(), "prepare() has made a request that is not persistent");
  for (int round = 0; round < step.times; ++round) {
    if (round > 0) share->fill(round);
    const Status started = begun.request.start();
    begun.over = begun.done = false;
    if (!started.ok()) {
      begun.done = true;
      judge_operation(scene, *share, started);
      break;
    }
    finish(begun);
  }
  forget_done();
}

void Rank::agree(const Scene& scene) {
  const Group* const group = group_of(scene.groups, rank_);
  if (group == nullptr) return;
  Member& member = members_.at(scene.step->of);
  finish_other_families(member.family);
  const auto says = [&](int rank) {
    return mix(scene.step->number, static_cast<std::uint64_t>(rank)) % 4 != 0;
  };
  std::vector<int> exited;
  bool flag = true;
  for (std::size_t place = 0; place < group->size(); ++place)
    if (scene.has_ended((*group)[place]))
      exited.push_back(static_cast<int>(place));
    else
      flag = flag && says((*group)[place]);
  const scela::AgreeResult agreed = member.communicator.agree(says(rank_));
  expect(agreed.status.ok(), "agree() failed: " + agreed.status.message());
  // A rank that is about to end may have done so after it had said its word.
  const bool exact = agreed.exited == exited && agreed.flag == flag;
  std::string found;
  for (const int each : agreed.exited)
    found += " " + std::to_string(each);
  expect(exact,
         "agree() says " + std::to_string(agreed.flag) + ", and that these have ended:" + found);
}

void Rank::recover(const Scene& scene) {
  finish_all();
  for (const int id : scene.frees) {
    const auto found = members_.find(id);
    if (found == members_.end()) continue;
    if (mix(scene.step->number, static_cast<std::uint64_t>(id)) % 4 != 0)
      found->second.communicator.free();
    members_.erase(found);
  }
}

int Rank::end_by(Ending ending) {
  switch (ending) {
    case Ending::kill:
      ::kill(::getpid(), SIGKILL);
      break;
    case Ending::exit:
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): the channel stays open
    case Ending::quick_exit:
      ::_exit(1);
    case Ending::leave:
      break;
  }
  finish_all();
  members_.clear();
  channel_.reset();
  return 0;
}

}  // namespace strangers
