// The handles of the C interface, and how its functions report errors. Only capi uses it. The
// error is kept for each thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
      handle->request.status().code() <= Code::bad_communicator)
    return report(handle->request.status());
  *made = handle.release();
  return SCELA_OK;
}

// ---- messages, of a channel or of a communicator ----

inline std::span<const std::byte> readable(const void* data, std::size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
inline std::span<std::byte> writable(void* data, std::size_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

// Return the error of a handle that is NULL.
inline scela_code refuse_null(const scela_channel*) {
  return refuse(Code::bad_argument, "the channel is NULL: open it by scela_channel_open()");
}
inline scela_code refuse_null(const scela_communicator*) {
  return refuse(Code::bad_communicator, "the communicator is NULL: make one by scela_world()");
}

// Calls `begin()`, which begins a message of `of` and returns its request.
template <class Of, class Begin>
scela_code begin_message(const Of* of, scela_request** request, Begin&& begin) {
  if (request == nullptr)
    return refuse(Code::bad_argument, "`request` is NULL: where is it to go?");
  *request = nullptr;
  if (of == nullptr) return refuse_null(of);
  return guarded([&] { return make(begin, request); });
}

// Calls `take()`, which looks for a message of `of` and takes it.
template <class Of, class Take>
scela_code take_probed(const Of* of, scela_received* received, scela_probed** message,
                       Take&& take) {
  give({}, received);
  if (message == nullptr)
    return refuse(Code::bad_argument, "`message` is NULL: where is it to go?");
  *message = nullptr;
  if (of == nullptr) return refuse_null(of);
  return guarded([&] {
    auto handle = std::make_unique<scela_probed>();
    std::optional<ProbedMessage>& taken = handle->message;
    taken = take();
    if (!taken) return refuse(Code::timed_out, "take a probed message: there is none yet");
    const Status status = taken->status();
    if (!status.ok()) return report(status);
    give(status, received);
    *message = handle.release();
    return SCELA_OK;
  });
}

// Calls `receive(message)`, and frees the handle of the message in any case.
template <class Of, class Receive>
scela_code receive_probed(const Of* of, scela_probed* message, scela_request** request,
                          Receive&& receive) {
  const std::unique_ptr<scela_probed> taken(message);
  if (message == nullptr && request != nullptr) {
    *request = nullptr;
    return refuse(Code::bad_argument, "`message` is NULL: take one by scela_probe_take()");
  }
  return begin_message(of, request, [&] { return receive(std::move(*taken->message)); });
}

// Calls `use(list)` with pieces of C++. `made` is where the call puts a handle, or null.
template <class Byte, class Piece, class Made, class Use>
scela_code with_list(const Piece* pieces, std::size_t count, Made** made, Use&& use) {
  if (made != nullptr) *made = nullptr;
  if (pieces == nullptr && count != 0)
    return refuse(Code::bad_buffer, "`pieces` is NULL, and there are some");
  return guarded([&] {
    std::vector<std::span<Byte>> list;
    if (count > list.max_size()) return refuse(Code::bad_count, "there cannot be so many pieces");
    list.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      list.emplace_back(static_cast<Byte*>(pieces[i].data), pieces[i].bytes);
    return use(PieceList<Byte>(list));
  });
}
template <class Made, class Use>
scela_code with_pieces(const scela_const_piece* pieces, std::size_t count, Made** made, Use&& use) {
  return with_list<const std::byte>(pieces, count, made, use);
}
template <class Made, class Use>
scela_code with_pieces(const scela_piece* pieces, std::size_t count, Made** made, Use&& use) {
  return with_list<std::byte>(pieces, count, made, use);
}

}  // namespace scela::capi
