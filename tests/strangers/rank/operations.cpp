#include "tests/strangers/rank/operations.h"

#include <memory>
#include <string>
#include <vector>

namespace strangers {

using scela::Code;
using scela::Communicator;
using scela::ProgressMode;
using scela::Status;

void Operations::make(const Scene& scene) {
  const Step& step = *scene.step;
  const int rank = situation_.rank();
  Member made;
  if (step.kind == Kind::world) {
    requests_.finish_other_families(step.as);
    scela::CommunicatorOptions options;
    options.progress = made.by = step.by;
    options.check = step.check;
    made.family = step.as;
    made.communicator = Communicator::world(situation_.channel(), options);
  } else {
    if (group_of(scene.groups, rank) == nullptr) return;
    Member& member = communicators_.at(step.of);
    requests_.finish_other_families(member.family);
    made.family = member.family;
    made.by = member.by;
    if (step.kind == Kind::subgroup && members_of_subgroup(scene).empty()) return;
    made.communicator = make_from(member.communicator, scene);
  }
  const Group* const group = group_of(scene.makes, rank);
  situation_.expect((group != nullptr) == static_cast<bool>(made.communicator),
                    "a communicator is there that is not to be, or is not there: " +
                        made.communicator.status().message());
  if (group == nullptr) return;
  situation_.expect(made.communicator.size() == static_cast<int>(group->size()) &&
                        made.communicator.rank() == place_in(*group, rank),
                    "a communicator has rank " + std::to_string(made.communicator.rank()) + " of " +
                        std::to_string(made.communicator.size()) + " here");
  communicators_.add(step.as, std::move(made));
}

std::vector<int> Operations::members_of_subgroup(const Scene& scene) const {
  const Group& of = *group_of(scene.groups, situation_.rank());
  std::vector<int> ranks;
  for (const int place : scene.step->list)
    if (place >= 0 && static_cast<std::size_t>(place) < of.size()) ranks.push_back(place);
  return ranks;
}

Communicator Operations::make_from(Communicator& from, const Scene& scene) const {
  const Step& step = *scene.step;
  const auto drawn = [&](const std::vector<int>& list) {
    return list.empty() ? 0 : list[static_cast<std::size_t>(situation_.rank()) % list.size()];
  };
  switch (step.kind) {
    case Kind::dup:
      return from.dup();
    case Kind::split:
      return from.split(drawn(step.list), drawn(step.keys));
    case Kind::node:
      return from.node();
    case Kind::leaders:
      return from.leaders();
    case Kind::shrink:
      return from.shrink();
    default:
      return from.subgroup(members_of_subgroup(scene));
  }
}

void Operations::free(const Scene& scene) {
  communicators_.drop(scene.step->of, mix(scene.step->number));
}

void Operations::judge(const Scene& scene, const Share& share, const Status& status) const {
  const Group& group = *group_of(scene.groups, situation_.rank());
  const std::string about = " [" + text_of(*scene.step) + "]";
  if (status.code() == Code::timed_out) situation_.hangs("an operation is not over" + about);
  if (!status.ok()) {
    const bool named = status.code() == Code::peer_ended && status.rank() >= 0 &&
                       status.rank() < static_cast<int>(group.size()) &&
                       scene.endangers(group[static_cast<std::size_t>(status.rank())]);
    return situation_.expect(named, "an operation failed: " + status.message() + about);
  }
  const auto different = share.wrong();
  situation_.expect(!different, "an operation: " + different.value_or("") + about);
}

void Operations::collective(const Scene& scene) {
  const Step& step = *scene.step;
  const Group* const group = group_of(scene.groups, situation_.rank());
  if (group == nullptr) return;
  Member& member = communicators_.at(step.of);
  Communicator& communicator = member.communicator;
  if (member.by == ProgressMode::at_once || step.calling != Calling::start)
    requests_.finish_other_families(member.family);
  const auto share = std::make_shared<Share>(step, *group, situation_.rank(), communicator.nodes());
  share->fill(0);
  if (step.calling == Calling::run)
    return judge(scene, *share, communicator.run(share->collective()));
  Begun& begun = requests_.begin(scene);
  begun.is_operation = true;
  begun.family = member.family;
  begun.needs_calls = member.by != ProgressMode::thread;
  begun.judge = [this, share](Begun& over) {
    judge(*over.scene, *share, over.request.wait(situation_.patience()));
  };
  if (step.calling == Calling::start) {
    begun.request = communicator.start(share->collective());
    return;
  }
  begun.request = communicator.prepare(share->collective());
  repeat(begun, *share);
}

void Operations::repeat(Begun& begun, Share& share) {
  situation_.expect(begun.request.persistent(),
                    "prepare() has made a request that is not persistent");
  for (int round = 0; round < begun.scene->step->times; ++round) {
    if (round > 0) share.fill(round);
    const Status started = begun.request.start();
    begun.over = begun.done = false;
    if (!started.ok()) {
      begun.done = true;
      judge(*begun.scene, share, started);
      break;
    }
    requests_.finish(begun);
  }
  requests_.forget_done();
}

void Operations::agree(const Scene& scene) {
  const Group* const group = group_of(scene.groups, situation_.rank());
  if (group == nullptr) return;
  Member& member = communicators_.at(scene.step->of);
  requests_.finish_other_families(member.family);
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
  const scela::AgreeResult agreed = member.communicator.agree(says(situation_.rank()));
  situation_.expect(agreed.status.ok(), "agree() failed: " + agreed.status.message());
  // A rank that is about to end may have done so after it had said its word.
  const bool exact = agreed.exited == exited && agreed.flag == flag;
  std::string found;
  for (const int each : agreed.exited)
    found += " " + std::to_string(each);
  situation_.expect(exact, "agree() says " + std::to_string(agreed.flag) +
                               ", and that these have ended:" + found);
}

void Operations::recover(const Scene& scene) {
  requests_.finish_all();
  for (const int number : scene.frees)
    communicators_.drop(number, mix(scene.step->number, static_cast<std::uint64_t>(number)));
}

}  // namespace strangers
