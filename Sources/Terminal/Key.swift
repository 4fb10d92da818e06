/// What was pressed.
package enum Key: Hashable, Sendable {
  case character(Character)
  case enter, tab, backTab, escape, backspace, delete, insert
  case up, down, left, right, home, end, pageUp, pageDown
  case function(Int)
  /// Ctrl with a lower-case letter.
  case control(Character)
  /// Alt with a character.
  case alt(Character)
  /// Text pasted in one piece (bracketed paste).
  case paste(String)
  /// No key: the terminal answers a question.
  case answer(TerminalAnswer)
}
