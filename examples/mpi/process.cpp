// The process: its begin, its end, and its errors.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "layer.h"

namespace layer {

Process process;

namespace {

// A class of errors, and the code of libscela that it stands for; Code::ok if none does.
struct Class {
  int error;
  scela::Code code;
  const char* words;
};
using scela::Code;
constexpr Class kClasses[] = {
    {MPI_SUCCESS, Code::cancelled, "MPI_SUCCESS: no error"},
    {MPI_ERR_BUFFER, Code::bad_buffer, "MPI_ERR_BUFFER: the address is wrong"},
    {MPI_ERR_COUNT, Code::bad_count, "MPI_ERR_COUNT: the count is wrong"},
    {MPI_ERR_TYPE, Code::bad_type, "MPI_ERR_TYPE: the datatype is wrong"},
    {MPI_ERR_TAG, Code::bad_tag, "MPI_ERR_TAG: the tag is wrong"},
    {MPI_ERR_COMM, Code::bad_communicator, "MPI_ERR_COMM: the communicator is wrong"},
    {MPI_ERR_RANK, Code::bad_rank, "MPI_ERR_RANK: the rank is wrong"},
    {MPI_ERR_REQUEST, Code::bad_request, "MPI_ERR_REQUEST: the request is wrong"},
    {MPI_ERR_ROOT, Code::bad_root, "MPI_ERR_ROOT: the root is wrong"},
    {MPI_ERR_GROUP, Code::ok, "MPI_ERR_GROUP: the group is wrong"},
    {MPI_ERR_OP, Code::bad_reducer, "MPI_ERR_OP: the operation does not suit the datatype"},
    {MPI_ERR_ARG, Code::bad_argument, "MPI_ERR_ARG: an argument is wrong"},
    {MPI_ERR_TRUNCATE, Code::truncated, "MPI_ERR_TRUNCATE: the message exceeds its receive"},
    {MPI_ERR_OTHER, Code::ok, "MPI_ERR_OTHER: another error"},
    {MPI_ERR_INTERN, Code::device, "MPI_ERR_INTERN: the adapter or the launcher has failed"},
    {MPI_ERR_IN_STATUS, Code::ok, "MPI_ERR_IN_STATUS: the statuses have the errors"},
    {MPI_ERR_NO_MEM, Code::resources, "MPI_ERR_NO_MEM: there is not enough memory"},
    {MPI_ERR_PROC_ABORTED, Code::peer_ended, "MPI_ERR_PROC_ABORTED: a peer has ended"},
    {MPI_ERR_ERRHANDLER, Code::ok, "MPI_ERR_ERRHANDLER: the error handler is wrong"},
};

const char* words_of(int error) {
  for (const Class& one : kClasses)
    if (one.error == error) return one.words;
  return nullptr;
}

// Ends the job, with text for the launcher's user.
[[noreturn]] void end_job(int status, const std::string& why) {
  std::fflush(nullptr);
  if (process.channel != nullptr) process.channel->abort(status, why);
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(status);  // MPI has not begun
}

int begin() {
  scela::Channel::Opened opened = scela::Channel::open();
  if (!opened.status.ok())
    return report(MPI_ERRORS_ARE_FATAL, "MPI_Init", result_of(opened.status));
  process.channel = std::move(opened.channel);
  scela::Communicator world = scela::Communicator::world(*process.channel);
  if (!world) return report(MPI_ERRORS_ARE_FATAL, "MPI_Init", result_of(world.status()));
  scela::Communicator self = world.split(world.rank(), 0);
  if (!self) return report(MPI_ERRORS_ARE_FATAL, "MPI_Init", result_of(self.status()));
  process.world = new MPI_ABI_Comm{std::move(world)};
  process.self = new MPI_ABI_Comm{std::move(self)};
  process.stage = Process::Stage::inside;
  return MPI_SUCCESS;
}

}  // namespace

int error_of(Code code) {
  if (code == Code::ok) return MPI_SUCCESS;
  for (const Class& one : kClasses)
    if (one.code == code) return one.error;
  return MPI_ERR_OTHER;
}

int report(MPI_Errhandler handler, const char* function, const Result& result) {
  if (handler == MPI_ERRORS_RETURN) return result.error;
  const char* const words = words_of(result.error);
  end_job(result.error, std::string(function) + ": " + result.why + " (" +
                            (words != nullptr ? words : "an unknown error") + ")");
}

}  // namespace layer

using namespace layer;

int MPI_Init(int*, char***) {
  return begin();
}

int MPI_Init_thread(int*, char***, int required, int* provided) {
  *provided = std::min(required, MPI_THREAD_SERIALIZED);
  return begin();
}

int MPI_Initialized(int* flag) {
  *flag = process.stage != Process::Stage::before ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Finalized(int* flag) {
  *flag = process.stage == Process::Stage::finished ? 1 : 0;
  return MPI_SUCCESS;
}

// Communicators that the program has not freed stay as they are: nothing uses them any more.
int MPI_Finalize() {
  return with(MPI_COMM_SELF, "MPI_Finalize", [](MPI_ABI_Comm&) -> Result {
    finish_left();
    delete std::exchange(process.self, nullptr);
    delete std::exchange(process.world, nullptr);
    process.channel.reset();
    process.stage = Process::Stage::finished;
    return {};
  });
}

int MPI_Abort(MPI_Comm, int errorcode) {
  end_job(errorcode, "MPI_Abort with code " + std::to_string(errorcode));
}

double MPI_Wtime() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

double MPI_Wtick() {
  return 1e-9;
}

int MPI_Get_processor_name(char* name, int* resultlen) {
  if (gethostname(name, MPI_MAX_PROCESSOR_NAME - 1) != 0) std::strcpy(name, "unknown");
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *resultlen = static_cast<int>(std::strlen(name));
  return MPI_SUCCESS;
}

int MPI_Error_class(int errorcode, int* errorclass) {
  *errorclass = errorcode;
  return words_of(errorcode) != nullptr ? MPI_SUCCESS : MPI_ERR_ARG;
}

int MPI_Error_string(int errorcode, char* string, int* resultlen) {
  const char* const words = words_of(errorcode);
  if (words == nullptr) return MPI_ERR_ARG;
  *resultlen = std::snprintf(string, MPI_MAX_ERROR_STRING, "%s", words);
  return MPI_SUCCESS;
}
