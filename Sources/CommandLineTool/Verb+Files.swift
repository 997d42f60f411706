/// The verbs that work in a vault without a mount, or through it where it is mounted.
extension Verb {
  static let files: [Verb] = [list, cat, get, put, makeFolder, move, remove]

  private static let password = secret("", "the password")

  private static let list = Verb(
    name: "ls", operands: ["VAULT", "[PATH]"], summary: "list what is in a vault",
    options: [
      Option("l", "modes, owners, sizes and times as well"),
      Option("r", "what is in the folders, too"), json,
    ] + password, takesBytes: true, run: ListCommand.run)

  private static let cat = Verb(
    name: "cat", operands: ["VAULT", "PATH"], summary: "print a file of a vault",
    options: password, takesBytes: true, run: CatCommand.run)

  private static let get = Verb(
    name: "get", operands: ["VAULT", "PATH", "[DEST]"],
    summary: "copy out of a vault, in clear; - is standard output",
    options: [
      Option("r", "a folder with all that is in it"),
      Option("force", "replace what is at DEST"),
    ] + password, takesBytes: true, run: GetCommand.run)

  private static let put = Verb(
    name: "put", operands: ["VAULT", "SOURCE", "PATH"],
    summary: "copy into a vault; - is standard input",
    options: [Option("r", "a folder with all that is in it")] + password, takesBytes: true,
    run: PutCommand.run)

  private static let makeFolder = Verb(
    name: "mkdir", operands: ["VAULT", "PATH"], summary: "make a folder in a vault",
    options: [Option("p", "and those on the way; one that is there is fine")] + password,
    takesBytes: true, run: MakeFolderCommand.run)

  private static let move = Verb(
    name: "mv", operands: ["VAULT", "FROM", "TO"], summary: "move or rename in a vault",
    options: password, takesBytes: true, run: MoveCommand.run)

  private static let remove = Verb(
    name: "rm", operands: ["VAULT", "PATH"], summary: "remove from a vault",
    options: [Option("r", "a folder with all that is in it")] + password, takesBytes: true,
    run: RemoveCommand.run)
}
