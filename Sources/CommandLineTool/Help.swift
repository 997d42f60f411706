import Session

/// The texts of `coffre help`, made from the tables that the parser uses.
package enum Help {
  package static var overview: String {
    var text = "coffre: encrypted folders\n\n"
    for verb in Verb.all {
      text += "  " + padded(([verb.name] + verb.operands).joined(separator: " "), 28) + verb.summary
      text += "\n"
    }
    return text
      + "\n`coffre help VERB` tells the options, `coffre help exit-codes` what its numbers mean.\n"
  }

  package static func of(_ verb: Verb) -> String {
    let usage = ([verb.name] + (verb.options.isEmpty ? [] : ["[OPTIONS]"]) + verb.operands)
    var text = "coffre \(usage.joined(separator: " "))\n\n\(verb.summary)\n"
    if !verb.options.isEmpty { text += "\n" }
    for option in verb.options {
      text += "  " + padded(option.usage, 30) + option.help + "\n"
    }
    return text
  }

  package static var exitCodes: String {
    ExitCode.allCases.map { code in
      "  " + padded(String(code.rawValue), 4) + code.meaning + "\n"
    }.joined()
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}

enum HelpCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    switch arguments.positional.first {
    case nil: Output.text(Help.overview)
    case "exit-codes": Output.text(Help.exitCodes)
    case .some(let name):
      guard let verb = Verb.named(name) else {
        throw Failure(.usage, "no verb \(name)", hint: "see `coffre help`")
      }
      Output.text(Help.of(verb))
    }
  }
}
