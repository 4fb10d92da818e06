extension Program {
  /// One function: it finds the command among the words before the cursor, then offers the values of the flag
  /// before the cursor, the command's flags, or its words.
  func bashCompletions() -> String {
    var lines = [
      "# bash completions for \(name); load with: eval \"$(\(name) completions bash)\"",
      "_\(name)() {",
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= i",
      "  COMPREPLY=()",
      // Bash takes '=' and ':' as words of their own: join what it took apart.
      "  [[ $word == = ]] && word=",
      "  [[ $before == = && $COMP_CWORD -ge 2 ]] && before=${COMP_WORDS[COMP_CWORD-2]}",
      "  for ((i = 1; i < COMP_CWORD; i++)); do",
      "    case \"$path${path:+ }${COMP_WORDS[i]}\" in",
    ]
    for path in completedPaths where !path.isEmpty {
      lines.append("      '\(path.joined(separator: " "))') path='\(path.joined(separator: " "))' ;;")
    }
    lines += ["    esac", "  done", "  case \"$path $before\" in"]
    for command in completedCommands {
      for flag in command.completedFlags where flag.value != .none {
        let names = flag.longNames + (flag.short.map { ["-\($0)"] } ?? [])
        let patterns = names.map { "'\(command.name) \($0)'" }.joined(separator: " | ")
        lines.append("    \(patterns)) \(bashReply(flag.completedValue)); return ;;")
      }
    }
    lines += ["  esac", "  case \"$path\" in"]
    for path in completedPaths {
      var words = completedWords(after: path).map(\.word)
      if let command = command(path) {
        words += command.operands.flatMap(\.choices)
        words += command.completedFlags.flatMap(\.longNames) + ["--help"]
      } else if path.isEmpty {
        words += ["--help", "--version"]
      }
      lines.append("    '\(path.joined(separator: " "))') \(bashReply(.words(words))) ;;")
    }
    lines += [
      "  esac", "  [[ ${COMPREPLY[0]-} == *: ]] && compopt -o nospace", "  return 0", "}",
      "complete -F _\(name) \(name)", "",
    ]
    return lines.joined(separator: "\n")
  }

  private func bashReply(_ value: Flag.CompletedValue) -> String {
    switch value {
    case .nothing: "COMPREPLY=()"
    case .files: "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
    case .directories: "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")"
    case .words(let words):
      "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$word\")"
    }
  }
}
