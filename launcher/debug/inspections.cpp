#include "launcher/debug/inspections.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace scela {

struct Inspections::Question {
  nla::Inspection what;
  std::chrono::milliseconds limit;
  Done done;
  std::vector<std::string> words;
};

struct Inspections::Timer {
  explicit Timer(boost::asio::io_context& io) : limit(io) {}
  boost::asio::steady_timer limit;
};

Inspections::Inspections(boost::asio::io_context& io, Hooks hooks)
    : hooks_(std::move(hooks)), timer_(std::make_unique<Timer>(io)) {}
Inspections::~Inspections() = default;

void Inspections::ask(nla::Inspection what, std::chrono::milliseconds limit, Done done,
                      std::vector<std::string> words) {
  questions_.push_back({what, limit, std::move(done), std::move(words)});
  if (questions_.size() == 1) begin();
}

void Inspections::begin() {
  const Question& question = questions_.front();
  answers_ = {};
  open_ = hooks_.nodes();
  timer_->limit.expires_after(question.limit + kSlack);
  timer_->limit.async_wait([this](const boost::system::error_code& error) {
    // The wait may have ended just before it was cancelled for another question.
    const bool over = timer_->limit.expiry() <= std::chrono::steady_clock::now();
    if (!error && over && !questions_.empty()) end();
  });
  hooks_.post(nla::event::Inspect{question.what, static_cast<std::uint32_t>(question.limit.count()),
                                  question.words});
}

void Inspections::on(const nla::action::Inspected& piece) {
  // A late answer belongs to an earlier question, perhaps of the other kind. The decoders take any
  // bytes.
  if (!open_.contains(piece.node)) return;
  answers_.of_nodes[piece.node] += piece.bytes.view();
  if (piece.last) node_failed(piece.node);
}

void Inspections::node_failed(std::uint32_t node) {
  if (questions_.empty()) return;
  open_ = open_.minus(RankSet::single(node));
  if (open_.empty()) end();
}

void Inspections::end() {
  timer_->limit.cancel();
  answers_.silent = std::exchange(open_, {});
  const Question question = std::move(questions_.front());
  questions_.pop_front();
  if (!questions_.empty()) {
    InspectionAnswers answers = std::move(answers_);
    begin();
    question.done(std::move(answers));
  } else {
    question.done(std::move(answers_));
  }
}

}  // namespace scela
