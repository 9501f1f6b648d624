#include "collectives/core/task_list.h"

#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {
namespace {

constexpr std::string_view kShortNames[] = {"in", "out", "scratch"};  // indexed by Space
constexpr Space kSpaces[] = {Space::input, Space::output, Space::scratch};

std::string text_of(const Blocks& blocks) {
  std::string out = cat(kShortNames[static_cast<std::size_t>(blocks.space)], "[", blocks.first);
  if (blocks.count != 1) out += cat("+", blocks.count);
  return out + "]";
}

// The words of one line, each taken once. Only the first fault is kept.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text.substr(0, text.find('#'))), number_(number) {
    skip_blanks();
  }

  bool is_empty() const { return text_.empty(); }

  std::string_view word() {
    const auto end = text_.find_first_of(kBlanks);
    const std::string_view out = text_.substr(0, end);
    text_.remove_prefix(out.size());
    skip_blanks();
    ++words_;
    return out;
  }

  // Takes the next word and returns its index among the choices. If it is none of them, this keeps
  // a fault and returns 0.
  std::size_t one_of(std::initializer_list<std::string_view> choices) {
    const std::string_view found = word();
    std::size_t number = 0;
    for (const std::string_view choice : choices) {
      if (found == choice) return number;
      ++number;
    }
    std::string names;
    for (const std::string_view choice : choices)
      names += cat(names.empty() ? "'" : " or '", choice, "'");
    refuse(found, cat("is not ", names));
    return 0;
  }

  template <class Number>
  Number number() {
    const std::string_view found = word();
    const auto value = number_of<Number>(found);
    if (!value) refuse(found, "is not a number in range");
    return value.value_or(0);
  }

  Blocks blocks() {
    const std::string_view found = word();
    for (const Space space : kSpaces) {
      const std::string_view name = kShortNames[static_cast<std::size_t>(space)];
      if (!found.starts_with(name) || found.substr(name.size(), 1) != "[") continue;
      const auto out = run_of(found.substr(name.size()));
      if (out) return {space, out->first, out->count};
    }
    refuse(found, "is not in[FIRST], out[FIRST+COUNT] or scratch[...]");
    return {};
  }

  void refuse(std::string_view found, std::string_view why) {
    if (error_) return;
    error_ = Error{ErrorKind::usage, "parse a task list", cat("line ", number_, ", word ", words_),
                   found.empty() ? std::string("the line ends, where a word is missing")
                                 : cat("'", found, "' ", why),
                   "the form is in collectives/core/task_list.h"};
  }

  // Returns the fault, if there was any or if words are left.
  std::optional<Error> end() {
    if (!error_ && !text_.empty()) refuse(word(), "is one word too many");
    return std::move(error_);
  }

 private:
  static constexpr std::string_view kBlanks = " \t\r";

  void skip_blanks() {
    const auto first = text_.find_first_not_of(kBlanks);
    text_.remove_prefix(first == std::string_view::npos ? text_.size() : first);
  }

  template <class Number>
  static std::optional<Number> number_of(std::string_view digits) {
    Number value = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (fault != std::errc() || end != digits.data() + digits.size() || value < 0) return {};
    return value;
  }

  // Reads "[3]" or "[3+2]". The end of the run must fit into 32 bits too.
  static std::optional<Blocks> run_of(std::string_view text) {
    if (text.size() < 3 || text.back() != ']') return {};
    text = text.substr(1, text.size() - 2);
    const auto plus = text.find('+');
    const auto first = number_of<std::uint32_t>(text.substr(0, plus));
    const auto count = plus == std::string_view::npos
                           ? std::uint32_t{1}
                           : number_of<std::uint32_t>(text.substr(plus + 1));
    if (!first || !count) return {};
    if (*count > std::numeric_limits<std::uint32_t>::max() - *first) return {};
    return Blocks{Space::output, *first, *count};
  }

  std::string_view text_;
  int number_;
  int words_ = 0;
  std::optional<Error> error_;
};

void parse_wait(Line& line, Task& task) {
  task.kind = line.one_of({"received", "sent"}) == 0 ? Kind::wait_received : Kind::wait_sent;
  task.peer = line.number<int>();
  task.count = line.number<std::uint32_t>();
}

void parse_send(Line& line, Task& task) {
  task.peer = line.number<int>();
  line.one_of({"<-"});
  task.from = line.blocks();
  if (line.is_empty()) return;
  line.one_of({"held"});
  task.held = true;
}

void parse_reduce(Line& line, Task& task) {
  const Blocks left = line.blocks();
  task.from_right = line.one_of({"->", "<-"}) == 1;
  const Blocks right = line.blocks();
  task.from = task.from_right ? right : left;
  task.to = task.from_right ? left : right;
}

Task parse_task(Line& line) {
  constexpr Kind kKinds[] = {Kind::copy,   Kind::receive, Kind::send,     Kind::reduce,
                             Kind::enable, Kind::signal,  Kind::wait_sent};
  Task task;
  task.kind =
      kKinds[line.one_of({"copy", "receive", "send", "reduce", "enable", "signal", "wait"})];
  switch (task.kind) {
    case Kind::copy:
      task.from = line.blocks();
      line.one_of({"->"});
      task.to = line.blocks();
      break;
    case Kind::receive:
      task.peer = line.number<int>();
      line.one_of({"->"});
      task.to = line.blocks();
      break;
    case Kind::send:
      parse_send(line, task);
      break;
    case Kind::reduce:
      parse_reduce(line, task);
      break;
    case Kind::enable:
      task.peer = line.number<int>();
      task.count = line.number<std::uint32_t>();
      break;
    case Kind::wait_sent:
    case Kind::wait_received:
      parse_wait(line, task);
      break;
    case Kind::signal:
      break;
  }
  return task;
}

void parse_blocks(Line& line, TaskList& list) {
  line.one_of({"blocks"});
  for (const Space space : kSpaces) {
    line.one_of({kShortNames[static_cast<std::size_t>(space)]});
    list.blocks[static_cast<std::size_t>(space)] = line.number<std::uint32_t>();
  }
}

}  // namespace

std::string_view name_of(Space space) {
  constexpr std::string_view kLongNames[] = {"input", "output", "scratch"};
  return kLongNames[static_cast<std::size_t>(space)];
}

std::string to_text(const Task& task) {
  switch (task.kind) {
    case Kind::send:
      return cat("send ", task.peer, " <- ", text_of(task.from), task.held ? " held" : "");
    case Kind::receive:
      return cat("receive ", task.peer, " -> ", text_of(task.to));
    case Kind::wait_sent:
      return cat("wait sent ", task.peer, " ", task.count);
    case Kind::wait_received:
      return cat("wait received ", task.peer, " ", task.count);
    case Kind::copy:
      return cat("copy ", text_of(task.from), " -> ", text_of(task.to));
    case Kind::reduce:
      return task.from_right ? cat("reduce ", text_of(task.to), " <- ", text_of(task.from))
                             : cat("reduce ", text_of(task.from), " -> ", text_of(task.to));
    case Kind::enable:
      return cat("enable ", task.peer, " ", task.count);
    case Kind::signal:
      return "signal";
  }
  return {};
}

std::string to_text(const TaskList& list) {
  std::string out =
      cat("blocks in ", list.blocks[0], " out ", list.blocks[1], " scratch ", list.blocks[2], "\n");
  for (const Task& task : list.tasks)
    out += to_text(task) + "\n";
  return out;
}

Result<TaskList> parse(std::string_view text) {
  TaskList list;
  bool has_blocks = false;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    Line line(text.substr(0, end), number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.is_empty()) continue;
    if (has_blocks) {
      list.tasks.push_back(parse_task(line));
    } else {
      parse_blocks(line, list);
      has_blocks = true;
    }
    if (auto error = line.end()) return fail(std::move(*error));
  }
  if (has_blocks) return list;
  return fail({ErrorKind::usage, "parse a task list", "",
               "there is no line that says how many blocks it has",
               "begin with 'blocks in 1 out 8 scratch 0'"});
}

}  // namespace scela::collectives
