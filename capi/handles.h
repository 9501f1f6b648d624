// The handles of the C interface, and how its functions report errors. Only capi uses it. The
// error is kept for each thread.
#pragma once

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "capi/include/scela/scela.h"
#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/inside.h"
#include "comm-channel/include/scela/channel.h"

struct scela_channel {
  std::unique_ptr<scela::Channel> channel;
};

struct scela_request {
  scela::Request request;
};

struct scela_probed {
  std::optional<scela::ProbedMessage> message;
};

struct scela_communicator {
  scela::Communicator communicator;
};

namespace scela::capi {

// Returns the code of the C interface.
inline scela_code code_of(Code code) {
  return code == Code::other ? SCELA_OTHER : static_cast<scela_code>(code);
}

// Keeps the error for scela_message(), if the status is not ok. Returns its code.
scela_code report(const Status& status) noexcept;
// Does so for a wrong argument of the C interface. The text must outlive the process.
scela_code refuse(Code code, const char* text) noexcept;

// Copies source, tag and length of what was received, unless `received` is null.
inline void give(const Status& status, scela_received* received) {
  if (received != nullptr) *received = {status.source(), status.tag(), status.bytes()};
}

inline Timeout timeout_of(std::int64_t nanoseconds) {
  if (nanoseconds == SCELA_NO_TIMEOUT) return {};
  return std::chrono::nanoseconds(nanoseconds);
}

// Calls a function that returns a code. No exception leaves it.
template <class Call>
scela_code guarded(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return refuse(Code::resources, "there is no memory for the call");
  } catch (...) {
    return refuse(Code::other, "the call has ended with an exception of the C++ library");
  }
}

// Does so for a function that returns true or false, as 1 or 0. An exception is 0.
template <class Call>
int guarded_flag(Call&& call) noexcept {
  int flag = 0;
  static_cast<void>(guarded([&] {
    flag = call() ? 1 : 0;
    return SCELA_OK;
  }));
  return flag;
}

// Calls a function that begins a message, and makes a handle of its request unless an argument was
// wrong. The handle is made first, so that a message that has begun is not lost.
template <class Begin>
scela_code make(Begin&& begin, scela_request** made) {
  auto handle = std::make_unique<scela_request>();
  handle->request = begin();
  const bool is_complete = channel::Inside::is_complete(handle->request);
  if (is_complete && handle->request.status().code() >= Code::bad_rank &&
      handle->request.status().code() <= Code::bad_argument)
    return report(handle->request.status());
  *made = handle.release();
  return SCELA_OK;
}

}  // namespace scela::capi
