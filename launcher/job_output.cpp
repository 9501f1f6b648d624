#include "launcher/job_output.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>

#include "launcher/io/output_files.h"
#include "launcher/io/output_settings.h"
#include "launcher/io/watched.h"

namespace scela {

namespace {

// The interval at which partial lines (prompts) are checked; see Presentation::tick().
constexpr std::chrono::milliseconds kMoment{25};

}  // namespace

struct JobOutput::Waits {
  explicit Waits(boost::asio::io_context& io) : out(io, 1), err(io, 2), partial(io), stalled(io) {}
  Watched out, err;
  boost::asio::steady_timer partial, stalled;
};

JobOutput::JobOutput(Hooks hooks) : hooks_(std::move(hooks)) {}
JobOutput::~JobOutput() = default;

Result<void> JobOutput::prepare(const Options& options, const Plan& plan) {
  auto made = presentation_settings(options, plan);
  if (!made) return fail(made.error());
  PresentationSettings& settings = *made;
  const std::string directory = options.output_dir.value_or("");
  if (auto made_directory = make_output_directory(directory, settings); !made_directory) {
    return made_directory;
  }
  OutputWriter::Hooks hooks;
  hooks.written = hooks_.written;
  hooks.wait_writable = [this](int fd) { wait_writable(fd); };
  hooks.failed = hooks_.failed;
  const auto show = options.diff ? Gatherer::Show::differences : Gatherer::Show::all;
  const auto names = plan.once_per_host ? plan.hosts : std::vector<std::string>();
  auto gatherer = options.gather ? std::make_unique<Gatherer>(names, show) : nullptr;
  writer_ = std::make_unique<OutputWriter>(std::move(settings),
                                           OutputFiles{directory, plan.job.training.is_restart()},
                                           std::move(gatherer), std::move(hooks));
  return {};
}

void JobOutput::open(boost::asio::io_context& io) {
  waits_ = std::make_unique<Waits>(io);
}

void JobOutput::accept(Rank rank, OutputStream stream, std::string_view bytes, bool end) {
  writer_->accept(rank, stream, bytes, end);
  arm_partial_lines();
}

void JobOutput::make_room() {
  writer_->hide_live_view();
  if (!closed_) arm_partial_lines();
}

void JobOutput::bound_reader(std::chrono::milliseconds grace) {
  reader_deadline_ = std::chrono::steady_clock::now() + grace + kReaderSlack;
  waits_->stalled.expires_at(*reader_deadline_);
  waits_->stalled.async_wait([this](const boost::system::error_code& error) {
    if (error || closed_) return;
    hooks_.dropped();
    if (writer_->idle()) return bound_reader(std::chrono::milliseconds(0));
    writer_->discard();
  });
}

void JobOutput::drop() {
  writer_->discard();
  hooks_.dropped();
}

void JobOutput::close() {
  closed_ = true;
  if (reader_deadline_) {
    reader_deadline_ = std::max(*reader_deadline_, std::chrono::steady_clock::now() + kReaderSlack);
  }
  waits_->partial.cancel();
  waits_->stalled.cancel();
}

void JobOutput::wait_writable(int fd) {
  Watched& watched = fd == 1 ? waits_->out : waits_->err;
  if (watched.waiting() || !watched.open()) return;
  watched.wait_writable([this] { writer_->resume(); });
}

void JobOutput::arm_partial_lines() {
  if (partial_armed_ || !writer_->needs_ticks()) return;
  partial_armed_ = true;
  waits_->partial.expires_after(kMoment);
  waits_->partial.async_wait([this](const boost::system::error_code& error) {
    partial_armed_ = false;
    if (error || closed_) return;
    writer_->tick();
    arm_partial_lines();
  });
}

}  // namespace scela
